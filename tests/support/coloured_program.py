"""A program with a few named screens, each in its own colour, and a recognizer of these screens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holo_tasks.core.input.gestures import Gesture, Receipt
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame, OnScreen
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.states import Recognizer, State, Text
from tests.support.painted_desktop import SIZE, WHOLE, PaintedDesktop

NAMES = ("nothing known", "menu", "form", "record", "tip", "working", "sign on", "filed")


def state(name: str, *, busy: bool = False) -> State:
    """Return the state of a screen. Its recognition rule does not matter to `Colours`."""
    return State(name, Text(name), busy=busy)


class ColouredProgram(PaintedDesktop):
    """``moves`` returns the screen after a gesture on a screen, or None if the screen stays."""

    def __init__(self, screen: str, moves: Callable[[str, Gesture], str | None] = lambda screen, gesture: None) -> None:
        super().__init__()
        self.screen, self._moves = screen, moves
        self.title, self.solid = "Program", True
        self.popups: list[str] = []
        self.looks = 0
        # A new popup window gets the keyboard, as under a window manager.
        self.owners = lambda at: Owner("/usr/bin/program", title=self.popups[-1] if self.popups else self.title)

    async def look(self, *, after_action: bool = False) -> Frame:
        self.looks += 1
        shade = 20 * NAMES.index(self.screen)
        windows = [OnScreen(WHOLE, (Owner("/usr/bin/program", title=self.title),), solid=True)]
        windows += [
            OnScreen(Box(9, 9, 9, 9), (Owner("/usr/bin/program", title=one),), self.solid) for one in self.popups
        ]
        windows += [OnScreen(Box(-9, -9, 1, 1), (Owner("/usr/bin/manager", title="Manager"),), True)]
        return Frame(bytes([shade]) * (SIZE.width * SIZE.height * 3), SIZE, self.display, windows=tuple(windows))

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        receipt = await super().do(gesture, deadline=deadline, input_permit=input_permit)
        self.screen = self._moves(self.screen, gesture) or self.screen
        return receipt

    def going(self, to: str) -> Callable[[], object]:
        """Return a coroutine function that shows another screen, for a way or an interruption's handler."""

        async def go() -> None:
            self.screen = to

        return go


class Colours(Recognizer):
    """Recognizes screens by their colours."""

    async def recognize(self, frame: Frame, states: Sequence[State]) -> State | None:
        name = NAMES[frame.rgb[0] // 20]
        return next((state for state in states if state.name == name), None)

    async def holds(self, frame: Frame, state: State) -> bool:
        return await self.recognize(frame, (state,)) is state
