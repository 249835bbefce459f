"""Where on the screen an element is: what a toolkit says, held against where the X server has the same window.

Toolkits tell positions in their own pixels (half as many under GDK_SCALE=2) or relative to their window; the X
server's geometry of the window tells the factor and the offset. Where the two do not fit together, nothing of that
window counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holo_tasks.core.geometry import Box, Size

SLACK = 3
"""Pixels that a frame may be off by: toolkits round, and leave a border out or in."""
LEAST_FACTOR, LARGEST_FACTOR = 0.5, 4.0
FURTHEST = 1 << 20
"""No screen reaches so far: what is told beyond it is made up."""
MOST_BOXES = 24
"""Of more areas than this that were drawn, the one around all of them counts."""
Extents = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class TopWindow:
    """A window that lies directly on the screen: its program's content, and that with the window manager's frame.

    ``pid`` is the process that the X server knows it from, zero if it knows none. ``solid`` says that it hides what is
    below. Of several the topmost stands last.
    """

    id: int
    pid: int
    title: str
    box: Box
    framed: Box
    solid: bool = True
    active: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """The screen as the X server tells it: its windows, the topmost last, and when it was painted last."""

    windows: tuple[TopWindow, ...]
    size: Size
    painted_ns: int
    """On the monotonic clock; of a screen that nobody can tell that of, now."""
    bound: Box | None = None
    """The part of the screen, a monitor, that is looked at; what lies elsewhere is not told."""
    at_ns: int = 0
    """When this was so; zero where nobody tells what was drawn."""
    drawn: tuple[tuple[int, Box], ...] = ()
    """What was drawn by then, and when, the latest last; all of it after ``told_from_ns``."""
    told_from_ns: int = 0
    anew: tuple[tuple[int, Box], ...] | None = None
    """What of that shows something else than before; None where nobody has compared it."""

    @property
    def area(self) -> Box:
        """The part of the screen that is looked at."""
        return self.bound or Box.whole(self.size)

    def drawn_since(self, ns: int, *, anew: bool = False) -> tuple[Box, ...] | None:
        """Return what was drawn after a moment, with ``anew`` what of it shows something else than before.

        None stands for that it is not known, but that something was drawn.
        """
        if not self.at_ns or ns < self.told_from_ns:
            return None if self.painted_ns > ns else ()
        drawn = self.anew if anew and self.anew is not None else self.drawn
        boxes = tuple(dict.fromkeys(box for at_ns, box in drawn if at_ns > ns))
        return boxes if len(boxes) <= MOST_BOXES else (Box.around(boxes),)

    def overlapped(self, pid: int) -> bool:
        """Say whether anything lies above a window of this process."""
        return any(
            window.pid == pid and window.framed.intersects(above.framed)
            for level, window in enumerate(self.windows)
            for above in self.windows[level + 1 :]
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """How to get from a window's own pixels to those of the screen."""

    factor: float
    right: float
    down: float
    level: int
    """Which of the windows it is, counted from the lowest."""

    def on_screen(self, told: Extents) -> Box:
        """Return the box that a toolkit told, in pixels of the screen."""
        left, top, width, height = told
        f = self.factor
        if f == 1:
            return Box(left + round(self.right), top + round(self.down), width, height)
        return Box.of_corners(
            round(left * f + self.right),
            round(top * f + self.down),
            round((left + width) * f + self.right),
            round((top + height) * f + self.down),
        )


def fit(told: Extents, name: str, pid: int, windows: Sequence[TopWindow], *, in_window: bool) -> Fit | None:
    """Return how a window of a tree lies on the screen; None if no window of that process is like it.

    With ``in_window`` positions are told relative to the window, so that its own says nothing.
    """
    if not sound(told):
        return None
    best: tuple[tuple[bool, ...], Fit] | None = None
    for level, window in enumerate(windows):
        if window.pid != pid:
            continue
        for area in dict.fromkeys((window.box, window.framed)):
            factor = _factor(told, area)
            if factor is None:
                continue
            left, top = (0, 0) if in_window else told[:2]
            right, down = area.left - left * factor, area.top - top * factor
            moved = not in_window and max(abs(right), abs(down)) > SLACK * max(1.0, factor)
            other_name = bool(name) and name != window.title
            rated = ((moved, other_name, factor != 1, area != window.box), Fit(factor, right, down, level))
            if not moved and not in_window:
                rated = (rated[0], Fit(factor, 0.0, 0.0, level))
            if best is None or rated[0] < best[0]:
                best = rated
    if best is None or (best[0][0] and best[0][1]):
        return None  # elsewhere, and called something else: that is another window
    return best[1]


def popup_fit(told: Extents, above: Extents, pid: int, windows: Sequence[TopWindow]) -> Fit | None:
    """Return how a popup of GTK 4 lies on the screen; None if not just one bare window of that process is like it.

    What is in the popup is told from the popup's corner as if that were the corner of what the popup is in (``above``).
    A popup fills its window up to the lower right corner.
    """
    if not sound(told) or not sound(above):
        return None
    left, top = told[0] - above[0], told[1] - above[1]
    found = [
        (level, window.box)
        for level, window in enumerate(windows)
        if window.pid == pid
        and window.box == window.framed
        and min(left, top) >= 0
        and abs(left + told[2] - window.box.width) <= SLACK
        and abs(top + told[3] - window.box.height) <= SLACK
    ]
    if len(found) != 1:
        return None
    ((level, box),) = found
    return Fit(1.0, box.left - above[0], box.top - above[1], level)


def place(box: Box, pid: int, windows: Sequence[TopWindow], area: Box) -> tuple[Box | None, bool]:
    """Return what of an element is in an area, and whether another program's window lies above its middle.

    It is looked for in the topmost window of its process there, as menus lie outside of the window they belong to.
    """
    seen = box.intersection(area)
    if seen is None:
        return None, False
    middle, covered = seen.center, False
    for window in reversed(windows):
        if window.pid == pid and window.framed.contains(middle):
            return seen.intersection(window.framed), covered
        covered = covered or (window.pid != pid and window.solid and window.framed.contains(middle))
    for window in reversed(windows):  # its middle is in none: it is what a window shows of it
        if window.pid == pid and (part := seen.intersection(window.framed)) is not None:
            return part, False
    return None, False


def sound(told: Extents) -> bool:
    """Say whether extents can be those of anything."""
    left, top, width, height = told
    return 0 < width < FURTHEST and 0 < height < FURTHEST and abs(left) < FURTHEST and abs(top) < FURTHEST


def _factor(told: Extents, area: Box) -> float | None:
    """Return how many pixels of the screen one of the toolkit's is; None if it is not the same in both directions."""
    across, down = area.width / told[2], area.height / told[3]
    if max(abs(area.width - told[2]), abs(area.height - told[3])) <= SLACK:
        return 1.0
    factor = round(4 * (across + down) / 2) / 4
    for one in (factor, (across + down) / 2):
        if LEAST_FACTOR <= one <= LARGEST_FACTOR:
            off = max(abs(told[2] * one - area.width), abs(told[3] * one - area.height))
            if off <= SLACK * max(1.0, one):
                return one
    return None
