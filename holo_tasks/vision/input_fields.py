"""Fields to write in, told from buttons by how they look, whatever colors a theme has.

A field is even paper with an edge all around, and what is written on it begins at a side; what stands in the middle of
an area may be written on a button. Whoever needs to be sure that something is a field takes none for what may be both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from PIL import Image

from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.vision.colors import differing, most_common
from holo_tasks.vision.outlines import areas_of, edges_of

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

SMALLEST = Size(20, 12)
_LOW, _NARROW_TALL = 48, 60
"""A field of one line is not as high, in pixels; what is higher is a text area, and not as narrow."""
_PAPER = 0.6
"""How much of a field has the color of its paper, at least."""
_LIKE = 12
"""Levels of a color by which the paper may differ from itself."""
_LINES, _ALIGNED = 3, 6
"""So many lines that begin below one another, give or take some pixels, are a text, even in the middle of an area."""
_CARET = 2
_BESIDE = 3
"""The selected row of a list may end this many pixels before the list does."""
_APART, _WIDEST_RULE = 6, 8


def is_large(box: Box) -> bool:
    """Say whether an area is large enough to be a control."""
    return box.width >= SMALLEST.width and box.height >= SMALLEST.height


def field_in(picture: Image.Image, at: Point) -> Box | None:
    """Return the field to write in that a point of a picture is in; None if what is there is none, or may be a button.

    Nothing that another control is in, or that reaches to the end of the picture, is a field, nor is the selected row
    of a list.
    """
    import numpy as np

    pixels = np.asarray(picture)
    every = [area.box for area in areas_of(pixels, edges_of(pixels)) if is_large(area.box)]
    there = [box for box in every if box.left <= at.x < box.right and box.top <= at.y < box.bottom]
    box = min(there, key=lambda box: box.width * box.height, default=None)
    return None if box is None else _field(box, every, pixels)


def areas_and_fields(picture: Image.Image | Pixels) -> tuple[list[Box], list[Box]]:
    """Return all areas of a picture that are large enough to be a control, and those that surely are fields."""
    import numpy as np

    pixels: Pixels = np.asarray(picture)
    every = [area.box for area in areas_of(pixels, edges_of(pixels), most=1.0) if is_large(area.box)]
    fields = [_field(box, every, pixels) for box in every]
    return every, [field for field in fields if field is not None]


def _field(box: Box, every: Sequence[Box], pixels: Any) -> Box | None:
    """Return the field that an area is, if it surely is one."""
    if any(other is not box and box.encloses(other) for other in every):
        return None
    if any(_is_row(box, other) for other in every):
        return None
    box = _with_part_behind_caret(box, every, pixels)
    height, width = pixels.shape[:2]
    closed = box.left > 0 and box.top > 0 and box.right < width and box.bottom < height
    tall = box.height >= _LOW
    if not closed or box.width < (_NARROW_TALL if tall else 1.5 * box.height):
        return None
    ink = _ink(pixels[box.top : box.bottom, box.left : box.right])
    if ink is None or (_is_text(ink) if tall else _begins_at_a_side(ink)) is False:
        return None
    return box


def _is_row(box: Box, other: Box) -> bool:
    """Say whether an area lies on another with no line in between, and ends where that does, as in a list."""
    touches = other.top == box.bottom or other.bottom == box.top
    covers = other.left <= box.left + _BESIDE and other.right >= box.right - _BESIDE
    return touches and covers and min(abs(other.left - box.left), abs(other.right - box.right)) <= _BESIDE


def _with_part_behind_caret(box: Box, every: Sequence[Box], pixels: Any) -> Box:
    """Return an area with the one on its right, if what is between them stands right behind text: a text cursor."""
    for other in every:
        beside = 0 <= other.left - box.right <= _CARET + 1
        if beside and abs(other.top - box.top) <= 1 and abs(other.height - box.height) <= 1:
            ink = _ink(pixels[box.top : box.bottom, box.left : box.right])
            if ink is not None and ink[:, -_CARET - 1 :].any() and ink[:, : _APART + 1].any():
                return Box(box.left, box.top, other.right - box.left, box.height)
    return box


def _ink(pixels: Any) -> Any:
    """Return where an area has another color than most of it, without its rim; None if it is not even."""
    inside = pixels[3:-3, 3:-3]
    ink = differing(inside, most_common(inside), _LIKE)
    return None if ink.mean() > 1 - _PAPER else ink


def _is_text(ink: Any) -> bool:
    """Say whether what is on a text area is text from the top on, or lines that begin below one another."""
    across = ink.mean(axis=0) < 0.7  # a bar to scroll with is no text
    rows = list(_runs((ink & across).any(axis=1), 2))
    if not rows:
        return True
    lefts = sorted(int((ink & across)[top:bottom].any(axis=0).argmax()) for top, bottom in rows)
    aligned = sum(left - lefts[0] <= _ALIGNED for left in lefts)
    if len(rows) >= _LINES and aligned * 2 > len(rows) and lefts[0] <= ink.shape[1] // 4:
        return True
    above, below = rows[0][0], ink.shape[0] - rows[-1][1]
    columns = (ink & across).any(axis=0).nonzero()[0]
    return below - above > ink.shape[0] // 3 or not _in_the_middle(columns[0], columns[-1] + 1, ink.shape[1])


def _begins_at_a_side(ink: Any) -> bool:
    """Say whether what is in a field of one line begins at its left or right: a button's word and sign do not."""
    height, width = ink.shape
    columns = ink.any(axis=0)
    groups = list(_runs(columns, _APART))
    groups = [group for group in groups if not _is_caret(ink, group)]
    if not groups:
        return True
    if any(right - left <= _WIDEST_RULE and ink[:, left:right].mean(axis=0).max() >= 0.9 for left, right in groups):
        return False  # two controls side by side
    parts = [(left, right) for left, right in _runs(_filled(groups, width), max(height, 16))]
    if any(_in_the_middle(left, right, width) for left, right in parts):
        return False
    left, right = parts[0][0], parts[-1][1]
    signed = len(parts) > 1 and left <= _APART and right - parts[-1][0] <= height + 2
    return signed or not _in_the_middle(left, right, width)


def _is_caret(ink: Any, group: tuple[int, int]) -> bool:
    left, right = group
    return right - left <= _CARET and ink[:, left:right].any(axis=1).mean() >= 0.5


def _filled(groups: list[tuple[int, int]], width: int) -> Any:
    import numpy as np

    row = np.zeros(width, bool)
    for left, right in groups:
        row[left:right] = True
    return row


def _runs(row: Any, gap: int) -> Iterator[tuple[int, int]]:
    """Yield where the true pixels of a row begin and end; those with less than a gap between them are one."""
    start = last = None
    for at in row.nonzero()[0].tolist():
        if start is None or last is None:
            start = at
        elif at - last > gap:
            yield start, last + 1
            start = at
        last = at
    if start is not None and last is not None:
        yield start, last + 1


def _in_the_middle(left: int, right: int, width: int) -> bool:
    """Say whether there is about as much room on the left of something as on its right."""
    return abs(left - (width - right)) <= 2 * max(3, min(width // 12, 16))
