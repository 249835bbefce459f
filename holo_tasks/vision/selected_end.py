"""Find a text that a program completed during the typing: the added end is selected, so it has another paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.colors import most_common

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

COLORS, SHADE = 12, 16
"""How many of the most common new colors may be the paper of a selection, and how much two papers differ at least."""
LEAST_WIDE, LEAST_HIGH, MOST_HIGH, FULL = 8, 9, 60, 0.45
"""The size of a selection in a line of text, and the paper's share in it."""
REACH, GAP = 400, 24
"""How far left of a selection the text may begin, and the widest gap in it."""
FRAME = 4
"""How wide the frame of a cell may be, in pixels. A long completed text is cut off there, over a part of the frame."""
BESIDE = 3
"""The widest gap between the typed text and its selected end, in pixels. A badge next to a text is farther away."""


def selected_end(before: Pixels, after: Pixels) -> Box | None:
    """Return the box of a new text whose end is selected; ``None`` without one, or with several.

    The place was blank before, and the end follows the text at once. A row that a search marks keeps its text, and a
    colored badge is apart from its text.
    """
    changed = (before != after).any(axis=2)
    found = [box for end in _selections(after, changed) if (box := _with_text(before, after, changed, end)) is not None]
    return found[0] if len(found) == 1 else None


def _selections(after: Pixels, changed: Any) -> Iterator[Box]:
    """Yield the boxes of a new color that may be the paper of a selected text."""
    import cv2
    import numpy as np

    packed = after.astype(np.int32) @ (65536, 256, 1)
    colors, counts = np.unique(packed[changed], return_counts=True)
    for color in colors[np.argsort(-counts)[:COLORS]]:
        mask = (changed & (packed == color)).astype(np.uint8)
        mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((3, 5), np.uint8))
        _, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
        for left, top, width, height, area in stats[1:]:
            sized = width >= LEAST_WIDE and LEAST_HIGH <= height <= MOST_HIGH
            if sized and area >= FULL * width * height:
                yield Box(int(left), int(top), int(width), int(height))


def _with_text(before: Pixels, after: Pixels, changed: Any, end: Box) -> Box | None:
    """Return the box of the text that a selection ends; ``None`` if nothing new with another paper is at its left."""
    rows = slice(end.top, end.bottom)
    columns = changed[rows, : end.left].any(axis=0).nonzero()[0]
    columns = columns[columns >= end.left - REACH]
    if not columns.size or end.left - 1 - int(columns[-1]) > BESIDE:
        return None
    start = end.left
    for column in reversed(columns):
        if start - int(column) > GAP:
            break
        start = int(column)
    text, selected = after[rows, start : end.left], after[rows, end.left : end.right]
    if end.left - start < LEAST_WIDE or not _has_ink(text) or not _has_ink(selected):
        return None
    one, other = most_common(text), most_common(selected)
    was_blank = not _has_ink(before[rows, start : end.right - FRAME])
    if max(abs(a - b) for a, b in zip(one, other, strict=True)) < SHADE or not was_blank:
        return None
    return Box(start, end.top, end.right - start, end.height)


def _has_ink(part: Pixels) -> bool:
    """Return whether a piece of a picture has another color than its paper, apart from a frame around it."""
    inside = part[2:-2, 2:-2]
    return bool(inside.size) and bool((abs(inside.astype(int) - most_common(inside)).max(axis=2) > 3 * SHADE).any())
