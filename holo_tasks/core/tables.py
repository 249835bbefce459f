"""Whether things beside a point stand in rows with what is above and below it, as the cells of one table do."""

from __future__ import annotations

import re
from itertools import groupby

from PIL import Image

from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.likeness import WEAK, edges, over

ACROSS = 24
"""What stands this near to a point, left or right, is of its column."""
ROW = 12
"""What is this near to the middle of a row, above or below, is in it."""
TALLEST = 40
"""A line that is taller than this is the edge of something, or between two columns: no sign, and of no row."""

Span = tuple[int, int]


def aligned(picture: Image.Image, at: Point, beside: Box, top: int, bottom: int) -> bool:
    """Say whether what stands above or below the target, between two heights, has the like beside it in a box.

    It does if half of it has: some cells of a table may be empty. Or if the next one has that has anything of its own
    there: much else may be above a list. Where the target is blank, what stands left of the box is looked at.
    """
    ink = _short(over(edges(picture), WEAK))
    _, down = ink.crop((beside.left, 0, beside.right, ink.height)).getprojection()
    own = _line(down, at.y)
    if own is None:
        return False
    blocks = _blocks(ink.crop((at.x - ACROSS, 0, at.x + ACROSS + 1, ink.height)))
    if not any(_in_row(block, at.y) for block in blocks):
        blocks = _blocks(ink.crop((0, 0, beside.left, ink.height)))
    others = [(first + last) // 2 for first, last in blocks if not _in_row((first, last), at.y)]
    others = [y for y in others if top <= y < bottom]
    nearest = [max((y for y in others if y < at.y), default=None), min((y for y in others if y > at.y), default=None)]
    for y in nearest:
        line = None if y is None else _line(down, y)
        if y is not None and line is not None and line != own and _same(own, at.y, line, y):
            return True
    return bool(others) and 2 * sum(_same(own, at.y, _line(down, y), y) for y in others) >= len(others)


def _short(ink: Image.Image) -> Image.Image:
    """Leave out what goes down too far to be of a row."""
    turned, tall = ink.transpose(Image.Transpose.TRANSPOSE), ink.height
    columns, run = turned.tobytes(), re.compile(rb"\xff{%d,}" % (TALLEST + 1))
    kept = [
        run.sub(lambda found: bytes(len(found[0])), columns[start : start + tall])
        for start in range(0, len(columns), tall)
    ]
    return Image.frombytes("L", turned.size, b"".join(kept)).transpose(Image.Transpose.TRANSPOSE)


def _blocks(ink: Image.Image) -> list[Span]:
    """Return where, from top to bottom, there is ink without a gap."""
    _, down = ink.getprojection()
    found = []
    for inked, group in groupby(range(len(down)), key=lambda y: bool(down[y])):
        rows = list(group)
        if inked:
            found.append((rows[0], rows[-1]))
    return found


def _in_row(block: Span, y: int) -> bool:
    return block[0] <= y + ROW and block[1] >= y - ROW


def _line(down: list[int], y: int) -> Span | None:
    """Return where the ink begins and ends that is nearest to the middle of a row."""
    near = [line for line in range(max(0, y - ROW), min(len(down), y + ROW + 1)) if down[line]]
    if not near:
        return None
    top = bottom = min(near, key=lambda line: abs(line - y))
    while top > 0 and down[top - 1]:
        top -= 1
    while bottom + 1 < len(down) and down[bottom + 1]:
        bottom += 1
    return top, bottom


def _same(one: Span, one_at: int, other: Span | None, other_at: int) -> bool:
    """Say whether two rows have ink at about the same height, or one block goes over both."""
    if other is None or one == other:
        return other is not None
    first, last = max(one[0] - one_at, other[0] - other_at), min(one[1] - one_at, other[1] - other_at)
    return 2 * (last - first + 1) >= min(one[1] - one[0], other[1] - other[0]) + 1
