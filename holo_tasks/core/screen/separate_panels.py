"""Decide whether two places of a screen are on separate panels with a blank gap between them.

`core.repaints.repaint_exemptions` identifies a row of a list by its contents. The row ends at the edge of its panel, so
a repaint of the next panel does not change it. A gap is wider than a line, has other colors on both sides, and opens
into blank space above or below. Lines, rails, scroll bars and the space between two columns are not gaps.
"""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image

from holo_tasks.core.screen.geometry import Box, Point

NARROWEST, WIDEST = 4, 64
"""Least and largest width of a gap between two panels, in pixels."""
TALL = 160
"""Least unbroken height of a gap, in pixels. Cells of a table are less tall."""
MARGIN, OTHER, MOSTLY = 8, 6, 0.8
"""A panel differs in color from the gap, by ``OTHER`` levels at ``MARGIN`` pixels from it. The share ``MOSTLY`` of the
gap's rows must show that.
"""
OPEN_WIDE, OPEN_TALL = 60, 12
"""Size in pixels of the blank space next to the gap, above or below, where a panel ends. Lines of a table are
thinner.
"""


def blank_gap(picture: Image.Image, at: Point, until: int) -> Box | None:
    """Return the gap between a point and a column to its right, or ``None`` if both may be on one panel.

    ``picture`` shows exactly the window that both are in, in its full height.
    """
    row = picture.crop((0, at.y, picture.width, at.y + 1)).tobytes()
    for left, right in _one_color_runs(row, at.x + 1, until):
        if left < MARGIN or right + MARGIN > picture.width:
            continue
        found = _panel_rows(picture.crop((left - MARGIN, 0, right + MARGIN, picture.height)), at.y)
        if found is not None:
            top, bottom = found
            box = Box.of_corners(left, top, right, bottom)
            if _opens_into_blank(picture, box):
                return box
    return None


def _one_color_runs(row: bytes, first: int, until: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of one color in a row of pixels that are as wide as a gap can be."""
    start = first
    for x in range(first + 1, until + 1):
        if x == until or row[3 * x : 3 * x + 3] != row[3 * start : 3 * start + 3]:
            if NARROWEST <= x - start <= WIDEST and start > first:
                yield start, x
            start = x


def _panel_rows(strip: Image.Image, y: int) -> tuple[int, int] | None:
    """Return the first and last row, around row ``y``, where panels are on both sides of a strip's middle.

    Returns ``None`` if these are fewer than `TALL` rows.
    """
    line, data = 3 * strip.width, strip.tobytes()
    first, last = 3 * MARGIN, line - 3 * MARGIN
    pixel = data[y * line + first : y * line + first + 3]
    plain = pixel * (strip.width - 2 * MARGIN)

    def is_gap_row(row: int) -> bool:
        at = row * line
        beside = data[at + first - 3 : at + first], data[at + last : at + last + 3]
        return data[at + first : at + last] == plain and pixel not in beside

    if not is_gap_row(y):
        return None
    top = bottom = y
    while top > 0 and is_gap_row(top - 1):
        top -= 1
    while bottom + 1 < strip.height and is_gap_row(bottom + 1):
        bottom += 1
    rows = range(top, bottom + 1)
    if len(rows) < TALL:
        return None
    for offset in (0, line - 3):
        others = (data[row * line + offset : row * line + offset + 3] for row in rows)
        if sum(_is_other_color(pixel, other) for other in others) < MOSTLY * len(rows):
            return None
    return top, bottom + 1


def _opens_into_blank(picture: Image.Image, box: Box) -> bool:
    """Return whether the gap opens into blank space above or below, where one of the panels ends."""
    color = picture.getpixel((box.left, box.top))
    for top in (box.top - OPEN_TALL, box.bottom):
        for left in (box.left - OPEN_WIDE, box.left):
            place = left, top, left + OPEN_WIDE + box.width, top + OPEN_TALL
            if place[0] < 0 or place[1] < 0 or place[2] > picture.width or place[3] > picture.height:
                continue
            if picture.crop(place).getcolors(1) == [(OPEN_TALL * (OPEN_WIDE + box.width), color)]:
                return True
    return False


def _is_other_color(one: bytes, other: bytes) -> bool:
    return any(abs(a - b) >= OTHER for a, b in zip(one, other, strict=True))
