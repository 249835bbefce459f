"""A notice that the model closed in a playbook's way is proposed as an interruption, and a dialog of the task is
not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.healing.apply import apply
from holo_tasks.healing.certainty import NotProposed
from holo_tasks.healing.notices import interruption_proposal_of
from holo_tasks.healing.proposal import ModelsStep, Proposal, screen_proposal_of
from holo_tasks.healing.replay_results import FollowedGoal, store_results
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.playbook import load_playbook, parse_playbook
from holo_tasks.scripts.rules import is_shown
from holo_tasks.scripts.step_outcome import StepOutcome
from holo_tasks.vision.screen_text import Line, Sight

TEXT = """\
name: notes
goals:
  store:
    params: {number: text}
    # A person wrote this.
    steps:
      - click: Number
      - before: [NOTES, "{number}", Total]
        click: Store
        after: Stored
      - answer: done
"""
VALUES = {"number": "AB-1207"}
CLOSE = Point(480, 205)


def screen(*texts: tuple[int, int, str]) -> Sight:
    lines = [Line(text, Box(left, top, 9 * len(text), 18)) for left, top, text in texts]
    return Sight(tuple(lines), Size(720, 420))


PAGE = ((20, 10, "NOTES"), (20, 60, "Number"), (20, 340, "Store"))
TIP = ((460, 120, "TIP OF THE DAY"), (460, 160, "Notes can be sorted"), (460, 200, "Close"))


def closed(*shown: tuple[int, int, str], after: Sight | None = None) -> ModelsStep:
    """Return a step of the model that closed an overlay with a press at its control."""
    rule = next(rule for rule in parse_playbook(TEXT).rules_of("store") if rule.id == "step-1")
    on = screen(*PAGE, *shown)
    screens = on, after or screen(*PAGE)
    return ModelsStep("store", Misfit(rule, 0, "target", "gone"), VALUES, CLOSE, on, False, None, "runs/1", screens)


def proposed(done: ModelsStep) -> Proposal:
    found = interruption_proposal_of(done)
    assert found is not None
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "notes.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "shown",
    [
        TIP,
        ((460, 120, "Die Maschine wird gewartet"), (460, 200, "Schließen")),
        ((460, 120, "Nous utilisons des cookies"), (460, 200, "Tout refuser")),
        ((460, 120, "The printer is back"), (460, 200, "Not now")),
    ],
)
def test_a_notice_that_was_closed_becomes_an_interruption(file: Path, shown: tuple[tuple[int, int, str], ...]) -> None:
    one = proposed(closed(*shown))
    assert (one.kind, one.verified, one.diff[0]) == ("interruption", False, "  interruptions:")
    apply(file, one)
    goal = load_playbook(file).goals["store"]
    (interruption,) = goal.interruptions.values()
    assert interruption.screen == (shown[0][2],)
    assert goal.steps == parse_playbook(TEXT).goals["store"].steps
    assert "# A person wrote this." in file.read_text()
    apply(file, one)
    assert len(load_playbook(file).goals["store"].interruptions) == 1


def test_a_second_interruption_is_added_to_the_first(file: Path) -> None:
    apply(file, proposed(closed(*TIP)))
    apply(file, proposed(closed((460, 120, "The printer is back"), (460, 200, "Dismiss"))))
    assert [*load_playbook(file).goals["store"].interruptions] == ["the-printer-is-back", "tip-of-the-day"]


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (((460, 120, "Shall it be stored twice"), (460, 200, "Yes")), "may do more than that"),
        (((460, 120, "Der Kunde ist gesperrt"), (460, 200, "Weiter")), "may do more than that"),
        (((460, 120, "The note AB-1207 is new"), (460, 200, "Close")), "names the item"),
    ],
)
def test_a_dialog_of_the_task_is_not_proposed(file: Path, shown: tuple[tuple[int, int, str], ...], why: str) -> None:
    done = closed(*shown)
    with pytest.raises(NotProposed, match=why):
        interruption_proposal_of(done)
    outcome = StepOutcome("step-1", 0, "Click Number.", "healed")
    result = store_results(file, "propose", FollowedGoal("store", [outcome], (), [(done, b"new")]))
    assert not result.proposed
    assert why in result.said[0]


def test_a_press_that_did_anything_else_is_not_proposed() -> None:
    assert interruption_proposal_of(closed(*TIP, after=screen(*PAGE, (20, 200, "Notes are locked")))) is None
    assert interruption_proposal_of(replace(closed(*TIP), closed=None)) is None
    assert interruption_proposal_of(closed(*TIP, after=screen(*PAGE, *TIP))) is None


def test_a_goal_on_one_line_is_left_to_a_person(tmp_path: Path) -> None:
    path = tmp_path / "short.yaml"
    path.write_text("name: a\ngoals: {store: {params: {number: text}, steps: [{click: Number}, {answer: done}]}}\n")
    before = path.read_text()
    with pytest.raises(InvalidUsage, match="by hand"):
        apply(path, proposed(closed(*TIP)))
    assert path.read_text() == before


def test_a_step_gets_another_version_of_its_conditions(file: Path) -> None:
    rule = next(rule for rule in load_playbook(file).rules_of("store") if rule.id == "step-2")
    shown = screen((20, 10, "NOTES"), (20, 60, "AB-1207"), (20, 340, "Store"))
    point = Point(30, 345)
    done = ModelsStep("store", Misfit(rule, 0, "screen", "no Total"), VALUES, point, shown, True, True, "runs/1")
    one = screen_proposal_of(done)
    assert one is not None
    assert not one.verified
    apply(file, one)
    changed = next(rule for rule in load_playbook(file).rules_of("store") if rule.id == "step-2")
    assert "or_before: [[NOTES, '{number}']]" in file.read_text()
    assert is_shown(changed, VALUES, shown)
    assert not is_shown(changed, {"number": "CD-3391"}, shown), "the condition for the item stays"
    assert not is_shown(rule, VALUES, shown)
