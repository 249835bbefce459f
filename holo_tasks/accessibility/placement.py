"""Compute where on the screen an element is, from the toolkit's extents and the X server's windows.

Toolkits report positions in their own pixels (half as many under GDK_SCALE=2) or relative to their window. The X
server's geometry of the window gives the factor and the offset. If the two do not match, no element of the window gets
a box. `fit` and `place` are the main functions; `assembly` calls them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from holo_tasks.core.screen.geometry import Box, Size

SLACK = 3
"""Pixels by which extents and geometry may differ: toolkits round, and may or may not include a border."""
ROUNDED = 1.5
"""Pixels by which the options of a list may be apart from equal rows, because their edges are rounded."""
WIDEST_BORDER = 32
"""Most pixels of a program between the edge of its window and the window's content."""
LEAST_FACTOR, LARGEST_FACTOR = 0.5, 4.0
COORDINATE_LIMIT = 1 << 20
"""Coordinates and sizes in pixels from here on are invalid, because no screen is that large."""
MOST_BOXES = 24
"""Most repainted boxes that are kept separately; with more, the box around them all counts."""
Extents = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class TopWindow:
    """A child of the root window: the box of its program's content, and the box with the window manager's frame.

    ``pid`` is the process that the X server knows for it, zero if unknown. ``solid`` is true if it hides the windows
    below.
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
    """The screen by the X server: its windows, the topmost last, and its last repaints."""

    windows: tuple[TopWindow, ...]
    size: Size
    painted_ns: int
    """Time of the last repaint (monotonic nanoseconds); the current time if that is unknown."""
    bound: Box | None = None
    """The monitor to which the desktop is bound, if any; elements elsewhere are left out."""
    at_ns: int = 0
    """When this view was taken; zero if repaints are not reported."""
    drawn: tuple[tuple[int, Box], ...] = ()
    """The repaints until then with their times, the latest last. They are complete from ``told_from_ns`` on."""
    told_from_ns: int = 0
    anew: tuple[tuple[int, Box], ...] | None = None
    """The repainted parts whose pixels changed; ``None`` if they were not compared."""

    @property
    def area(self) -> Box:
        """Return the part of the screen whose elements are reported."""
        return self.bound or Box.whole(self.size)

    def drawn_since(self, ns: int, *, anew: bool = False) -> tuple[Box, ...] | None:
        """Return the boxes that were repainted after ``ns``; with ``anew`` only the parts whose pixels changed.

        Returns ``None`` if something was repainted but the boxes are unknown.
        """
        if not self.at_ns or ns < self.told_from_ns:
            return None if self.painted_ns > ns else ()
        drawn = self.anew if anew and self.anew is not None else self.drawn
        boxes = tuple(dict.fromkeys(box for at_ns, box in drawn if at_ns > ns))
        return boxes if len(boxes) <= MOST_BOXES else (Box.around(boxes),)

    def overlapped(self, pid: int) -> bool:
        """Return whether any window overlaps a window of this process from above."""
        return any(
            window.pid == pid and window.framed.intersects(above.framed)
            for level, window in enumerate(self.windows)
            for above in self.windows[level + 1 :]
        )


@dataclass(frozen=True, slots=True)
class WindowScale:
    """The factor and offset from a toolkit's pixels to those of the screen, for one window."""

    factor: float
    right: float
    down: float
    level: int
    """Index of the window in `View.windows`."""

    def on_screen(self, reported: Extents) -> Box:
        """Return a toolkit's extents as a box in screen pixels."""
        left, top, width, height = reported
        f = self.factor
        if f == 1:
            return Box(left + round(self.right), top + round(self.down), width, height)
        return Box.of_corners(
            round(left * f + self.right),
            round(top * f + self.down),
            round((left + width) * f + self.right),
            round((top + height) * f + self.down),
        )


def fit(reported: Extents, name: str, pid: int, windows: Sequence[TopWindow], *, in_window: bool) -> WindowScale | None:
    """Return the fit of a tree's window to a window of the X server, or ``None`` if no window of the process matches.

    With ``in_window`` positions are relative to the window, so the window's own position means nothing.
    """
    if not are_plausible(reported):
        return None
    best: tuple[tuple[bool, ...], WindowScale] | None = None
    for level, window in enumerate(windows):
        if window.pid != pid:
            continue
        for area in dict.fromkeys((window.box, window.framed)):
            border = _border(reported, area) if in_window else None
            factor = _factor(reported, area) if border is None else border[0]
            if factor is None:
                continue
            left, top = (0, 0) if in_window else reported[:2]
            wide = 0.0 if border is None else border[1]
            right, down = area.left - left * factor + wide, area.top - top * factor + wide
            moved = not in_window and max(abs(right), abs(down)) > SLACK * max(1.0, factor)
            other_name = bool(name) and name != window.title
            rated = (
                (moved, other_name, factor != 1 or wide > 0, area != window.box),
                WindowScale(factor, right, down, level),
            )
            if not moved and not in_window:
                rated = (rated[0], WindowScale(factor, 0.0, 0.0, level))
            if best is None or rated[0] < best[0]:
                best = rated
    if best is None or (best[0][0] and best[0][1]):
        return None  # position and title both differ, so it is another window
    return best[1]


