"""Carry out the instructions of the loop's guards.

`Executor` does every look at the screen and every action for them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, assert_never

from holo_tasks.core import events
from holo_tasks.core.errors import GaveUp, InvalidUsage, NeedsPerson, PolicyRefused, ScreenChanged
from holo_tasks.core.person import GIVE_UP, Answer
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import HotkeyCall
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.states import Recognizer
from holo_tasks.loop import instructions as do
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.screens import Do, Screens
from holo_tasks.loop.walk import Walk

T = TypeVar("T")

Act = Callable[[Walk, Step], Awaitable[str]]
Perform = Callable[[Do, str, Screens], Awaitable[Any]]
"""Does a declared script or sub-goal. The text names its purpose, and the screens may appear meanwhile."""


@dataclass
class Executor:
    """Looks and acts in one sub-goal, for one layer.

    ``recognizer`` recognizes the states of screens, and ``perform`` does the declared scripts. Both are used only if
    screens are declared.
    """

    walk: Walk
    act: Act
    layer: str = "model"
    recognizer: Recognizer | None = None
    perform: Perform | None = None

    async def carry_out(self, course: do.GuardSteps[T]) -> T:
        """Carry out the instructions of a course one after another; return the course's result.

        Raises the errors of the instructions, and `GaveUp` for the instruction `GiveUp`. The course does not continue
        then.
        """
        answer: Any = None
        while True:
            try:
                wanted = course.send(answer)
            except StopIteration as end:
                found: T = end.value
                return found
            answer = await self._carry_out(wanted)

    async def _carry_out(self, wanted: do.Instruction) -> Any:
        """Carry out one instruction; return the value that is sent to the course."""
        walk, services = self.walk, self.walk.services
        match wanted:
            case do.Look():
                await walk.look()
            case do.Glance(redacted):
                return await (walk.look_redacted() if redacted else services.desktop.look())
            case do.Recognize(states, glanced):
                frame = self._newest(glanced)
                return do.View(frame, await self._declared_recognizer().recognize(frame, states))
            case do.CheckState(state, glanced):
                return await self._declared_recognizer().holds(self._newest(glanced), state)
            case do.FocusedTitle():
                return (await services.desktop.owner_at(None)).title
            case do.GetTime():
                return services.now_s()
            case do.Wait(seconds):
                await walk.pause(seconds)
            case do.Perform():
                await self._perform(wanted)
            case do.Escape():
                return await self.escape()
            case do.LookForEffect(question) | do.Ask(question):
                return await question()
            case do.Record(event):
                await walk.record(event)
            case do.AddText(words):
                walk.show(words)
            case do.ReportStuck(pictures):
                return await walk.report_stuck(pictures=pictures)
            case do.GiveUp(why):
                raise GaveUp(why, layer=self.layer)
            case _:
                assert_never(wanted)
        return None

    @property
    def seen(self) -> NewestScreen:
        """The newest look at the screen."""
        assert self.walk.seen is not None
        return self.walk.seen

    async def escape(self) -> str:
        """Press Escape with the same checks as every action; return the outcome as a sentence."""
        walk, before = self.walk, self.seen
        call = HotkeyCall(tool_name="hotkey", keys=["esc"])
        started = walk.services.now_s()
        walk.step += 1
        await walk.record(events.Backtracked(by="Escape"))
        step = Step(thought="The last actions made no progress; going back.", tool_call=call)
        await walk.record_decision(step, scripted=True)
        services, walk.services = walk.services, replace(walk.services, approver=None)  # going back needs no approval
        try:
            await self.act(walk, step)
        except ScreenChanged as error:
            await walk.look()
            return f"Escape was not pressed to get back: {error}"
        except (PolicyRefused, InvalidUsage) as error:
            return f"Escape could not be pressed to get back: {error}"
        finally:
            walk.services = services
        await walk.verify(before, call, started_s=started)
        return "Escape was pressed to get back."

    async def _perform(self, wanted: do.Perform) -> None:
        """Do a declared script or sub-goal. Raises `NeedsPerson` if a person was asked in it and gave up."""
        assert self.perform is not None
        said = await self.perform(wanted.do, wanted.what, wanted.screens)
        if isinstance(said, Answer) and said.choice == GIVE_UP:
            raise NeedsPerson(f"{said.by} gave up: {wanted.what}{f' ({said.note})' if said.note else ''}.")
        await self.walk.look()

    def _newest(self, glanced: Frame | None) -> Frame:
        return self.seen.frame if glanced is None else glanced

    def _declared_recognizer(self) -> Recognizer:
        assert self.recognizer is not None
        return self.recognizer
