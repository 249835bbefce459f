"""Check right before input that its target still looks as it did when the input was decided on.

`change_at_target` does it for the process that owns the mouse and keyboard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from PIL import Image, ImageChops

from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Scroll, Write
from holo_tasks.core.screen.geometry import Box, Point, Size

NEAR = 24
"""No pixel within this distance of a point may differ."""
ROW = 12
"""Nothing in the same row, up to this many pixels above and below, may differ: list rows may have moved."""
CARET_WIDE, CARET_SHORT, CARET_TALL, CARET_FULL = 4, 10, 64, 0.8
"""Shape of a blinking text caret: its largest width, its least and largest height in pixels, and the share it fills.

A last digit that changed may be as narrow, but it does not fill its box.
"""
BAR_WIDE, BAR_TALL = 16, 64
"""Shape of a scroll bar that fades in or out: its largest width and its least height in pixels."""
LARGE = 0.2
"""Keys are sent if less than this share of their window differs."""


class Pixels(Protocol):
    """A picture of a screen of this size, or its rows from ``top`` on.

    ``bgrx`` is in the X server's format: blue, green, red and an unused byte for each pixel.
    """

    @property
    def size(self) -> Size: ...

    @property
    def top(self) -> int: ...

    @property
    def bgrx(self) -> bytes | bytearray: ...


@dataclass(frozen=True, slots=True)
class Strip:
    """Some rows of a screen of this size, from ``top`` on."""

    size: Size
    bgrx: bytes | bytearray
    top: int


@dataclass(frozen=True)
class StackedWindow:
    """A top-level window by its number, including its frame."""

    window: int
    box: Box


@dataclass(frozen=True)
class WindowStack:
    """The windows on a screen, the lowest first, and the number of the focused one (0 for none)."""

    panes: tuple[StackedWindow, ...] = ()
    focus: int = 0

    def under(self, at: Point) -> StackedWindow | None:
        """Return the topmost window at a point, or ``None``."""
        return next((pane for pane in reversed(self.panes) if pane.box.contains(at)), None)


@dataclass(frozen=True)
class Sighting:
    """The pixels and windows of a screen at one moment."""

    pixels: Pixels
    windows: WindowStack


@dataclass(frozen=True)
class InputTarget:
    """The target of input: the points at which the pointer acts or, without points, the focused window.

    ``clicked`` is the last click into that window, if known.
    """

    points: tuple[Point, ...] = ()
    clicked: Point | None = None


Restless = Mapping[Box, frozenset[int]]
"""Columns of the screen inside a box that cannot have been read. Changes there do not count, except near a
target point.
"""


def aim(gesture: Gesture, clicked: Point | None = None) -> InputTarget | None:
    """Return the target of a gesture, or ``None`` if it presses nothing."""
    match gesture:
        case Click(at=Point() as at) | Scroll(at=Point() as at) | Write(at=Point() as at):
            return InputTarget((at,))
        case Drag(start, end):
            return InputTarget((start, end))
        case Write() | Hotkey() | HoldAndTap():
            return InputTarget(clicked=clicked)
        case _:
            return None


def change_at_target(before: Sighting, now: Sighting, where: InputTarget, restless: Restless | None = None) -> str:
    """Return a short description of a change at the target; empty if the input may be sent."""
    if before.pixels.size != now.pixels.size:
        return "the screen has another size"
    for point in where.points:
        if _window_number(before.windows.under(point)) != _window_number(now.windows.under(point)):
            return "another window is there"
    if before.windows.focus != now.windows.focus:
        return "another window has the keyboard"
    first, last = rows(now.windows, now.pixels.size, where)
    if _row_bytes(before.pixels, first, last) == _row_bytes(now.pixels, first, last):
        return ""
    screen = Box.whole(now.pixels.size)
    for point in where.points:
        if _difference(before, now, Box.near(point, NEAR, NEAR).cut_to(screen)).getbbox() is not None:
            return "it looks different there"
    for area in areas(now, where):
        left = changed_columns(before, now, area) - (restless or {}).get(area, frozenset())
        left -= _scroll_bars(before, now, left)
        if left and where.points and not _is_caret(before, now, area, left):
            return "its row looks different"
        if left and not where.points and (different := _window_change(before, now, where.clicked, area, left)):
            return different
    return ""


def has_changed(before: Sighting, now: Sighting, boxes: Iterable[Box], but: Iterable[Box] = ()) -> bool:
    """Return whether any of these boxes looks different. Text carets and the boxes ``but`` do not count."""
    if before.pixels.size != now.pixels.size:
        return True
    whole, left_out = Box.whole(now.pixels.size), list(but)
    return any(_looks_different(before, now, area, left_out) for box in boxes if (area := box.cut_to(whole)).area)


def _looks_different(before: Sighting, now: Sighting, area: Box, but: Iterable[Box]) -> bool:
    difference = _difference(before, now, area)
    for part_of in (part_of for box in but if (part_of := box.intersection(area)) is not None):
        left, top, right, bottom = part_of.moved(-area.left, -area.top).corners
        difference.paste((0, 0, 0), (left, top, right, bottom))
    across, _ = difference.getprojection()
    columns = frozenset(area.left + x for x, differs in enumerate(across) if differs)
    return bool(columns) and not _is_caret(before, now, area, columns)


def _window_change(before: Sighting, now: Sighting, clicked: Point | None, area: Box, left: frozenset[int]) -> str:
    """Return a short description of a change in the window that gets keys; empty if they may be sent.

    Only changes in the columns ``left`` count.
    """
    if _changed_share(before, now, area, left) > LARGE:
        return "its window looks different"
    if clicked is None or not area.contains(clicked):
        return ""
    screen = Box.whole(now.pixels.size)
    for box in (Box.near(clicked, NEAR, NEAR).cut_to(screen), _row_box(clicked, area)):
        columns = changed_columns(before, now, box) & left
        if columns and not _is_caret(before, now, box, columns):
            return "it looks different there"
    return ""


def areas(now: Sighting, where: InputTarget) -> list[Box]:
    """Return the areas to compare in addition to the points: their rows, as wide as their windows, or the focused
    window."""
    screen = Box.whole(now.pixels.size)
    if where.points:
        panes = [(point, now.windows.under(point)) for point in where.points]
        return [_row_box(point, pane.box.cut_to(screen) if pane else screen) for point, pane in panes]
    return [focused_box(now.windows, screen)]


def focused_box(windows: WindowStack, screen: Box) -> Box:
    """Return the box of the focused window, or the whole screen if it is unknown."""
    boxes = [pane.box for pane in windows.panes if pane.window == windows.focus]
    return boxes[0].cut_to(screen) if boxes else screen


def rows(windows: WindowStack, size: Size, where: InputTarget) -> tuple[int, int]:
    """Return the first row of the screen to compare and the row after the last."""
    screen = Box.whole(size)
    boxes = [Box(0, point.y, 1, 1) for point in where.points] or [focused_box(windows, screen)]
    reach = max(NEAR, ROW + CARET_TALL)
    first, last = min(box.top for box in boxes) - reach, max(box.bottom for box in boxes) + reach
    return max(0, first), min(size.height, last)


def changed_columns(before: Sighting, now: Sighting, area: Box) -> frozenset[int]:
    """Return the columns of the screen with a difference inside an area."""
    across, _ = _difference(before, now, area).getprojection()
    return frozenset(area.left + x for x, differs in enumerate(across) if differs)


def _changed_share(before: Sighting, now: Sighting, area: Box, columns: frozenset[int]) -> float:
    """Return the share of an area that is covered by the box around the differences in these columns."""
    _, top, _, bottom = _difference(before, now, area).getbbox() or (0, 0, 0, 0)
    return (max(columns) + 1 - min(columns)) * (bottom - top) / (area.width * area.height)


def _scroll_bars(before: Sighting, now: Sighting, columns: frozenset[int]) -> frozenset[int]:
    """Return those of some columns whose differences are a scroll bar that fades in or out: narrow, tall, without gaps.

    Many toolkits draw one over the contents after each movement of the pointer, and remove it a second later.
    """
    narrow = [(left, right) for left, right in _runs(columns) if right - left <= BAR_WIDE]
    if not narrow:
        return frozenset()
    width, found = now.pixels.size.width, set[int]()
    difference = _difference(before, now, Box(0, now.pixels.top, width, len(now.pixels.bgrx) // (4 * width)))
    for left, right in narrow:
        _, down = difference.crop((left, 0, right, difference.height)).getprojection()
        height = len(bytes(down).strip(b"\0"))
        if height >= BAR_TALL and sum(map(bool, down)) == height:
            found.update(range(left, right))
    return frozenset(found)


def _runs(columns: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first column of each run of adjacent columns, and the one after its last."""
    runs: list[tuple[int, int]] = []
    for column in sorted(columns):
        if runs and runs[-1][1] == column:
            runs[-1] = (runs[-1][0], column + 1)
        else:
            runs.append((column, column + 1))
    return runs


