"""A desktop that is a picture in memory, for tests of the loop without an X server."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container

from PIL import Image, ImageDraw

from holo_tasks.core.input.gestures import Gesture, Receipt
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size

SIZE = Size(320, 200)
WHOLE = Box(0, 0, SIZE.width, SIZE.height)


class PaintedDesktop:
    """Shows the number of gestures it received. ``on_gesture`` may refuse a gesture by raising.

    ``owners`` returns the owner of the window at a point; by default one program owns the whole screen.
    """

    display = ":painted"

    def __init__(self, on_gesture: Callable[[Gesture], None] | None = None, *, frozen: bool = False) -> None:
        self.gestures: list[Gesture] = []
        self.deadlines: list[float | None] = []
        self.slips: list[InputPermit | None] = []
        self.owners: Callable[[Point | None], Owner] = lambda at: Owner("/usr/bin/painted", box=WHOLE)
        self._on_gesture = on_gesture
        self._frozen = frozen
        self.still: Container[int] = ()
        """The numbers of the gestures that change nothing, counted from one."""

    async def look(self, *, after_action: bool = False) -> Frame:
        shown = 0 if self._frozen else sum(number not in self.still for number in range(1, len(self.gestures) + 1))
        return Frame(rgb=_painted(f"gestures: {shown}"), size=SIZE, display=self.display)

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        if self._on_gesture:
            self._on_gesture(gesture)
        self.gestures.append(gesture)
        self.deadlines.append(deadline)
        self.slips.append(input_permit)
        return Receipt(done_at_ns=0, took_ns=1000, events=3)

    async def owner_at(self, at: Point | None) -> Owner:
        return self.owners(at)

    async def close(self) -> None:
        pass


@functools.cache
def _painted(text: str) -> bytes:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    ImageDraw.Draw(image).text((20, 20), text, fill="black")
    return image.tobytes()
