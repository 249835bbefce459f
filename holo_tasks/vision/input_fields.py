"""Find input fields, and tell them from buttons by their pixels, in any color theme.

A field is an even background with an edge all around, whose text begins at one side. Text in the middle of an area may
be the label of a button. Callers that need certainty treat such an area as no field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from PIL import Image

from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.vision.colors import mask_of_other_colors, most_common
from holo_tasks.vision.outlines import areas_of, edges_of

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

SMALLEST = Size(20, 12)
_LOW, _NARROW_TALL = 48, 60
"""Pixels. A field of this height or more is a text area, which must have the second value as minimum width."""
_PAPER = 0.6
"""Least share of a field that has its background color."""
_LIKE = 12
"""Color levels by which the background may vary."""
_LINES, _ALIGNED = 3, 6
"""Number of lines and tolerance in pixels. That many left-aligned lines are a text, even in the middle of an area."""
_CARET = 2
_BESIDE = 3
"""Pixels by which the selected row of a list may end before the list."""
_APART, _WIDEST_RULE = 6, 8


def is_large(box: Box) -> bool:
    """Return whether an area is large enough to be a control."""
    return box.width >= SMALLEST.width and box.height >= SMALLEST.height


def field_in(picture: Image.Image, at: Point) -> Box | None:
    """Return the input field that contains a point, or ``None`` if the point is outside fields or on a possible button.

    An area that contains another control or reaches the end of the picture is not a field. Neither is the selected row
    of a list.
    """
    import numpy as np

    pixels = np.asarray(picture)
    every = [area.box for area in areas_of(pixels, edges_of(pixels)) if is_large(area.box)]
    there = [box for box in every if box.left <= at.x < box.right and box.top <= at.y < box.bottom]
    box = min(there, key=lambda box: box.width * box.height, default=None)
    return None if box is None else _field(box, every, pixels)


def areas_and_fields(picture: Image.Image | Pixels) -> tuple[list[Box], list[Box]]:
    """Return the areas of a picture that are large enough to be controls, and those that are certainly fields."""
    import numpy as np

    pixels: Pixels = np.asarray(picture)
    every = [area.box for area in areas_of(pixels, edges_of(pixels), most=1.0) if is_large(area.box)]
    fields = [_field(box, every, pixels) for box in every]
    return every, [field for field in fields if field is not None]


def has_caption(pixels: Pixels) -> bool:
    """Return whether an area has its text in the middle, with space on both sides, as a button has.

    The background of a button may be a gradient from its top to its bottom. So each row is compared with its left end.
    """
    import numpy as np

    inside = pixels[3:-3, 3:-3].astype(np.int16)
    if not inside.size:
        return False
    ink = np.abs(inside - inside[:, :1]).max(axis=2) > _LIKE
    columns, width = ink.any(axis=0).nonzero()[0], ink.shape[1]
    if not len(columns) or ink.mean() > 1 - _PAPER:
        return False
    left, right = int(columns[0]), int(columns[-1]) + 1
    return min(left, width - right) >= _APART // 2 and _in_the_middle(left, right, width)


def _field(box: Box, every: Sequence[Box], pixels: Any) -> Box | None:
    """Return the box of the field if an area is certainly a field, else ``None``."""
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
    """Return whether an area touches another one without a line between and shares an end with it, as a list
    row does.
    """
    touches = other.top == box.bottom or other.bottom == box.top
    covers = other.left <= box.left + _BESIDE and other.right >= box.right - _BESIDE
    return touches and covers and min(abs(other.left - box.left), abs(other.right - box.right)) <= _BESIDE


def _with_part_behind_caret(box: Box, every: Sequence[Box], pixels: Any) -> Box:
    """Return an area joined with the one on its right, if only a text cursor separates them."""
    for other in every:
        adjacent = 0 <= other.left - box.right <= _CARET + 1
        if adjacent and abs(other.top - box.top) <= 1 and abs(other.height - box.height) <= 1:
            ink = _ink(pixels[box.top : box.bottom, box.left : box.right])
            if ink is not None and ink[:, -_CARET - 1 :].any() and ink[:, : _APART + 1].any():
                return Box(box.left, box.top, other.right - box.left, box.height)
    return box


def _ink(pixels: Any) -> Any:
    """Return a mask of the pixels that differ from the background, without the rim; ``None`` if the area is not
    even.
    """
    inside = pixels[3:-3, 3:-3]
    ink = mask_of_other_colors(inside, most_common(inside), _LIKE)
    return None if ink.mean() > 1 - _PAPER else ink


def _is_text(ink: Any) -> bool:
    """Return whether a text area is empty, or has text from the top on or in left-aligned lines."""
    across = ink.mean(axis=0) < 0.7  # excludes a scroll bar
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
    """Return whether the text of a one-line field begins at its left or right. A button's text does not."""
    height, width = ink.shape
    columns = ink.any(axis=0)
    groups = list(_runs(columns, _APART))
    groups = [group for group in groups if not _is_caret(ink, group)]
    if not groups:
        return True
    if any(right - left <= _WIDEST_RULE and ink[:, left:right].mean(axis=0).max() >= 0.9 for left, right in groups):
        return False  # a vertical rule: these are two controls side by side
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
    """Yield the start and end of each run of true pixels. Runs with at most ``gap`` pixels between them are joined."""
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
    """Return whether there is about the same space left and right of something."""
    return abs(left - (width - right)) <= 2 * max(3, min(width // 12, 16))