def _is_caret(before: Sighting, now: Sighting, area: Box, columns: frozenset[int]) -> bool:
    """Return whether the differences in these columns are a text caret, which may extend beyond the area."""
    left, right = min(columns), max(columns) + 1
    if right - left > CARET_WIDE:
        return False
    size = now.pixels.size
    top, bottom = max(0, area.top - CARET_TALL), min(size.height, area.bottom + CARET_TALL)
    top, bottom = max(top, now.pixels.top), min(bottom, now.pixels.top + len(now.pixels.bgrx) // (4 * size.width))
    difference = _difference(before, now, Box.of_corners(left, top, right, bottom))
    box = difference.getbbox() or (0, 0, 0, 0)
    bar = difference.crop(box)
    red, green, blue = bar.split()
    same = ImageChops.lighter(ImageChops.lighter(red, green), blue).histogram()[0]
    return CARET_SHORT <= bar.height <= CARET_TALL and bar.width * bar.height * (1 - CARET_FULL) >= same


def _difference(before: Sighting, now: Sighting, area: Box) -> Image.Image:
    return ImageChops.difference(part(before.pixels, area), part(now.pixels, area))


def part(pixels: Pixels, area: Box) -> Image.Image:
    """Return a part of a picture as an image. Only its rows are decoded."""
    lines = _row_bytes(pixels, area.top, area.bottom)
    image = Image.frombuffer("RGB", (pixels.size.width, area.height), lines, "raw", "BGRX", 0, 1)
    return image.crop((area.left, 0, area.right, area.height))


def _row_bytes(pixels: Pixels, first: int, last: int) -> bytes | bytearray:
    line = 4 * pixels.size.width
    return pixels.bgrx[(first - pixels.top) * line : (last - pixels.top) * line]


def _row_box(point: Point, inside: Box) -> Box:
    return Box(inside.left, point.y - ROW, inside.width, 2 * ROW + 1).cut_to(inside)


def _window_number(pane: StackedWindow | None) -> int:
    return pane.window if pane else 0
