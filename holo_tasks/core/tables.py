"""Whether things beside a point stand in rows with what is above and below it, as the cells of one table do."""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image

from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.likeness import WEAK, edges, over

ACROSS, DOWN = 24, 6
"""What stands this near to a point says what it looks like."""
INK, PART, APART = 12, 0.1, 10
"""Something looks like it of which all but this part is the same, if it has that much ink, so far above or below."""
ROW, SAME = 12, 4
"""A cell stands this near to the middle of its row, and in other rows at the same height, give or take so much."""


def aligned(picture: Image.Image, at: Point, beside: Box, top: int, bottom: int) -> bool:
    """Say whether what looks like the target, between two heights, has the same beside it as the target has in a box.

    It does if half of it has: some cells of a table may be empty.
    """
    ink = over(edges(picture), WEAK)
    _, down = ink.crop((beside.left, 0, beside.right, ink.height)).getprojection()
    own = _line(down, at.y)
    rows = [y for y in _likes(ink, at) if top <= y < bottom]
    return own is not None and bool(rows) and 2 * sum(_same(own, _line(down, y)) for y in rows) >= len(rows)


def _line(down: list[int], y: int) -> tuple[int, int] | None:
    """Return where, from the middle of a row, the ink begins and ends that is nearest to it."""
    near = [line for line in range(max(0, y - ROW), min(len(down), y + ROW + 1)) if down[line]]
    if not near:
        return None
    top = bottom = min(near, key=lambda line: abs(line - y))
    while top > 0 and down[top - 1]:
        top -= 1
    while bottom + 1 < len(down) and down[bottom + 1]:
        bottom += 1
    return top - y, bottom - y


def _same(one: tuple[int, int], other: tuple[int, int] | None) -> bool:
    return other is not None and all(abs(a - b) <= SAME for a, b in zip(one, other, strict=True))


def _likes(ink: Image.Image, at: Point) -> Iterator[int]:
    """Yield the heights at which, right above or below a point, something looks like what is there."""
    column = ink.crop((at.x - ACROSS, 0, at.x + ACROSS + 1, ink.height))
    data, wide = column.tobytes(), column.width
    mask = int.from_bytes(b"\x01" * wide)
    rows = [int.from_bytes(data[start : start + wide]) & mask for start in range(0, len(data), wide)]
    own = rows[max(0, at.y - DOWN) : at.y + DOWN + 1]
    much = sum(row.bit_count() for row in own)
    if len(own) < 2 * DOWN + 1 or much < INK:
        return
    for y in range(DOWN, len(rows) - DOWN):
        other = rows[y - DOWN : y + DOWN + 1]
        if abs(y - at.y) >= APART:
            wrong = sum((one ^ two).bit_count() for one, two in zip(own, other, strict=True))
            if wrong <= PART * much:
                yield y
