"""Find rows of text without text detection where they are plain: ink on one even color, apart from all other ink.

Text detection takes most of the time of OCR. `plain_rows` returns the rows that do not need it, and the places that do.
`ocr_reader` uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.colors import mask_of_other_colors, most_common

if TYPE_CHECKING:
    import numpy as np

    from holo_tasks.vision.colors import Color, Mask

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

INK = 8
"""Color levels of 255 by which ink differs from its background. Even pale text differs by more."""
LOWEST, HIGHEST, NARROWEST = 6, 30, 8
"""Least and largest height and least width of a plain row, in pixels."""
TOGETHER, APART = 0.7, 1.6
"""Horizontal gaps in heights of the row. Words of one line have smaller gaps than the first, and separate lines larger
ones than the second. Text detection decides about gaps in between.
"""
NEAR = 2
"""Rows of pixels between a letter and its dot or accent. A plain row has more space above and below it."""
FULL, LEAST_AREA = 0.9, 12
"""Share of each side of its box that the edge of an area covers, and its least size in pixels."""
END, THIN = 0.3, 0.1
"""Share of a row's height at each end that only some letters reach. Between the ends, each row of pixels of a text has
at least the second share of the ink that the fullest one has.
"""
RIM = 4
"""Largest thickness of the edge of an area, in pixels."""
ROOM = 4
"""Pixels of background that a row gets on each side."""
DEEPEST = 3
"""Most areas inside each other that are searched."""
MOST = 100
"""Most pieces of ink that are compared with each other. An area with more is left to text detection."""
CLEAR = 16
"""Pixels around a box that text detection gets to see as well."""
LEAST_PART, LONGEST = 64, 8
"""Text detection enlarges a part that is lower or narrower than the first, in pixels. It enlarges a part that is wider
than the second, in heights, to a quarter of the width in height.
"""


@dataclass(frozen=True)
class Row:
    """The pixels of a row of text with a margin of background color, and its place."""

    pixels: Pixels
    box: Box


@dataclass(frozen=True)
class PlainRows:
    """The rows of text, and the boxes of everything else that is drawn."""

    rows: tuple[Row, ...] = ()
    others: tuple[Box, ...] = ()

    def __add__(self, other: PlainRows) -> PlainRows:
        return PlainRows(self.rows + other.rows, self.others + other.others)


@dataclass(frozen=True)
class _Ink:
    """A piece of ink. ``inner`` is the inside of an area with an edge around it."""

    box: Box
    inner: Box | None = None

    def gap(self, other: _Ink) -> tuple[int, int]:
        """Return the horizontal and the vertical gap to another one; negative if they overlap."""
        one, two = self.box, other.box
        return (
            max(one.left, two.left) - min(one.right, two.right),
            max(one.top, two.top) - min(one.bottom, two.bottom),
        )


def plain_rows(pixels: Pixels) -> PlainRows:
    """Return the plain rows of a part of a picture, and the boxes that need text detection."""
    return _rows_in(pixels, Box(0, 0, pixels.shape[1], pixels.shape[0]), DEEPEST)


def parts_around(boxes: Iterable[Box], whole: Box) -> list[Box]:
    """Return the parts of a picture in which text detection has to look for some boxes.

    Returns the whole picture if that takes less time.
    """
    parts: list[Box] = []
    for box in boxes:
        part = _enlarged(box).cut_to(whole)
        while (other := next((each for each in parts if each.intersects(part)), None)) is not None:
            parts.remove(other)
            part = Box.around((part, other))
        parts.append(part)
    return parts if sum(map(_cost, parts)) < _cost(whole) else [whole]


def _enlarged(box: Box) -> Box:
    """Return a box with a margin, and so large that text detection does not enlarge it."""
    across, down = (max(CLEAR, -((length - LEAST_PART) // 2)) for length in (box.width, box.height))
    return Box(box.left - across, box.top - down, box.width + 2 * across, box.height + 2 * down)


def _cost(box: Box) -> int:
    """Return the number of pixels that text detection looks at for a box."""
    return box.width * (2 * (box.width // LONGEST) if box.width > LONGEST * box.height else box.height)


def _rows_in(pixels: Pixels, area: Box, depth: int) -> PlainRows:
    part = _cut(pixels, area)
    ground = most_common(part)
    drawn = mask_of_other_colors(part, ground, INK)
    pieces = _pieces(part, drawn)
    if len(pieces) > MOST:
        return PlainRows(others=(area,))
    found = PlainRows()
    for group in _grouped(_joined(pieces)):
        ink, box = group[0], Box.around([each.box for each in group])
        place = box.moved(area.left, area.top)
        if len(group) == 1 and _is_plain(ink, area) and _is_one_row(drawn[box.top : box.bottom, box.left : box.right]):
            found += PlainRows(rows=(Row(_with_room(_cut(part, box), ground), place),))
        elif len(group) == 1 and depth and ink.inner is not None:
            found += _rows_in(pixels, ink.inner.moved(area.left, area.top), depth - 1)
        else:
            found += PlainRows(others=(place,))
    return found


def _cut(pixels: Pixels, box: Box) -> Pixels:
    return pixels[box.top : box.bottom, box.left : box.right]


def _with_room(piece: Pixels, ground: Color) -> Pixels:
    """Return a piece with a margin of a color."""
    import numpy as np

    height, width = piece.shape[:2]
    pixels = np.empty((height + 2 * ROOM, width + 2 * ROOM, 3), np.uint8)
    pixels[:] = ground
    pixels[ROOM:-ROOM, ROOM:-ROOM] = piece
    return pixels


def _pieces(part: Pixels, ink: Mask) -> list[_Ink]:
    """Return the pieces of ink. Strokes up to `NEAR` pixels apart belong to one piece."""
    import cv2
    import numpy as np

    wide = cv2.dilate(ink.astype(np.uint8), np.ones((NEAR + 1, NEAR + 1), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(wide, connectivity=8)
    found = []
    for number, (left, top, width, height) in enumerate(stats[1 : MOST + 2, :4].tolist(), start=1):
        place = slice(top, top + height), slice(left, left + width)
        drawn = ink[place] & (labels[place] == number)
        rows, columns = drawn.any(axis=1).nonzero()[0], drawn.any(axis=0).nonzero()[0]
        first, last = int(rows[0]), int(rows[-1]) + 1
        low, high = int(columns[0]), int(columns[-1]) + 1
        box = Box.of_corners(left + low, top + first, left + high, top + last)
        found.append(_Ink(box, _inner(part, box) if _has_edge(drawn[first:last, low:high]) else None))
    return found


def _has_edge(drawn: Mask) -> bool:
    """Return whether a piece of ink has an edge all around it. A row of letters has none."""
    sides = (drawn[0], drawn[-1], drawn[:, 0], drawn[:, -1])
    return min(drawn.shape) >= LEAST_AREA and all(side.mean() >= FULL for side in sides)


def _inner(part: Pixels, box: Box) -> Box | None:
    """Return the inside of an area with an edge, or ``None`` if no even color follows on the edge."""
    for rim in range(1, RIM + 1):
        inner = box.grown(-rim)
        if min(inner.width, inner.height) < LOWEST:
            return None
        pixels = _cut(part, inner)
        ground = pixels[0, 0].astype(int)
        sides = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
        if all((abs(side - ground) <= INK).all() for side in sides):
            return inner
    return None


def _joined(pieces: Sequence[_Ink]) -> list[_Ink]:
    """Return the pieces, with those joined that belong to one line or are drawn in one area."""
    done: list[_Ink] = []
    for piece in sorted(pieces, key=lambda each: each.box.left):
        while (other := next((each for each in done if _are_together(each, piece)), None)) is not None:
            done.remove(other)
            box = Box.around((other.box, piece.box))
            piece = next((each for each in (other, piece) if each.inner and each.box == box), _Ink(box))
        done.append(piece)
    return done


def _are_together(one: _Ink, other: _Ink) -> bool:
    """Return whether two pieces of ink are parts of one line of text, or one is drawn in the box of the other."""
    across, down = one.gap(other)
    if across < 0 and down < 0:
        return True
    if one.inner or other.inner:
        return False
    low, high = sorted((one.box.height, other.box.height))
    return -down >= low // 2 and across <= TOGETHER * high


def _grouped(pieces: Sequence[_Ink]) -> list[list[_Ink]]:
    """Return the pieces in groups. Those of one group are so close that text detection must look at them."""
    groups: list[list[_Ink]] = []
    for piece in pieces:
        near = [group for group in groups if any(_are_near(piece, each) for each in group)]
        groups = [group for group in groups if group not in near]
        groups.append([piece, *(each for group in near for each in group)])
    return groups


def _are_near(one: _Ink, other: _Ink) -> bool:
    across, down = one.gap(other)
    if one.inner or other.inner:
        return across <= NEAR and down <= NEAR
    return down <= NEAR and across <= APART * max(one.box.height, other.box.height)


def _is_one_row(drawn: Mask) -> bool:
    """Return whether ink is certainly one row of text without a text cursor behind it.

    Two rows have little ink between them, and a cursor is a bar as high as the row.
    """
    ink, ends = drawn.sum(axis=1), max(LOWEST, int(END * len(drawn)))
    middle = ink[ends:-ends]
    return bool(drawn[:, -1].mean() < FULL and (not middle.size or middle.min() >= THIN * ink.max()))


def _is_plain(ink: _Ink, area: Box) -> bool:
    """Return whether a piece may be one row of text that is seen whole: it does not touch the end of its area."""
    box = ink.box
    inside = box.left > 0 and box.top > 0 and box.right < area.width and box.bottom < area.height
    return ink.inner is None and inside and LOWEST <= box.height <= HIGHEST and box.width >= NARROWEST
