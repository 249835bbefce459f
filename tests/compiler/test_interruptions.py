"""What lay over the page and was closed in a recording becomes an interruption, and a step of the task stays a step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.scripts.playbook import Playbook
from tests.compiler.test_compile import calls, compiled, decisions
from tests.support.recorded_runs import Act, Page, Part, page, record, record_parts

GOAL = "Look up AB-1207. Store its note."
TIP = ["TIP OF THE DAY", "Notes can be sorted by date", "Close"]


def form(number: str = "", said: str = "") -> Page:
    """Return the page of a form that keeps its labels."""
    texts = [(20, 10, "NOTES"), (20, 60, "Number"), (20, 340, "Store"), (20, 390, said)]
    return page(*(text for text in texts if text[2]), fields=[(140, 55, number)])


def over(one: Page, *texts: str) -> Page:
    """Return a page with an overlay at its right."""
    shown = {(460, 120 + 40 * place): text for place, text in enumerate(texts)}
    return replace(one, texts={**one.texts, **shown})


def acts(number: str, *, tip: Page | None = None, close: str = "Close") -> list[Act]:
    """Return the steps of a run. The overlay, if there is one, comes after the typing."""
    covered = [] if tip is None else [Act(tip, click=close)]
    return [
        Act(form(), click="Number"),
        Act(form(), write=number),
        *covered,
        Act(form(number), click="Store"),
    ]


def ran(home: Path, name: str, steps: list[Act], number: str = "AB-1207", goal: str = GOAL) -> str:
    last = form(said="Stored as S-4137")
    return record(home, name, goal.replace("AB-1207", number), steps, last, "Stored as S-4137")


def made(home: Path, *traces: str) -> tuple[Playbook, str]:
    playbook, _, text = compiled(home, *traces, params=("number=AB-1207",))
    return playbook, text


@pytest.mark.parametrize(
    ("texts", "close", "mark"),
    [
        (TIP, "Close", "TIP OF THE DAY"),
        (["This page uses cookies", "Accept all"], "Accept all", "This page uses cookies"),
        (["Your session will end in 60 seconds", "Stay signed in"], "Stay signed in", "Your session will end in*"),
        (["What's new in version 7", "Got it"], "Got it", "What's new in version*"),
        (["Tipp des Tages", "Notizen lassen sich sortieren", "Nicht jetzt"], "Nicht jetzt", "Tipp des Tages"),
        (["Nous utilisons des cookies", "Tout refuser"], "Tout refuser", "Nous utilisons des cookies"),
    ],
)
def test_what_was_closed_over_the_page_may_come_at_any_time_or_never(
    tmp_path: Path, texts: list[str], close: str, mark: str
) -> None:
    playbook, text = made(
        tmp_path, ran(tmp_path, "one", acts("AB-1207", tip=over(form("AB-1207"), *texts), close=close))
    )
    goal = playbook.goals["look-up"]
    assert [one.screen for one in goal.interruptions.values()] == [(mark,)], text
    assert [step.kind for step in goal.steps] == ["click", "write", "click", "answer"]
    values, number = {"number": "CD-3391"}, "CD-3391"
    end = form(said="Stored as S-5001")
    never = decisions(playbook, values, form(), form(), form(number), end)
    assert calls(never) == ["click", "write", "click", "answer"]
    early = decisions(playbook, values, over(form(), *texts), form(), form(), form(number), over(end, *texts), end)
    assert calls(early) == ["click", "click", "write", "click", "click", "answer"]
    assert [early[place].rule for place in (0, 4)] == [*goal.interruptions] * 2


@pytest.mark.parametrize(
    ("texts", "close"),
    [
        (["Shall the note be stored twice", "OK"], "OK"),
        (["The note is empty", "Close"], "Close"),
        (["TIP OF THE DAY", "The note AB-1207 is the newest", "Close"], "Close"),
        (["TIP OF THE DAY", "Answer S-4137 first", "Close"], "Close"),
        (["TIP OF THE DAY", "Send the notes now", "Send"], "Send"),
        (["Die Notiz ist gesperrt", "Weiter"], "Weiter"),
        (["Le client est inconnu", "Fermer"], "Fermer"),
    ],
)
def test_a_step_of_the_task_is_no_interruption(tmp_path: Path, texts: list[str], close: str) -> None:
    steps = acts("AB-1207", tip=over(form("AB-1207"), *texts), close=close)
    playbook, text = made(tmp_path, ran(tmp_path, "one", steps))
    assert not playbook.goals["look-up"].interruptions, text
    assert len(playbook.goals["look-up"].steps) == 5


def test_what_a_press_opened_or_the_goal_names_is_a_step(tmp_path: Path) -> None:
    opened = [Act(form(), click="Store"), Act(over(form(), *TIP), click="Close"), *acts("AB-1207")]
    playbook, _ = made(tmp_path, ran(tmp_path, "one", opened))
    assert not playbook.goals["look-up"].interruptions
    steps = acts("AB-1207", tip=over(form("AB-1207"), *TIP))
    playbook, _ = made(tmp_path, ran(tmp_path, "two", steps, goal="Close the tip of the day and store AB-1207."))
    assert not playbook.goals["look-up"].interruptions


def test_a_press_that_changed_the_page_too_is_a_step(tmp_path: Path) -> None:
    steps = acts("AB-1207", tip=over(form("AB-1207"), *TIP))
    steps[3] = Act(replace(form("AB-1207"), texts={**form().texts, (20, 200): "Notes are locked"}), click="Store")
    playbook, _ = made(tmp_path, ran(tmp_path, "one", steps))
    assert not playbook.goals["look-up"].interruptions


def test_a_notice_of_one_run_of_two_is_an_interruption_and_the_runs_stay_a_list(tmp_path: Path) -> None:
    notice = over(form("AB-1207"), "The printer is back", "Close")
    one = ran(tmp_path, "one", acts("AB-1207", tip=notice))
    playbook, text = made(tmp_path, one, ran(tmp_path, "two", acts("CD-3391"), "CD-3391"))
    assert [each.screen for each in playbook.goals["look-up"].interruptions.values()] == [("The printer is back",)], (
        text
    )
    assert len(playbook.goals["look-up"].steps) == 4


def test_a_tip_that_another_sub_goal_closed_is_known_too(tmp_path: Path) -> None:
    last = form(said="Stored as S-4137")
    other = [Act(over(form("EF-5050"), *TIP), click="Close"), Act(form("EF-5050"), click="Number")]
    parts = [
        Part("Look at the note EF-5050.", other, form("EF-5050"), "seen"),
        Part(GOAL, acts("AB-1207"), last, "Stored as S-4137"),
    ]
    trace = record_parts(tmp_path, "one", *parts)
    playbook, _, text = compiled(tmp_path, trace, params=("number=AB-1207",))
    (goal,) = playbook.goals.values()
    assert [one.screen for one in goal.interruptions.values()] == [("TIP OF THE DAY",)], text