def popup_fit(reported: Extents, above: Extents, pid: int, windows: Sequence[TopWindow]) -> WindowScale | None:
    """Return the fit of a popup of GTK 4, or ``None`` unless exactly one window without a frame matches.

    GTK 4 reports positions in a popup from the popup's corner, but adds the corner of the popup's parent (``above``). A
    popup reaches to the lower right corner of its window.
    """
    if not are_plausible(reported) or not are_plausible(above):
        return None
    left, top = reported[0] - above[0], reported[1] - above[1]
    found = [
        (level, window.box)
        for level, window in enumerate(windows)
        if window.pid == pid
        and window.box == window.framed
        and min(left, top) >= 0
        and abs(left + reported[2] - window.box.width) <= SLACK
        and abs(top + reported[3] - window.box.height) <= SLACK
    ]
    if len(found) != 1:
        return None
    ((level, box),) = found
    return WindowScale(1.0, box.left - above[0], box.top - above[1], level)


def list_fit(options: Sequence[Extents | None], pid: int, windows: Sequence[TopWindow]) -> WindowScale | None:
    """Return the fit of the options of an open list by its window, or ``None`` unless exactly one window matches.

    The window has no frame, the height of all options together, and their left edge. Only its top may differ. The
    options are equal rows. Those after the first may have no extents, if the page would cut them off.
    """
    known = [(place, each) for place, each in enumerate(options) if each is not None and are_plausible(each)]
    if not known or known[0][0]:
        return None
    (_, (left, top, _, high)), (last, lowest) = known[0], known[-1]
    step = (lowest[1] - top) / last if last else float(high)
    if any(max(abs(each[1] - top - place * step), abs(each[3] - step)) > ROUNDED for place, each in known):
        return None
    height = round(step * len(options))
    found = [
        (level, window.box)
        for level, window in enumerate(windows)
        if window.pid == pid
        and window.box == window.framed
        and abs(window.box.left - left) <= SLACK
        and 0 <= window.box.height - height <= 2 * SLACK
    ]
    if len(found) != 1:
        return None
    ((level, box),) = found
    return WindowScale(1.0, 0.0, box.top + (box.height - height) // 2 - top, level)


def place(
    box: Box, pid: int, windows: Sequence[TopWindow], area: Box, above: Collection[int] = ()
) -> tuple[Box | None, bool]:
    """Return the part of an element in an area, and whether another window covers its middle.

    The element counts to the topmost window of its process at that point, because menus lie outside of their window.
    ``above`` has the indexes of windows of its process that lie over its own window and hold none of its parts.
    """
    seen = box.intersection(area)
    if seen is None:
        return None, False
    middle, covered = seen.center, False
    for level, window in reversed(tuple(enumerate(windows))):
        if not window.framed.contains(middle):
            continue
        if window.pid == pid and level not in above:
            return seen.intersection(window.framed), covered
        covered = covered or level in above or window.solid
    for window in reversed(windows):  # no window contains its middle: take the part inside the topmost window
        if window.pid == pid and (part := seen.intersection(window.framed)) is not None:
            return part, False
    return None, False


def are_plausible(reported: Extents) -> bool:
    """Return whether extents have a positive size and plausible coordinates."""
    left, top, width, height = reported
    return (
        0 < width < COORDINATE_LIMIT
        and 0 < height < COORDINATE_LIMIT
        and abs(left) < COORDINATE_LIMIT
        and abs(top) < COORDINATE_LIMIT
    )


def _border(reported: Extents, area: Box) -> tuple[float, float] | None:
    """Return the factor of a window and the width of the border around its content, in screen pixels.

    GTK 4 draws the frame of some windows in the window itself, and reports its content only. Its factors are whole
    numbers. Returns ``None`` without a border of one width on all sides.
    """
    for factor in range(1, int(LARGEST_FACTOR) + 1):
        across, down = area.width - factor * reported[2], area.height - factor * reported[3]
        if across == down and SLACK < across <= 2 * WIDEST_BORDER * factor:
            return float(factor), across / 2
    return None


def _factor(reported: Extents, area: Box) -> float | None:
    """Return the number of screen pixels for one pixel of the toolkit; ``None`` if it differs by direction."""
    across, down = area.width / reported[2], area.height / reported[3]
    if max(abs(area.width - reported[2]), abs(area.height - reported[3])) <= SLACK:
        return 1.0
    factor = round(4 * (across + down) / 2) / 4
    for one in (factor, (across + down) / 2):
        if LEAST_FACTOR <= one <= LARGEST_FACTOR:
            off = max(abs(reported[2] * one - area.width), abs(reported[3] * one - area.height))
            if off <= SLACK * max(1.0, one):
                return one
    return None
