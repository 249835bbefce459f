"""State that the loop keeps between steps, and the frame that the desktop gets with each gesture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.errors import GaveUp, InvalidUsage, ScreenChanged
from holo_tasks.core.input.gestures import Click, Gesture, Hotkey, Pause, Receipt
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.ports import Reply
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnswerCall, ClickCall
from holo_tasks.core.screen.frame import Frame
from holo_tasks.loop import loop
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.guide import Guide
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.presses.press_once import EffectButtons
from holo_tasks.loop.screens import Screens
from holo_tasks.loop.task_doubts import TaskDoubts
from holo_tasks.loop.walk import Walk
from tests.support.coloured_program import ColouredProgram, Colours, state
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, a_step, as_model, walk_of, wrote

CLICK = wrote(step("click", element="OK button", x=500, y=500))
DONE = wrote(step("answer", content="done"))


@pytest.mark.parametrize("rechecks", [True, False])
async def test_the_desktop_gets_the_frame_of_the_decision(rechecks: bool) -> None:
    class Numbered(PaintedDesktop):
        async def look(self, *, after_action: bool = False) -> Frame:
            return replace(await super().look(after_action=after_action), number=7 + len(self.gestures))

    desktop = Numbered()
    walk = walk_of(as_model(MemoryModel([])), desktop=desktop)
    walk.services = replace(walk.services, recheck=rechecks)
    for _ in range(2):
        await walk.look()
        await walk.act(a_step())
    assert [input_permit.frame for input_permit in desktop.slips if input_permit] == ([7, 8] if rechecks else [0, 0])


async def test_after_a_withheld_escape_the_current_screen_is_used() -> None:
    class Late(ColouredProgram):
        async def do(
            self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
        ) -> Receipt:
            self.screen = "menu"
            raise ScreenChanged("It went by itself.")

    program = Late("nothing known")
    executor = Executor(walk_of(as_model(MemoryModel([])), desktop=program), Walk.act)
    await executor.walk.look()
    assert "not pressed" in await executor.escape()
    assert executor.seen.frame.rgb == (await program.look()).rgb


class Helper:
    async def help(self, walk: Walk, question: str) -> str:
        return "There you are."


class Pressed(EffectButtons):
    """Treats each click as one on a button that was pressed before."""

    def __init__(self) -> None:
        super().__init__(("OK",), self._not_done)
        self.press(frozenset(["OK"]))

    async def pressed_by(self, *args: object) -> frozenset[str]:
        return frozenset(["OK"])

    async def _not_done(self) -> bool:
        return True


def fits(text: str) -> str:
    if text != "done":
        raise ValueError("it says something else")
    return text


@pytest.mark.parametrize(
    ("why", "between"),
    [
        ("the screen changed", CLICK),
        ("it cannot be done", CLICK),
        ("it was pressed before", CLICK),
        ("it does not fit", wrote(step("answer", content="well"))),
        ("it is a person's", wrote(step("ask_human", question="What now?"))),
    ],
)
async def test_a_second_early_answer_ends_the_work_despite_steps_in_between(why: str, between: Reply) -> None:
    class Program(ColouredProgram):
        async def do(
            self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
        ) -> Receipt:
            if isinstance(gesture, Click) and why != "it was pressed before":
                raise (ScreenChanged if why == "the screen changed" else InvalidUsage)("Nothing was pressed.")
            return await super().do(gesture, deadline=deadline, input_permit=input_permit)

    async def decide(walk: Walk, final: bool) -> Step:
        return await walk.decide(answer_only=final)

    model = MemoryModel([DONE, between, DONE, DONE])
    walk = walk_of(as_model(model), desktop=Program("menu"))
    walk.services = replace(walk.services, person=Helper())
    guide = Guide(Screens([state("menu"), state("filed")], timeout_seconds=0.1), after=("filed",))
    once = Pressed() if why == "it was pressed before" else EffectButtons()
    executor = Executor(walk, Walk.act, recognizer=Colours())
    with pytest.raises(GaveUp):
        await pursue(executor, read=fits, decide=decide, max_steps=9, guide=guide, effect_buttons=once)
    assert len(model.bodies) == 3


ANSWER = Step(thought="", tool_call=AnswerCall(tool_name="answer", content="done"))
PRESS, PAUSE, TAB = a_step(), a_step("wait", seconds=0.1), a_step("hotkey", keys=["tab"])


@pytest.mark.parametrize(
    ("steps", "gestures"),
    [
        pytest.param([PRESS], [], id="once"),
        pytest.param([PRESS, PRESS], [Click], id="repeated"),
        pytest.param([PRESS, PAUSE, PRESS], [Pause, Click], id="repeated after a wait"),
        pytest.param([PRESS, TAB, PRESS], [Hotkey], id="repeated after another call"),
        pytest.param([PRESS, PRESS, PRESS], [Click], id="repeated after it was carried out"),
    ],
)
async def test_a_repeated_call_is_carried_out_whichever_guard_objects_to_it(
    monkeypatch: pytest.MonkeyPatch, steps: list[Step], gestures: list[type]
) -> None:
    objected: list[str] = []

    async def objects(*of: object) -> str:
        is_press = any(isinstance(each, ClickCall) for each in of)
        return objected.append("named") or "No." if is_press and len(objected) % 2 == 0 else ""

    async def row_objects(*of: object) -> str:
        return objected.append("row") or "No." if any(isinstance(each, ClickCall) for each in of) else ""

    monkeypatch.setattr(loop.NamedClicks, "contradiction", objects)
    monkeypatch.setattr(loop, "row_contradiction", row_objects)
    decisions, recorder, desktop = [*steps, ANSWER], MemoryRecorder(), PaintedDesktop()
    walk = walk_of(as_model(MemoryModel([])), desktop=desktop, recorder=recorder)

    async def decide(walk: Walk, final: bool) -> Step:
        return decisions.pop(0)

    await pursue(Executor(walk, Walk.act), read=str, decide=decide, max_steps=9, doubts=TaskDoubts())
    assert [type(each) for each in desktop.gestures] == gestures
    reasons = [each.reason for each in recorder.of("correction")]
    assert (loop.INSISTED in reasons) is (Click in gestures)
