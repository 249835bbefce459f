"""The patterns of the benchmark's guards match the sentences of today's guards in the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest

from benchmarks.erring.guards import READ_BACK, calls_of, guard_of
from holo_tasks.core import events
from holo_tasks.core.elements.named_target import Control
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.programs import Owner
from holo_tasks.core.prompts.toolbox import STANDARD
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.texts.typed_text import Kind, TypedText
from holo_tasks.desktop.fields import clear_field
from holo_tasks.desktop.fields.pasted_text import NOT_PASTED
from holo_tasks.desktop.fields.wide_characters import NOT_FETCHED
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.guide import Guide, NoGuide
from holo_tasks.loop.instructions import (
    CheckState,
    GetTime,
    GiveUp,
    Glance,
    GuardSteps,
    LookForEffect,
    Recognize,
    View,
    Wait,
)
from holo_tasks.loop.loop import INSISTED, pursue
from holo_tasks.loop.presses.made_presses import MadePresses
from holo_tasks.loop.presses.press_once import EffectButtons
from holo_tasks.loop.presses.repeated_press import check
from holo_tasks.loop.screens import Screens
from holo_tasks.loop.walk import Walk
from tests.support.coloured_program import state
from tests.support.element_trees import PID, TellsTree, element, tree_of, window
from tests.support.painted_desktop import SIZE, WHOLE, PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, wrote

SAVE, DELETE = Box(200, 100, 40, 20), Box(100, 100, 40, 20)
FORM = tree_of(window(WHOLE), element("button", "Delete", DELETE), element("button", "Save", SAVE))
REFUSED = ("EMPTY_CELL", "TERMINAL", "DOCUMENT", "NO_TEXT", "TABLE", "STILL_EDITED")
"""The constants of `clear_field` with the reasons for which a field is not cleared."""


def corrected(reason: str) -> events.Corrected:
    return events.Corrected(reason=reason)


def closed(reason: str) -> events.SubgoalClosed:
    return events.SubgoalClosed(status="needs_person", reason=reason, answer="", steps=1, cost_micro_usd=0)


def at(box: Box, dx: int = 0) -> dict[str, int]:
    x, y = box.center.x + dx, box.center.y
    return {"x": round((x + 0.5) * 1000 / WHOLE.width), "y": round((y + 0.5) * 1000 / WHOLE.height)}


class ReadsNothing:
    """A reader of spots that finds no text."""

    async def spot(self, frame: Frame, at: Point) -> None:
        return None

    async def texts(self, frame: Frame) -> list[tuple[str, Box]]:
        return []

    async def controls(self, frame: Frame) -> list[Control]:
        return []


async def guards_of(*said: dict[str, Any], once: EffectButtons | None = None, read: type = str) -> list[str]:
    """Return the guards of each call of a model that works on a form with two buttons."""
    desktop, recorder = PaintedDesktop(), MemoryRecorder()
    desktop.owners = lambda at: Owner("/usr/bin/painted", box=WHOLE, pid=PID)
    model = as_model(MemoryModel([wrote(each) for each in said]), tools=(*STANDARD, "write_at"))
    walk = walk_of(model, desktop=desktop, recorder=recorder)
    walk.services = replace(walk.services, elements=Elements(TellsTree(FORM)), spots=ReadsNothing())
    await pursue(
        Executor(walk, Walk.act),
        read=read,
        decide=lambda it, final: it.decide(answer_only=final),
        max_steps=30,
        effect_buttons=once,
    )
    return [one.guard for one in calls_of(recorder.events)]


async def test_a_press_that_hits_another_control_is_the_named_clicks() -> None:
    press = step("click", element="the Save button", **at(DELETE))
    assert await guards_of(press, step("answer", content="done")) == ["named click", ""]


async def test_a_press_beside_the_control_is_the_named_clicks() -> None:
    press = step("click", element="the Save button", **at(SAVE, dx=25))
    assert await guards_of(press, step("answer", content="done")) == ["named click", ""]


async def test_a_model_that_insists_is_withheld_once() -> None:
    press = step("click", element="the Save button", **at(DELETE))
    assert await guards_of(press, press, step("answer", content="done")) == ["named click", "", ""]
    assert guard_of(corrected(INSISTED)) == ""


async def test_a_double_click_on_a_button_that_is_pressed_once_is_press_once() -> None:
    press = step("double_click", element="the Save button", **at(SAVE))
    assert await guards_of(press, step("answer", content="done"), once=EffectButtons(("Save",))) == ["press once", ""]


async def test_an_answer_that_does_not_fit_is_its_own_kind() -> None:
    said = (step("answer", content="seven"), step("answer", content="7"))
    assert await guards_of(*said, read=int) == ["answer does not fit", ""]


def driven(course: GuardSteps[Any], answers: dict[type, Sequence[Any]]) -> str:
    """Answer a course, each question with its last answer at the end, and return its reason."""
    left, answer = {kind: list(each) for kind, each in answers.items()}, None
    while True:
        try:
            wanted = course.send(answer)
        except StopIteration as end:
            return str(getattr(end.value, "why", end.value))
        if isinstance(wanted, GiveUp):
            return wanted.why
        of = left.get(type(wanted), [None])
        answer = of.pop(0) if len(of) > 1 else of[0]


@pytest.mark.parametrize(("not_done", "event"), [(True, corrected), (False, closed)])
def test_a_second_press_of_a_declared_button_is_press_once(not_done: bool, event: Any) -> None:
    once = EffectButtons(("Submit",))
    once.press({"Submit"})
    why = driven(once.again({"Submit"}, NoGuide()), {LookForEffect: [not_done]})
    assert guard_of(event(why)) == "press once"


def shade(value: int) -> Frame:
    return Frame(bytes([value]) * (SIZE.width * SIZE.height * 3), SIZE, ":1")


def test_a_second_press_after_the_end_is_reached_is_press_once() -> None:
    end = state("end")
    guide = Guide(Screens([end]), after=("end",))
    once = EffectButtons(("Submit",))
    once.press({"Submit"})
    seen = {Recognize: [View(shade(1), end)], CheckState: [True], GetTime: [0.0, 1.0]}
    assert guard_of(corrected(driven(once.again({"Submit"}, guide), seen))) == "press once"


def test_an_answer_on_a_wrong_screen_is_named_so() -> None:
    menu, end = state("menu"), state("end")
    guide = Guide(Screens([menu, end], timeout_seconds=1), after=("end",))
    seen = {Recognize: [View(shade(1), menu)], CheckState: [False], GetTime: [0.0, 0.0, 9.0], Glance: [shade(1)]}
    why = driven(guide.accept(), seen)
    assert guard_of(corrected(why)) == guard_of(closed(why)) == "answer on a wrong screen"


async def never() -> bool:
    return False


@pytest.mark.parametrize("told", [False, True])
def test_a_press_on_an_unchanged_screen_is_a_repeated_press(told: bool) -> None:
    presses = MadePresses()
    presses.record(Click(SAVE.center), shade(1), 0.0)
    made = presses.made[-1]
    made.told = told  # a second refusal ends the work
    course = check(presses, made, shade(1), is_harmless=never, not_done=never)
    why = driven(course, {GetTime: range(50), Glance: [shade(1)], Wait: [None], LookForEffect: [False]})
    assert guard_of(closed(why) if told else corrected(why)) == "repeated press"


@pytest.mark.parametrize("name", REFUSED)
def test_a_field_that_is_not_cleared_is_refused(name: str) -> None:
    assert guard_of(events.ActionFailed(reason=getattr(clear_field, name))) == "field refused"


@pytest.mark.parametrize("reason", [NOT_FETCHED, NOT_PASTED])
def test_a_text_that_the_program_does_not_fetch_is_refused(reason: str) -> None:
    assert guard_of(events.ActionFailed(reason=reason.format(text="x"))) == "field refused"


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_difference_that_is_read_back_is_reported_and_not_withheld(kind: Kind) -> None:
    bill = {"latency_us": 1, "prompt_tokens": 1, "cached_tokens": 0, "completion_tokens": 1, "cost_micro_usd": 1}
    asked = {"model": "m", "endpoint": "e", "shots": [], "messages": 2, "prompt_sha256": "", "attempt": 1}
    reply = {**bill, "estimated": False, "finish_reason": "stop", "content": "", "attempt": 1}
    sent = [events.RequestSent(**asked), events.ReplyReceived(**reply), events.ActionDone(took_us=1, input_events=2)]
    (call,) = calls_of([*sent, events.FieldRead(outcome=kind)])  # type: ignore[list-item]
    assert (call.guard, call.reported) == ("", READ_BACK if TypedText(kind).differs else "")


def test_a_screen_that_changed_before_the_input_withholds_an_action_that_was_intended() -> None:
    bill = {"latency_us": 1, "prompt_tokens": 1, "cached_tokens": 0, "completion_tokens": 1, "cost_micro_usd": 1}
    asked = {"model": "m", "endpoint": "e", "shots": [], "messages": 2, "prompt_sha256": "", "attempt": 1}
    reply = {**bill, "estimated": False, "finish_reason": "stop", "content": "", "attempt": 1}
    intended = events.ActionIntended(gesture_kind="click", gesture={}, label="", before="")
    asking = [events.RequestSent(**asked), events.ReplyReceived(**reply)]  # type: ignore[arg-type]
    (call,) = calls_of([*asking, intended, events.LookedAgain(reason="The screen changed there.")])
    assert (call.guard, call.sent) == ("screen changed", False)
