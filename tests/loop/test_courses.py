"""The courses of the loop only return instructions. These tests need no desktop, model or walk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.errors import GaveUp, ScreenChanged
from holo_tasks.core.input.gestures import Gesture, Pause, Typed
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.states import Asked, State
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.guide import Guide, NoGuide
from holo_tasks.loop.instructions import (
    AddText,
    CheckState,
    Escape,
    GetTime,
    GiveUp,
    Glance,
    GuardSteps,
    Instruction,
    Look,
    LookForEffect,
    Recognize,
    Record,
    View,
    Wait,
)
from holo_tasks.loop.presses.press_once import EffectButtons
from holo_tasks.loop.screens import Screens
from holo_tasks.loop.walk import PATIENCE_S, Walk
from tests.support.coloured_program import state
from tests.support.painted_desktop import SIZE, PaintedDesktop
from tests.support.shots import MemoryModel, a_step, as_model, walk_of

MENU = state("menu")


def shade(value: int) -> Frame:
    return Frame(bytes([value]) * (SIZE.width * SIZE.height * 3), SIZE, ":1")


def kinds(asked: list[Instruction]) -> list[type]:
    return [type(one) for one in asked]


def driven(course: GuardSteps[Any], answers: dict[type, list[Any]]) -> tuple[list[Instruction], Any]:
    """Answer a course until it ends or gives up. Return its instructions and its result."""
    asked: list[Instruction] = []
    answer: Any = None
    while True:
        try:
            wanted: Instruction = course.send(answer)
        except StopIteration as end:
            return asked, end.value
        asked.append(wanted)
        if isinstance(wanted, GiveUp):
            return asked, wanted.why
        answer = answers[type(wanted)].pop(0) if answers.get(type(wanted)) else None


def test_a_known_screen_is_reported_without_an_action() -> None:
    guide = Guide(Screens([MENU]))
    asked, _ = driven(guide.clear(), {Recognize: [View(shade(1), MENU)]})
    assert kinds(asked) == [Recognize, Record]
    assert guide.here == "menu"


def test_an_unknown_screen_is_polled_until_the_timeout_and_only_then_escaped() -> None:
    unknown = View(shade(0), None)
    answers = {Recognize: [unknown] * 4 + [View(shade(1), MENU)], GetTime: [0.0, 1.0, 9.0], Glance: [shade(0)]}
    asked, _ = driven(Guide(Screens([MENU], timeout_seconds=5.0)).clear(), answers)
    assert kinds(asked) == [
        *(Recognize, Record, GetTime),
        *(Recognize, GetTime, Wait, Glance),
        *(Recognize, GetTime, Look),
        *(Recognize, Escape),
        *(Recognize, Record),
    ]


def test_the_screen_is_captured_and_cleared_before_a_press_is_repeated() -> None:
    once = EffectButtons(("Submit",))
    once.press({"Submit"})
    answers = {LookForEffect: [True], Recognize: [View(shade(1), MENU)]}
    asked, _ = driven(once.again({"Submit"}, Guide(Screens([MENU]))), answers)
    assert kinds(asked) == [Wait, LookForEffect, Look, Recognize, Record]


def test_a_hung_program_has_not_arrived_despite_its_screen() -> None:
    hung = View(replace(shade(1), hung=True), MENU)
    answers = {Recognize: [hung], CheckState: [True], GetTime: [0.0, 30.0]}
    asked, there = driven(Guide(Screens([MENU]), after=("menu",)).arrived(), answers)
    assert (kinds(asked), there) == ([GetTime, Recognize, GetTime], False)


def test_a_model_is_not_asked_about_a_screen_that_is_still_changing() -> None:
    dear = State("dear", Asked("Is it the menu?"))
    answers = {
        Recognize: [View(shade(0), None), View(shade(1), None), *[View(shade(1), dear)] * 2],
        GetTime: [0.0, 1.0, 2.0],
        Glance: [shade(1), shade(1)],
        CheckState: [False, True, True],
    }
    asked, there = driven(Guide(Screens([MENU, dear]), after=("dear",)).arrived(), answers)
    assert there
    questions = [dear in one.states for one in asked if isinstance(one, Recognize)]
    assert questions[:3] == [True, False, True], "only after the screen has settled"


def test_an_end_state_is_searched_on_a_new_picture() -> None:
    answers = {Recognize: [View(shade(1), MENU)] * 3, CheckState: [True] * 2, GetTime: [0.0, 1.0]}
    asked, problem = driven(Guide(Screens([MENU]), after=("menu",)).accept(), answers)
    assert (asked[0], problem) == (Look(), "")


@pytest.mark.parametrize("known", [True, False])
def test_a_second_press_probes_for_the_effect_and_does_nothing_after_giving_up(known: bool) -> None:
    once = EffectButtons(("Submit",))
    once.press({"Submit"})
    asked, came = driven(once.again({"Submit"}, NoGuide()), {LookForEffect: [known]})
    assert kinds(asked) == ([Wait, LookForEffect, Look] if known else [Wait, LookForEffect, GiveUp])
    assert asked[0] == Wait(PATIENCE_S), "a slow effect gets time to show"
    assert once.was_pressed({"Submit"}) is not known
    assert ("had no effect" if known else "was not pressed again") in came


async def test_a_course_that_gave_up_cannot_continue() -> None:
    def course() -> GuardSteps[None]:
        yield Wait(0.1)
        yield GiveUp("It is enough.")
        yield Escape()
        yield AddText("on we go")

    desktop = PaintedDesktop()
    walk = walk_of(as_model(MemoryModel([])), desktop=desktop)
    with pytest.raises(GaveUp, match="It is enough") as caught:
        await Executor(walk, Walk.act, "script").carry_out(course())
    assert caught.value.layer == "script"
    assert [type(gesture) for gesture in desktop.gestures] == [Pause]


class Journal:
    """Records the journal's last entry for each action."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def intend(self, action: str, before: str) -> int:
        self.told.append("intended")
        return 1

    async def done(self, number: int) -> None:
        self.told.append("done")

    async def void(self, number: int) -> None:
        self.told.append("void")


@pytest.mark.parametrize(("sent", "told"), [(False, "void"), (True, "done")])
async def test_an_intent_is_withdrawn_only_if_no_input_was_sent(sent: bool, told: str) -> None:
    whole = Box(0, 0, SIZE.width, SIZE.height)
    left = ScreenChanged("Something came up there.")
    left.typed = (Typed(whole, whole, before=b"", after=b""),) if sent else ()

    def leave(gesture: Gesture) -> None:
        raise left

    walk, journal = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop(leave)), Journal()
    walk.services = replace(walk.services, journal=journal)
    await walk.look()
    with pytest.raises(ScreenChanged):
        await walk.act(a_step("click", element="OK button", x=500, y=500))
    assert journal.told == ["intended", told]
