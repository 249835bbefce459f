"""No press is repeated on an unchanged screen: the messages to each agent, and the presses that happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.errors import GaveUp
from holo_tasks.core.input.gestures import Gesture, Pause
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.screen.activity import UNKNOWN, Activity
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.presses.press_once import EffectButtons
from holo_tasks.loop.script_port import apply_intent
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.script import Script
from tests.support.coloured_program import ColouredProgram
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.scripts import done
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

SUBMIT = wrote(step("click", element="Submit", x=500, y=500))
BESIDE = wrote(step("click", element="Submit", x=510, y=510))
TWICE = wrote(step("double_click", element="Submit", x=500, y=500))
ENTER = wrote(step("hotkey", keys=["enter"]))
SCROLL = wrote(step("scroll", element="the list", x=500, y=500, direction="down", scroll_size=1))
DONE = wrote(step("answer", content="done"))
NOTHING = Activity(known=True)
SENT = Activity(known=True, sent=True)


class Program(ColouredProgram):
    """A form without visible effects; ``late`` captures after the first press it is filed."""

    def __init__(
        self,
        moves: Callable[[str, Gesture], str | None] = lambda screen, gesture: None,
        *,
        activity: Activity = UNKNOWN,
        late: int = 0,
    ) -> None:
        super().__init__("form", moves)
        self.activity, self.late = activity, late

    async def look(self, *, after_action: bool = False) -> Frame:
        if self.late and self.presses:
            self.late -= 1
            self.screen = self.screen if self.late else "filed"
        return replace(await super().look(after_action=after_action), activity=self.activity)

    @property
    def presses(self) -> int:
        return sum(not isinstance(gesture, Pause) for gesture in self.gestures)


class Case:
    def __init__(self, program: Program, *said: Any) -> None:
        self.program, self.model, self.recorder = program, MemoryModel(said), MemoryRecorder()
        self.walk = walk_of(as_model(self.model), desktop=program, recorder=self.recorder)

    @property
    def told(self) -> str:
        return str(self.model.bodies[-1]["messages"])


@pytest.mark.parametrize("again", [SUBMIT, BESIDE])
async def test_a_model_gets_one_correction_and_may_do_another_step(again: Any) -> None:
    case = Case(Program(), SUBMIT, again, SCROLL, DONE)
    assert (await work(case.walk)).text == "done"
    assert [type(gesture).__name__ for gesture in case.program.gestures if not isinstance(gesture, Pause)] == [
        "Click",
        "Scroll",
    ]
    assert case.told.count("‘Submit’ was pressed before") == 1
    (corrected,) = case.recorder.of("correction")
    assert "the screen has not changed: pressing it again might do it twice" in corrected.reason


@pytest.mark.parametrize("press", [SUBMIT, ENTER, TWICE])
async def test_an_insistent_model_ends_with_an_unknown_effect(press: Any) -> None:
    case = Case(Program(activity=SENT), press)
    with pytest.raises(GaveUp, match="the program sent something, and the screen has not changed") as caught:
        await work(case.walk)
    assert (caught.value.layer, caught.value.status) == ("model", "needs_person")
    assert (case.program.presses, len(case.model.bodies)) == (1, 3)


async def test_a_step_without_a_visible_effect_does_not_reset_the_rule() -> None:
    case = Case(Program(), SUBMIT, SUBMIT, SCROLL, SUBMIT, DONE)
    with pytest.raises(GaveUp):
        await work(case.walk)
    assert case.program.presses == 2


async def test_a_late_effect_is_shown_to_the_model() -> None:
    case = Case(Program(late=4), SUBMIT, SUBMIT, DONE)
    assert (await work(case.walk)).text == "done"
    assert case.program.presses == 1
    assert "the screen has changed since" in case.told
    assert len(case.recorder.of("looked_again")) == 1
    assert case.walk.seen is not None
    assert case.walk.seen.frame.rgb == (await case.program.look()).rgb


async def test_a_press_without_any_effect_may_be_repeated_once() -> None:
    case = Case(Program(activity=NOTHING), SUBMIT, SUBMIT, SUBMIT, DONE)
    assert (await work(case.walk)).text == "done"
    assert case.program.presses == 2
    assert "‘Submit’ does nothing" in case.told


@pytest.mark.parametrize("activity", [UNKNOWN, NOTHING, SENT])
async def test_buttons_with_a_visible_effect_may_be_pressed_repeatedly(activity: Activity) -> None:
    pages = ("menu", "form", "record")
    turns = Program(lambda screen, gesture: pages[(pages.index(screen) + 1) % 3], activity=activity)
    case = Case(turns, *[SUBMIT] * 7, DONE)
    assert (await work(case.walk)).text == "done"
    assert case.program.presses == 7
    assert case.recorder.of("correction") == case.recorder.of("looked_again") == []
    assert not [gesture for gesture in turns.gestures if isinstance(gesture, Pause)], "without a wait"


async def test_a_press_after_going_there_and_back_is_allowed() -> None:
    other = {"form": "record", "record": "form"}
    case = Case(Program(lambda screen, gesture: other[screen]), *[SUBMIT] * 6, DONE)
    assert (await work(case.walk)).text == "done"
    assert case.program.presses == 6


async def test_a_press_declared_safe_may_be_repeated() -> None:
    case = Case(Program(), SUBMIT, SUBMIT, SUBMIT, DONE)
    case.walk.safe_to_repeat = ("*",)
    assert (await work(case.walk)).text == "done"
    assert case.program.presses == 3
    assert case.recorder.of("correction") == []


class Fields:
    """Reads a field at each point of the picture."""

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return ""

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        return Box.near(at, 30, 9)


async def test_a_click_into_a_field_may_be_repeated() -> None:
    case = Case(Program(), SUBMIT, SUBMIT, SUBMIT, DONE)
    case.walk.services = replace(case.walk.services, reader=Fields())
    assert (await work(case.walk)).text == "done"
    assert case.program.presses == 3


@pytest.mark.parametrize(
    ("words", "may"), [("Amount field", True), ("das Feld „Betrag“", True), ("Submit", False), ("", False)]
)
async def test_words_and_picture_have_to_agree_on_a_field_if_no_policy_reads(words: str, may: bool) -> None:
    case = Case(Program(), *[wrote(step("click", element=words, x=500, y=500))] * 2, DONE)
    case.walk.services = replace(case.walk.services, screen_text=Fields())
    assert (await work(case.walk)).text == "done"
    assert case.program.presses == (2 if may else 1)


async def test_a_press_may_be_repeated_after_a_persons_answer() -> None:
    class Helper:
        async def help(self, walk: Walk, question: str) -> str:
            return "Press it again."

    case = Case(Program(), SUBMIT, wrote(step("ask_human", question="Nothing happens.")), SUBMIT, DONE)
    case.walk.services = replace(case.walk.services, person=Helper())
    assert (await work(case.walk)).text == "done"
    assert case.program.presses == 2


@pytest.mark.parametrize("not_done", [True, False])
async def test_the_probe_is_asked_before_giving_up(not_done: bool) -> None:
    async def look() -> bool:
        return not_done

    async def decide(walk: Walk, final: bool) -> Step:
        return await walk.decide(answer_only=final)

    case = Case(Program(), SUBMIT, SUBMIT, SUBMIT, SUBMIT, DONE)
    working = pursue(
        Executor(case.walk, Walk.act), read=str, decide=decide, max_steps=9, effect_buttons=EffectButtons((), look)
    )
    if not_done:
        assert (await working).text == "done"
    else:
        with pytest.raises(GaveUp):
            await working
    assert case.program.presses == (2 if not_done else 1)


async def test_a_press_once_button_follows_its_own_rule() -> None:
    async def reads(frame: Frame, where: Point | Box) -> str:
        return "Submit"

    async def not_done() -> bool:
        return True

    async def decide(walk: Walk, final: bool) -> Step:
        return await walk.decide(answer_only=final)

    case = Case(Program(), SUBMIT, SUBMIT, SUBMIT, DONE)
    case.walk.services = replace(case.walk.services, reader=reads)
    once = EffectButtons(("Submit",), not_done)
    await pursue(Executor(case.walk, Walk.act), read=str, decide=decide, max_steps=9, effect_buttons=once)
    assert case.program.presses == 2
    assert "a check shows that it had no effect" in case.told
    assert "the screen has not changed" not in case.told


async def test_the_next_layer_does_not_repeat_the_press() -> None:
    case = Case(Program(), SUBMIT, DONE)
    await work(case.walk)
    case.walk = replace(case.walk, transcript=replace(case.walk.transcript, entries=()), seen=None)
    case.model.bodies.clear()
    await work(case.walk)
    assert case.program.presses == 1
    assert "‘Submit’ was pressed before" in case.told


async def test_a_scripts_repeated_press_raises_an_error() -> None:
    program = Program()
    recorder = MemoryRecorder()

    async def submit(hands: Hands) -> str:
        for _ in range(2):
            await hands.hotkey("enter")
        return "done"

    with pytest.raises(GaveUp, match="Enter was pressed before"):
        await done(walk_of(as_model(MemoryModel([])), desktop=program, recorder=recorder), Script(submit).brain())
    assert program.presses == 1


class Page(PaintedDesktop):
    """A page with large letters that never changes."""

    async def look(self, *, after_action: bool = False) -> Frame:
        image = Image.new("RGB", (480, 240), "#d8d8d8")
        ImageDraw.Draw(image).text((20, 20), "ORDER FORM", fill="black", font=ImageFont.load_default(size=24))
        return Frame(image.tobytes(), Size(480, 240), self.display)


@pytest.mark.parametrize(("safe", "presses"), [(False, 1), (True, 3)])
async def test_a_playbooks_repeated_press_is_withheld_unless_declared_safe(safe: bool, presses: int) -> None:
    written = f"""
name: orders
goals:
  file:
    rules:
      - id: submit
        screen: ORDER FORM
        max: 3
        do: [{{hotkey: [enter], thought: Submit it., safe: {str(safe).lower()}}}]
"""
    desktop, recorder = Page(), MemoryRecorder()
    walk = walk_of(as_model(MemoryModel([])), desktop=desktop, recorder=recorder)

    async def decide(walk: Walk, final: bool) -> Step:
        decided = await brain.decide(walk)
        apply_intent(walk, brain.intent, ())
        return decided

    brain = Script(parse_playbook(written), "file").brain()
    with pytest.raises(GaveUp, match="has no rule of goal" if safe else "was pressed before"):
        await pursue(Executor(walk, Walk.act, "playbook"), read=str, decide=decide, max_steps=20)
    assert sum(not isinstance(gesture, Pause) for gesture in desktop.gestures) == presses
