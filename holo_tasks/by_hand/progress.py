"""Print each step that a person has just done, with the words by which a playbook would find its target.

`StepReporter` is used by the recording command. Typed texts are never printed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holo_tasks.by_hand.step_collector import HandStep
from holo_tasks.by_hand.trace_writer import in_no_playbook
from holo_tasks.by_hand.typed_secrets import read
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.input.gestures import Click, Drag, Gesture, Hotkey, Scroll, Write
from holo_tasks.core.input.pressed_elements import hit_by
from holo_tasks.core.screen.geometry import Point
from holo_tasks.vision.ocr_reader import Reader

BY_MODEL = "In the playbook the model does this step."
NOTHING = "something without words"
NAME_CHARACTERS = 60


class StepReporter:
    """Finds the target of each step in the background and reports the step with ``say``."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.reader = Reader()
        self.words: dict[int, str] = {}
        self._say = say
        self._steps: asyncio.Queue[HandStep] = asyncio.Queue()
        self._field = ""

    def report(self, step: HandStep) -> None:
        """Queue a step for its report."""
        self._steps.put_nowait(step)

    async def work(self) -> None:
        """Report the queued steps one after the other until cancelled."""
        while True:
            step = await self._steps.get()
            await self._tell(step)
            self._steps.task_done()

    async def caught_up(self) -> None:
        """Wait until all queued steps are reported."""
        await self._steps.join()

    async def _tell(self, step: HandStep) -> None:
        words = await asyncio.to_thread(self._called, step)
        if words:
            self.words[step.number] = words
        self._say(f"step {step.number}: {_said(step.gesture, words or NOTHING, self._field)}")
        if why := in_no_playbook(step):
            self._say(f"step {step.number}: {why}. {BY_MODEL}")
        is_field = isinstance(step.gesture, Click) and words.startswith("the field")
        self._field = words if is_field else "" if not isinstance(step.gesture, Hotkey) else self._field

    def _called(self, step: HandStep) -> str:
        """Return the words for a step's target. Returns an empty string for keys and for a target without text."""
        at = getattr(step.gesture, "at", None) or getattr(step.gesture, "start", None)
        if not isinstance(at, Point):
            return ""
        element = hit_by(step.before.tree, step.gesture)
        if element is not None and element.name and element.role != "window":
            named = " ".join(element.name.split())[:NAME_CHARACTERS]
            return f"the field {named}" if element.role in ("text field", "password field") else named
        is_double = isinstance(step.gesture, Click) and step.gesture.count == 2
        target = target_at(at, read(step.before, self.reader), {}, typed=not is_double)
        return "" if target is None else target.words


def _said(gesture: Gesture, words: str, field: str) -> str:
    named = words if words in (NOTHING,) or words.startswith("the field") else f"‘{words}’"
    match gesture:
        case Click(button="left", count=1):
            return f"pressed {named}"
        case Click(button="left", count=2):
            return f"double-clicked {named}"
        case Click(button="left", count=count):
            return f"pressed {named} {count} times"
        case Click(button=button):
            return f"pressed {named} with the {button} button"
        case Drag():
            return f"dragged {named}"
        case Scroll(direction=direction):
            return f"scrolled {direction} over {named}"
        case Write(press_enter=sent):
            return f"typed{f' into {field}' if field else ''}{' and pressed Enter' if sent else ''}"
        case Hotkey(keys, repeat):
            return f"pressed {'+'.join(keys)}{f' {repeat} times' if repeat > 1 else ''}"
        case _:
            raise AssertionError(f"{gesture} cannot be done by hand")
