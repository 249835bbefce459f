"""Judge the effect of an action on the screen by comparing settled frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from PIL import Image, ImageChops

from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Move, Scroll, Write
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.recheck import CARET_TALL, CARET_WIDE

Outcome: TypeAlias = Literal["changed", "elsewhere", "unchanged", "unsettled", "wrong_state"]
AROUND = 60
"""Pixels around the target within which an action should show: a pressed button, a caret, a menu."""

ROWS = 32
"""Rows that are compared at once."""


@dataclass(frozen=True)
class Verdict:
    """The effect of an action. ``box`` bounds every pixel that differs, in screen pixels; ``None`` if nothing changed.

    The outcome ``elsewhere`` means that the change is not near the target of the keys (``keys``) or the pointer.
    """

    outcome: Outcome
    box: Box | None
    keys: bool = False

    @property
    def sentence(self) -> str:
        """The sentence about the effect that the model gets."""
        match self.outcome:
            case "unchanged":
                return "The screen did not change."
            case "unsettled":
                return "The screen is still changing."
            case "elsewhere":
                where = "in the window you wrote into" if self.keys else "where you clicked"
                return f"The screen changed, but not {where}."
            case "wrong_state":
                return "The screen changed, but it is not the expected screen."
            case _:
                return "The screen changed."


@dataclass(frozen=True)
class Expected:
    """Where an action should show: near its points or, if it was typed, in its window. Without boxes, anywhere."""

    boxes: tuple[Box, ...] = ()
    keys: bool = False


ANYWHERE = Expected()


def expected(gesture: Gesture, window: Box | None = None) -> Expected:
    """Return where an action should show. ``window`` is the window that had the focus before, if known."""
    match gesture:
        case Click(at=Point() as at) | Scroll(at=Point() as at) | Move(to=at) | Write(at=Point() as at):
            return Expected((Box.near(at, AROUND, AROUND),))
        case Drag(start, end):
            return Expected((Box.near(start, AROUND, AROUND), Box.near(end, AROUND, AROUND)))
        case Write() | Hotkey() | HoldAndTap() if window is not None:
            return Expected((window,), keys=True)
        case _:
            return Expected()


def judge(before: Frame, after: Frame, where: Expected = ANYWHERE) -> Verdict:
    """Compare two frames pixel by pixel. Frames of different sizes differ as a whole.

    A text caret that appeared or disappeared is not a change, unless a change is expected there.
    """
    box = changed_box(before, after)
    if not after.settled:
        return Verdict("unsettled", box, where.keys)
    if box is None:
        return Verdict("unchanged", box)
    if where.boxes and not any(box.intersects(expected) for expected in where.boxes):
        blinked = box.width <= CARET_WIDE and box.height <= CARET_TALL
        return Verdict("unchanged" if blinked else "elsewhere", box, where.keys)
    return Verdict("changed", box)


def changed_box(before: Frame, after: Frame) -> Box | None:
    """Return the smallest box around every pixel that differs, or ``None``."""
    if before.size != after.size:
        return Box.whole(after.size)
    if before.rgb == after.rgb:
        return None
    first, last = _rows(before.rgb, after.rgb, 3 * after.size.width)
    shape, part = (after.size.width, last - first), slice(3 * after.size.width * first, 3 * after.size.width * last)
    difference = ImageChops.difference(
        Image.frombuffer("RGB", shape, before.rgb[part], "raw", "RGB", 0, 1),
        Image.frombuffer("RGB", shape, after.rgb[part], "raw", "RGB", 0, 1),
    )
    found = difference.getbbox()
    assert found is not None
    left, top, right, bottom = found
    return Box(left, first + top, right - left, bottom - top)


def changed_outside(before: Frame, after: Frame, boxes: Iterable[Box]) -> bool:
    """Say whether anything differs outside these boxes."""
    if before.size != after.size:
        return True
    width, rgb = after.size.width, bytearray(after.rgb)
    for box in filter(None, (each.clipped(after.size) for each in boxes)):
        for row in range(box.top, box.bottom):
            part = slice(3 * (row * width + box.left), 3 * (row * width + box.right))
            rgb[part] = before.rgb[part]
    return rgb != before.rgb


def _rows(before: bytes, after: bytes, length: int) -> tuple[int, int]:
    """Return the first row that differs and the row after the last one.

    Comparing rows as bytes is much faster than comparing all pixels. Many rows are compared at once, and single rows
    only where these differ.
    """

    def differs(start: int, size: int) -> bool:
        return before[start : start + size] != after[start : start + size]

    size = ROWS * length
    parts = range(0, len(after), size)
    top = next(start for start in parts if differs(start, size))
    bottom = next(start for start in reversed(parts) if differs(start, size))
    first = next(start for start in range(top, len(after), length) if differs(start, length))
    below = range(bottom, min(bottom + size, len(after)), length)
    last = next(start for start in reversed(below) if differs(start, length))
    return first // length, last // length + 1
