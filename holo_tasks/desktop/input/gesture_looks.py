"""Looks at the screen during a gesture, because the effect of its first press was not in the frame it was decided on.

They are taken only for gestures that were decided on by a frame. Their pixels stay in the host process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.likeness import differs, rows_to_compare
from holo_tasks.core.screen.recheck import Strip
from holo_tasks.desktop.capture.liveness_ping import Pinger
from holo_tasks.desktop.capture.recent_frames import top_at
from holo_tasks.desktop.capture.repaints import Repaints
from holo_tasks.desktop.capture.screen import Screen
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.x11.windows import box
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

LEAST_NS = 100_000_000
"""Shortest wait after a press. A browser answers that it has read a press long before its page shows the effect."""
QUIET_NS = 40_000_000
SHOWN_NS = 300_000_000
"""Longest wait for a screen that keeps moving. Two presses further apart are no longer a double click."""
HOVER_NS, HOVERED_NS = 60_000_000, 200_000_000
"""Longest wait for the first repaint after the pointer has moved, and for the last one."""
SIDE = 48
"""Distance from the pointer in pixels within which a dragged object shows."""
BUSY_NS = 1_500_000_000
"""Longest wait for a program that does not answer. The next press would reach whatever the program shows then."""


@dataclass(frozen=True, slots=True)
class EarlierPoint:
    """A point at an earlier moment: the pixels around it, and the top-level window there."""

    at: Point
    strip: Strip
    window: int


@dataclass(frozen=True, slots=True)
class PointView:
    """The exact pixels around a point, and the top-level window there."""

    at: Point
    box: Box
    pixels: bytes
    window: int


class PointChecker:
    """Looks at single points of one screen."""

    def __init__(self, link: XConnection, screen: Screen, pulse: Pinger, repaints: Repaints, gate: Gate) -> None:
        self._link = link
        self._screen = screen
        self._pulse = pulse
        self._repaints = repaints
        self._gate = gate

    def at(self, point: Point) -> EarlierPoint | None:
        """Look at a point.

        Returns ``None`` if the gesture was not decided on by a frame, so that nothing is compared.
        """
        if not self._gate.decided:
            return None
        return EarlierPoint(point, self._screen.strip(*rows_to_compare(point)), top_at(self._link, point))

    def around(self, point: Point) -> PointView:
        """Return the pixels close to a point, where a dragged object would show."""
        box = Box.near(point, SIDE, SIDE).cut_to(Box.whole(self._link.size()))
        try:
            return PointView(point, box, self._link.pixels(box), top_at(self._link, point))
        except Refused:  # the screen was resized meanwhile
            return PointView(point, box, b"", 0)

    def await_manager(self) -> None:
        """Wait until the window manager, which holds presses back, has passed the last one on."""
        self._pulse.await_manager()

    def await_hover(self, moved_ns: int) -> None:
        """Wait until a program has drawn what the arrival of the pointer changes, such as a list that it sorts anew."""
        while True:
            self._gate.check()
            drawn = [repaint.at_ns for repaint in self._repaints.latest() if repaint.at_ns > moved_ns]
            end = min(drawn[-1] + QUIET_NS, moved_ns + HOVERED_NS) if drawn else moved_ns + HOVER_NS
            if (left := end - time.monotonic_ns()) <= 0:
                return
            self._repaints.wait(left)

    def await_answer(self, pressed_ns: int, *, other_than: PointView | None = None) -> bool:
        """Wait until the effect of a press shows. Return false if the program is too busy to show it.

        With ``other_than``, a program whose picture at that point is still the same also counts as busy. A browser
        answers for its pages, even for a page that has read nothing yet. At times it redraws such a page unchanged.
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

    def another_window(self, before: EarlierPoint) -> bool:
        """Return whether another top-level window is at the point now."""
        return top_at(self._link, before.at) != before.window

    def changed(self, before: EarlierPoint, *, near: bool = False) -> bool:
        """Return whether another window, or another text or symbol, is at the point now; ``near`` as in `differs`."""
        if self.another_window(before):
            return True
        now = self._screen.strip(*rows_to_compare(before.at))
        return now.size != before.strip.size or differs(before.strip, now, before.at, near=near)

    def place(self, at: Point) -> tuple[int, Box | None]:
        """Return the top-level window at a point, and its box. A dragged object moves with it."""
        window = top_at(self._link, at)
        try:
            return window, box(self._link, window) if window else None
        except Refused:
            return window, None
