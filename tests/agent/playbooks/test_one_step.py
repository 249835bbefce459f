"""If a playbook does not fit, the model does that one step, and no action is repeated."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks import SubgoalOptions, pursue
from holo_tasks.agent.playbooks import one_step
from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.errors import NeedsPerson
from holo_tasks.core.events import SubgoalOpened
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.geometry import Point
from holo_tasks.healing.apply import apply
from holo_tasks.healing.folder import HealingFolder
from holo_tasks.run.run import Run
from holo_tasks.scripts import rules
from holo_tasks.scripts.playbook import load_playbook, parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.rules import Decision
from holo_tasks.scripts.script import Script
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.scripts.step_outcome import StepOutcome
from tests.support.agents import agent, events
from tests.support.paged_program import PagedProgram, place
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")
TEXT = r"""
name: orders
goals:
  save-note:
    params: {order: text}
    rules:
      - id: answer
        screen: [NOTE SAVED, "{order}"]
        read: {receipt: {right_of: Receipt, as: int}}
        do:
          - answer: {receipt: "{receipt}"}
            thought: Reading the receipt.
      - id: save
        screen: [ORDER RECORD, "{order}"]
        once: true
        patience: 0
        do:
          - click: Save note
            thought: Click Save note.
            then: NOTE SAVED
      - id: find
        screen: [ORDER SEARCH, "{order}"]
        once: true
        do:
          - click: Start search
            thought: Click Start search.
      - id: fill-in
        screen: ORDER SEARCH
        max: 2
        do:
          - click: {field: Order number}
            thought: Click the field Order number.
          - write: {text: "{order}", overwrite: true}
            thought: Type {order}.
"""
PLAYBOOK = parse_playbook(TEXT)
WHO = ("AB-1207",)
FOUND = step("click", element="the button that looks it up", **place("Look it up", "renamed", at="search"))
SAVED = step("click", element="Put on file button", **place("Put on file", "renamed save"))
AGAIN = step("click", element="Save note", **place("Save note"))
CLOSED = step("click", element="Close tip", **place("Close tip", at="tip"))
DONE = step("answer", content="done")


class Replay:
    """A run of the playbook on a program that may differ from the recorded one, with a scripted model."""

    def __init__(self, folder: Path, *does: str, says: list[Any], script: Script | None = None) -> None:
        self.folder, self.program, self.model = folder, PagedProgram(*does), ScriptedModel(says)
        self.script = script or Script(PLAYBOOK, order="AB-1207")
        self.value: Any = None
        self.error: Exception | None = None
        self.run: Run

    async def done(self) -> Replay:
        layers = [self.script, "model"]

        with self.model:
            async with agent(self.model, self.program, self.folder) as self.run:
                try:
                    work = pursue("Save the note.", returns=dict[str, int], options=SubgoalOptions(layers=layers))
                    self.value = await work
                except Exception as error:
                    self.error = error
        return self

    @property
    def saved(self) -> list[str]:
        return self.program.orders.saved

    @property
    def outcomes(self) -> list[tuple[str, str, str]]:
        return [(one.rule, one.outcome, one.by) for replay in self.run.replayed for one in replay.outcomes]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A painted program needs no waiting times."""
    monkeypatch.setattr(one_step, "UNKNOWN_SCREEN_S", 0.0)
    monkeypatch.setattr(one_step, "RESUME_S", 0.0)
    monkeypatch.setattr(rules, "LEAST_WAITS", 0)


FITTED = [("fill-in", "fitted", "playbook")] * 2


async def test_a_moved_step_is_done_by_the_model_in_one_call(tmp_path: Path) -> None:
    replay = await Replay(tmp_path, "renamed", says=[FOUND]).done()
    assert (replay.value, replay.saved) == ({"receipt": 5012}, ["AB-1207"]), replay.error
    assert len(replay.model.requests) == 1
    assert replay.outcomes == [
        *FITTED,
        ("find", "healed", "model"),
        ("save", "fitted", "playbook"),
        ("answer", "fitted", "playbook"),
    ]
    assert (replay.run.healed, replay.run.layers) == (1, {"playbook": 1})
    changes = [(event.source, event.target) for event in events(replay.run.trace) if event.kind == "layer_changed"]
    assert changes == [("playbook", "model"), ("model", "playbook")]
    said = str(replay.model.requests[0])
    assert "The step: Click Start search." in said
    assert "AB-1207" in said
    assert "Reading the receipt" not in said


