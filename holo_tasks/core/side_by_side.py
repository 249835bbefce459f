"""Whether two places of a screen are on sheets of their own, which stand side by side with bare ground between them.

The rows of a list go on to its own edge and no further: what is on the next sheet does not say which of them is which.
A line, a rail, a scroll bar, or the space between two columns is no such ground, nor is what divides the cells of a
table: bare ground is wider than a line, has other colors on both its sides, and comes out into the open somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image

from holo_tasks.core.geometry import Box, Point

NARROWEST, WIDEST = 4, 64
"""How wide the ground between two sheets is."""
TALL = 160
"""Two sheets stand side by side along so many pixels without a break: cells of a table are less tall."""
MARGIN, OTHER, MOSTLY = 8, 6, 0.8
"""So far from the ground a sheet still has another color, by so much, in this part of its rows."""
OPEN_WIDE, OPEN_TALL = 60, 12
"""Where a sheet ends, so much beside the ground and below or above it is ground, too: lines of a table are thinner."""


def ground(picture: Image.Image, at: Point, until: int) -> Box | None:
    """Return the bare ground between a point and a column right of it, on two sheets; None if these may be one.

    The picture is of the window they are in, as tall as that, and of nothing else.
    """
    row = picture.crop((0, at.y, picture.width, at.y + 1)).tobytes()
    for left, right in _plain(row, at.x + 1, until):
        if left < MARGIN or right + MARGIN > picture.width:
            continue
        found = _between(picture.crop((left - MARGIN, 0, right + MARGIN, picture.height)), at.y)
        if found is not None:
            top, bottom = found
            box = Box.of_corners(left, top, right, bottom)
            if _opens(picture, box):
                return box
    return None


def _plain(row: bytes, first: int, until: int) -> Iterator[tuple[int, int]]:
    """Yield where in a row of pixels there is one color for as long as ground is wide."""
    start = first
    for x in range(first + 1, until + 1):
        if x == until or row[3 * x : 3 * x + 3] != row[3 * start : 3 * start + 3]:
            if NARROWEST <= x - start <= WIDEST and start > first:
                yield start, x
            start = x


def _between(strip: Image.Image, y: int) -> tuple[int, int] | None:
    """Return from where to where sheets are on both sides of the middle of a strip, around a row; None if too short."""
    line, data = 3 * strip.width, strip.tobytes()
    first, last = 3 * MARGIN, line - 3 * MARGIN
    pixel = data[y * line + first : y * line + first + 3]
    plain = pixel * (strip.width - 2 * MARGIN)

    def is_ground(row: int) -> bool:
        at = row * line
        beside = data[at + first - 3 : at + first], data[at + last : at + last + 3]
        return data[at + first : at + last] == plain and pixel not in beside

    if not is_ground(y):
        return None
    top = bottom = y
    while top > 0 and is_ground(top - 1):
        top -= 1
    while bottom + 1 < strip.height and is_ground(bottom + 1):
        bottom += 1
    rows = range(top, bottom + 1)
    if len(rows) < TALL:
        return None
    for offset in (0, line - 3):
        others = (data[row * line + offset : row * line + offset + 3] for row in rows)
        if sum(_apart(pixel, other) for other in others) < MOSTLY * len(rows):
            return None
    return top, bottom + 1


def _opens(picture: Image.Image, box: Box) -> bool:
    """Say whether ground goes on above or below, where one of the sheets beside it is at its end."""
    color = picture.getpixel((box.left, box.top))
    for top in (box.top - OPEN_TALL, box.bottom):
        for left in (box.left - OPEN_WIDE, box.left):
            place = left, top, left + OPEN_WIDE + box.width, top + OPEN_TALL
            if place[0] < 0 or place[1] < 0 or place[2] > picture.width or place[3] > picture.height:
                continue
            if picture.crop(place).getcolors(1) == [(OPEN_TALL * (OPEN_WIDE + box.width), color)]:
                return True
    return False


def _apart(one: bytes, other: bytes) -> bool:
    return any(abs(a - b) >= OTHER for a, b in zip(one, other, strict=True))
