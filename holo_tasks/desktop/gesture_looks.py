"""Looks that are taken while a gesture is under way: what its first press brings up was not there to be decided on.

They are for gestures that were decided on by a picture. What is looked at stays in the process that owns the screen.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.likeness import differs, rows
from holo_tasks.core.recheck import Strip
from holo_tasks.desktop.gate import Gate
from holo_tasks.desktop.liveness_ping import Pulse
from holo_tasks.desktop.recent_frames import top_at
from holo_tasks.desktop.repaints import Repaints
from holo_tasks.desktop.screen import Screen
from holo_tasks.desktop.windows import box
from holo_tasks.desktop.xlink import Refused, XLink

LEAST_NS = 100_000_000
"""A browser says that it has read a press long before its page has shown what that does."""
QUIET_NS = 40_000_000
SHOWN_NS = 300_000_000
"""What moves by itself is not waited for longer than this: two presses further apart are no double click."""
SIDE = 48
"""What is dragged shows no further away from the pointer than this, in pixels."""
BUSY_NS = 1_500_000_000
"""A program that does not answer is given this long, for the next press would reach whatever it shows then."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A point as it was: what could be seen around it, and which window directly on the screen was there."""

    at: Point
    strip: Strip
    window: int


@dataclass(frozen=True, slots=True)
class Sight:
    """What shows around a point, to the pixel, and which window directly on the screen is there."""

    at: Point
    box: Box
    pixels: bytes
    window: int


class Glance:
    """Takes looks at single points of one screen."""

    def __init__(self, link: XLink, screen: Screen, pulse: Pulse, repaints: Repaints, gate: Gate) -> None:
        self._link = link
        self._screen = screen
        self._pulse = pulse
        self._repaints = repaints
        self._gate = gate

    def at(self, point: Point) -> Spot | None:
        """Look at a point; None if the gesture was not decided on by a picture, so that nothing is to be compared."""
        if not self._gate.decided:
            return None
        return Spot(point, self._screen.strip(*rows(point)), top_at(self._link, point))

    def around(self, point: Point) -> Sight:
        """Look at what is close to a point, where a thing would show that is dragged there."""
        box = Box.near(point, SIDE, SIDE).cut_to(Box.whole(self._link.size()))
        try:
            return Sight(point, box, self._link.pixels(box), top_at(self._link, point))
        except Refused:  # the screen has another size by now
            return Sight(point, box, b"", 0)

    def await_manager(self) -> None:
        """Wait until the window manager, which holds presses back, has let the last one through."""
        self._pulse.await_manager()

    def await_answer(self, pressed_ns: int, *, other_than: Sight | None = None) -> bool:
        """Wait until what a press does is to be seen; false if the program is too busy to say.

        A program that shows nothing other than before where it is to show an answer is busy too: a browser answers for
        its pages, also for one that has read nothing yet, and at times draws all of such a page anew as it was.
        """
        ping = self._pulse.ask()
        answered, seen_ns = None, 0
        blank = other_than is not None
        while True:
            self._gate.check()
            if ping is not None and answered is None:
                answered = self._pulse.answered(ping)
            repaints = [repaint for repaint in self._repaints.latest() if repaint.at_ns > pressed_ns]
            drawn = [repaint.at_ns for repaint in repaints[-1:]]
            if blank and other_than is not None and drawn and drawn[0] != seen_ns:
                seen_ns, blank = drawn[0], self.around(other_than.at) == other_than
            busy = blank or (ping is not None and answered is None)
            rested = max([pressed_ns + LEAST_NS, *(since + QUIET_NS for since in (*drawn, answered or 0))])
            end = pressed_ns + BUSY_NS if busy else min(rested, max(pressed_ns, answered or 0) + SHOWN_NS)
            if (left := end - time.monotonic_ns()) <= 0:
                return not busy
            self._repaints.wait(min(left, 20_000_000), serial=ping.serial if ping and answered is None else None)

    def another_window(self, before: Spot) -> bool:
        """Say whether another window is where one was."""
        return top_at(self._link, before.at) != before.window

    def changed(self, before: Spot, *, near: bool = False) -> bool:
        """Say whether another window, or another text or sign, is by now where one was; ``near`` as in `differs`."""
        if self.another_window(before):
            return True
        now = self._screen.strip(*rows(before.at))
        return now.size != before.strip.size or differs(before.strip, now, before.at, near=near)

    def place(self, at: Point) -> tuple[int, Box | None]:
        """Return the window directly on the screen at a point, and where it is; a thing that is dragged moves along."""
        window = top_at(self._link, at)
        try:
            return window, box(self._link, window) if window else None
        except Refused:
            return window, None