async def test_the_model_clears_an_obstacle_and_the_playbook_does_the_step(tmp_path: Path) -> None:
    replay = await Replay(tmp_path, "tip", says=[CLOSED]).done()
    assert (replay.value, replay.saved) == ({"receipt": 5012}, ["AB-1207"]), replay.error
    assert len(replay.model.requests) == 1
    assert ("save", "fitted", "playbook") in replay.outcomes


KNOWN = """    interruptions:
      tip: {screen: TIP OF THE DAY, do: {click: Close tip}}
    rules:"""


async def test_a_known_interruption_takes_no_model(tmp_path: Path) -> None:
    known = parse_playbook(TEXT.replace("    rules:", KNOWN))
    replay = await Replay(tmp_path, "tip", says=[], script=Script(known, order="AB-1207")).done()
    assert (replay.value, replay.saved) == ({"receipt": 5012}, ["AB-1207"]), replay.error
    assert replay.outcomes[3:] == [(rule, "fitted", "playbook") for rule in ("tip", "save", "answer")]
    never = await Replay(tmp_path, says=[], script=Script(known, order="AB-1207")).done()
    assert (never.value, never.saved) == ({"receipt": 5012}, ["AB-1207"]), never.error


async def test_another_button_of_an_interruption_is_pressed_by_the_model_and_learned(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text(TEXT.replace("    rules:", KNOWN.replace("Close tip", "Got it")))
    script = Script(file, order="AB-1207").healing("propose")
    replay = await Replay(tmp_path, "tip", says=[CLOSED], script=script).done()
    assert (replay.value, replay.saved) == ({"receipt": 5012}, ["AB-1207"]), replay.error
    assert len(replay.model.requests) == 1
    (proposal,) = HealingFolder(file).proposals
    apply(file, proposal)
    (learned,) = load_playbook(file).goals["save-note"].interruptions.values()
    assert [way.text for way in learned.do[0].targets[0].ways] == ["Got it", "Close tip"]
    again = await Replay(tmp_path / "again", "tip", says=[], script=Script(file, order="AB-1207")).done()
    assert (again.value, again.saved) == ({"receipt": 5012}, ["AB-1207"]), again.error


ONCE = 'id: find\n        screen: [ORDER SEARCH, "{order}"]\n        once: true'
LOOKS_AGAIN = parse_playbook(TEXT.replace(ONCE, ONCE.replace("once: true", "max: 3\n        pause: 0.01")))
CLOSED_NOTE = step("click", element="Close note", **place("Close note", "note", at="note"))
SEARCHED = step("click", element="Start search", **place("Start search", at="search"))


@pytest.mark.parametrize("says", [[CLOSED_NOTE], [SEARCHED, CLOSED_NOTE]], ids=["clears the way", "presses it, too"])
async def test_a_step_without_effect_goes_to_the_model(tmp_path: Path, says: list[Any]) -> None:
    replay = await Replay(tmp_path, "note", says=says, script=Script(LOOKS_AGAIN, order="AB-1207")).done()
    assert (replay.value, replay.saved) == ({"receipt": 5012}, ["AB-1207"]), replay.error
    assert replay.program.orders.ignored == [
        "Start search"
    ]  # only once: then the model is asked, which may not press it
    assert len(replay.model.requests) == len(says)
    assert "it changed nothing on the screen" in str(replay.model.requests[0])
    assert [one for one in replay.outcomes if one[0] == "find"] == [
        ("find", "healed", "model"),
        ("find", "fitted", "playbook"),
    ]


@dataclass
class Still:
    """A walk on an unchanging screen, with a time and a picture only."""

    now_s: float
    digest: str = "the same"

    def __getattr__(self, name: str) -> Any:
        return {"services": SimpleNamespace(now_s=lambda: self.now_s), "seen": SimpleNamespace(frame=self)}[name]


def nothing_came(now_s: float = 109.0, waits: int = 2, presses: int = 1, **how: Any) -> str | None:
    """Return the cause of a misfit in a brain that pressed Start search at 100 s and now waits."""
    brain = PlaybookBrain(how.get("playbook", LOOKS_AGAIN), "save-note", {"order": "AB-1207"}, ScreenReader())
    press = Turn("click", "Click Start search.", {"tool_name": "click"})
    brain._past = [press] * presses + [Turn("wait", "Waiting.", {"tool_name": "wait"})] * waits
    brain.late_s, brain._before, brain._acted_s = how.get("late_s", 8.0), "the same", how.get("acted_s", 100.0)
    decision = Decision({}, "find: waiting for its effect", rule="find", **how.get("decided", {}))
    found = brain._did_nothing(decision, Still(now_s, how.get("digest", "the same")))  # type: ignore[arg-type]
    assert len([turn for turn in brain._past if turn.tool == "click"]) == presses - (found is not None)
    return found.cause if found else None


def test_a_step_counts_as_not_done_only_if_it_certainly_had_no_effect() -> None:
    assert nothing_came() == "effect"
    assert nothing_came(now_s=107.0) is None  # the effect may be late
    assert nothing_came(waits=0) is None  # the screen was not captured again
    assert nothing_came(acted_s=None) is None  # the model has taken over the step meanwhile
    assert nothing_came(digest="another") is None
    assert nothing_came(presses=3) is None  # the rule's maximum is reached
    assert nothing_came(playbook=PLAYBOOK) is None  # the rule is done once
    assert nothing_came(late_s=None) is None  # no model
    assert nothing_came(decided={"unmet": True}) is None
    patient = parse_playbook(TEXT.replace(ONCE, ONCE.replace("once: true", "max: 3\n        patience: 40")))
    assert nothing_came(playbook=patient) is None  # the recorded program was slow as well
    waiting = parse_playbook(TEXT.replace(ONCE, ONCE.replace("once: true", "max: 3\n        waited: 4")))
    assert nothing_came(playbook=waiting) is None  # a rule begins after some waits


async def test_the_items_text_must_be_unchanged_at_a_press(tmp_path: Path) -> None:
    replay = await Replay(tmp_path, says=[]).done()
    pressed = [
        (gesture.at, input_permit)
        for gesture, input_permit in zip(replay.program.gestures, replay.program.slips, strict=True)
        if isinstance(gesture, Click)
    ]
    (_, last) = pressed[-1]  # Save note, on the record of this order
    assert last is not None
    (box,) = last.held
    assert box.contains(Point(210, 128))


async def test_a_moved_step_with_an_effect_is_done_once(tmp_path: Path) -> None:
    replay = await Replay(tmp_path, "renamed save", says=[SAVED]).done()
    assert (replay.value, replay.saved, len(replay.model.requests)) == ({"receipt": 5012}, ["AB-1207"], 1), replay.error


async def test_a_press_once_button_is_not_pressed_again_by_any_layer(tmp_path: Path) -> None:
    replay = await Replay(tmp_path, "effect lost", says=[AGAIN]).done()
    assert replay.saved == ["AB-1207"]
    assert isinstance(replay.error, NeedsPerson)
    assert replay.outcomes[-1] == ("save", "failed", "playbook")


@pytest.mark.parametrize("presses", [True, False])
async def test_an_item_may_be_stored_if_the_model_pressed_something_for_the_step_that_stores(
    tmp_path: Path, presses: bool
) -> None:
    question = step("ask_human", question="Was it saved?")
    says = [SAVED, question] if presses else [question]
    script = Script(LOOKS_AGAIN, order="AB-1207")  # its step before may be repeated, so it stores nothing
    replay = await Replay(tmp_path, "renamed save", "effect lost", says=says, script=script).done()
    assert isinstance(replay.error, NeedsPerson)
    assert replay.outcomes[-1] == ("save", "failed", "playbook")
    assert replay.run.replayed[-1].may_have_stored is bool(replay.saved) is presses


@pytest.mark.parametrize("presses", [True, False])
async def test_an_item_may_be_stored_if_the_model_goes_on_alone_and_presses_something(
    tmp_path: Path, presses: bool
) -> None:
    cannot, question = step("answer", content="There is no such button."), step("ask_human", question="Was it saved?")
    says = [cannot, FOUND, SAVED, question] if presses else [cannot, question]
    replay = await Replay(tmp_path, "renamed", "renamed save", says=says).done()
    assert isinstance(replay.error, NeedsPerson)
    assert replay.saved == (["AB-1207"] if presses else [])
    assert replay.run.replayed[-1].may_have_stored is presses


async def test_another_items_screen_is_not_a_step_for_the_model(tmp_path: Path) -> None:
    replay = await Replay(tmp_path, "another record", says=[step("ask_human", question="Which order?")]).done()
    assert replay.saved == []
    assert isinstance(replay.error, NeedsPerson)
    assert "one of its steps" not in str(replay.model.requests)


async def test_an_unreadable_answer_is_given_by_the_model_layer(tmp_path: Path) -> None:
    answers = [step("answer", content="5012"), step("answer", content='{"receipt": 5012}')]
    replay = await Replay(tmp_path, "renamed receipt", says=answers).done()
    assert (replay.value, replay.saved) == ({"receipt": 5012}, ["AB-1207"]), replay.error
    assert (len(replay.model.requests), replay.run.layers) == (2, {"model": 1}), "the first answer had the wrong shape"
    assert replay.outcomes[-1] == ("answer", "healed", "model")
    assert "A playbook did all of this except the answer" in str(replay.model.requests[0])


async def test_ask_model_values_come_from_the_model_without_a_misfit(tmp_path: Path) -> None:
    text = TEXT.replace('- answer: {receipt: "{receipt}"}', "- ask_model: receipt")
    script = Script(parse_playbook(text), order="AB-1207")
    replay = await Replay(tmp_path, says=[step("answer", content='{"receipt": 5012}')], script=script).done()
    assert (replay.value, replay.saved) == ({"receipt": 5012}, ["AB-1207"]), replay.error
    assert (len(replay.model.requests), replay.run.layers, replay.run.healed) == (1, {"model": 1}, 0)
    assert replay.outcomes[-1] == ("answer", "fitted", "model")


async def test_a_similar_button_is_not_pressed_and_the_model_may_decline(tmp_path: Path) -> None:
    no = step("answer", content="There is only Save notes, which saves others, too.")
    replay = await Replay(tmp_path, "look-alike", says=[no, step("ask_human", question="Which one?")]).done()
    assert replay.saved == []
    assert "it says: There is only Save notes" in str(replay.error)
    assert "Do only that step" in str(replay.model.requests[0])


async def test_the_models_claim_of_success_counts_only_if_the_playbook_fits_again(tmp_path: Path) -> None:
    replay = await Replay(tmp_path, "renamed", says=[DONE, step("ask_human", question="Where?")]).done()
    assert replay.saved == []
    assert "the playbook still does not fit" in str(replay.error)


async def test_outcomes_name_steps_in_the_playbooks_own_words(tmp_path: Path) -> None:
    replay = await Replay(tmp_path, says=[DONE]).done()
    assert replay.run.replayed[0].outcomes[1] == StepOutcome("fill-in", 1, "Type {order}.", "fitted")
    assert (replay.model.requests, replay.saved) == ([], ["AB-1207"])


async def test_a_healed_and_verified_step_needs_no_call_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text(TEXT, encoding="utf-8")
    calls, known = [], [hashlib.sha256(file.read_bytes()).hexdigest()]
    for heal in ("propose", "apply", "apply"):
        script = Script(file, order="AB-1207").healing(heal)  # type: ignore[arg-type]
        replay = await Replay(tmp_path, "renamed save", says=[SAVED], script=script).done()
        assert replay.saved == ["AB-1207"], replay.error
        (opened,) = (event for event in events(replay.run.trace) if isinstance(event, SubgoalOpened))
        assert opened.playbook == f"save-note {known[-1]}", "the trace names the version of the file"
        known.append(hashlib.sha256(file.read_bytes()).hexdigest())
        calls.append(len(replay.model.requests))
        assert (file.read_text() == TEXT) == (heal == "propose")
    assert calls == [1, 1, 0]
    assert "click: {text: Save note, or: [Put on file]}" in file.read_text()
    unchanged = Script(file, order="AB-1207").healing("apply")
    assert (await Replay(tmp_path, says=[DONE], script=unchanged).done()).saved == ["AB-1207"]
    counts = HealingFolder(file).fits.goals["save-note"].steps["save.0"]
    assert (counts.fitted, counts.healed, counts.failed) == (2, 2, 0)
