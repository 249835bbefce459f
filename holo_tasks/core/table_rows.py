"""Whether things beside a point stand in rows with what is above and below it, as the cells of one table do."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import groupby

from PIL import Image

from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.likeness import WEAK, edges, over

ACROSS = 24
"""What stands this near to a point, left or right, is of its column; words this near to others go on with them."""
ROW = 12
"""What is this near to the middle of a row, above or below, is in it."""
TALLEST = 40
"""A line that is taller than this is the edge of something, or between two columns: no sign, and of no row."""

LETTERS, FULL, RIM = 96, 0.9, 8
"""What is taller than letters and all ink but for so little, within its rim, has no lines of its own: it is a film."""

Span = tuple[int, int]


def written(picture: Image.Image) -> Image.Image:
    """Return where something stands in a picture, but for what goes down too far to be of a row."""
    return _short(over(edges(picture), WEAK))


def film(picture: Image.Image, beside: Box) -> bool:
    """Say whether what a box shows goes on from top to bottom, as words in rows do not."""
    inside = (beside.left, beside.top + RIM, beside.right, beside.bottom - RIM)
    down = over(edges(picture.crop(inside)), WEAK).getprojection()[1]
    return len(down) > LETTERS and sum(map(bool, down)) >= FULL * len(down)


def aligned(ink: Image.Image, at: Point, ground: Box, beside: Box, *, one: bool = False) -> bool:
    """Say whether a box beyond the ground right of a target is in the rows of a table, or may be.

    It is if half of what stands on one side of the ground has the like at its height on the other: some cells may be
    empty, and a row may have several lines. Or if the next thing above or below the target has: much else may be above
    a list. Looked at are, on the target's side, its own column and all that is there; on the other side the box, the
    words it is in, and all that is there. Where nothing is above or below a target, its rows cannot be told. ``one``
    says that the box is one thing, in which there are no lines.
    """
    column, whole = (at.x - ACROSS, min(at.x + ACROSS + 1, ground.left)), (0, ground.left)
    own, all_ = (
        [block for block in _blocks(_down(ink, *across)) if _counts(block, at.y, ground)] for across in (column, whole)
    )
    others = [[block for block in blocks if not _in_row(block, at.y)] for blocks in (own, all_)]
    if not any(others):
        return True
    places = (beside.left, beside.right), _words(ink, at.y, ground, beside), (ground.right, ink.width)
    cells = [_down(ink, *across) for across in places]
    # In all that is there the next thing may be anything.
    lists = [(own, True), (all_, not others[0])]
    apart = range(beside.top, beside.bottom) if one else range(0)
    return any(
        _in_rows(blocks, down, at.y, ground, apart, nearest=nearest) for blocks, nearest in lists for down in cells
    )


def blank(ink: Image.Image, at: Point, beside: Box) -> bool:
    """Say whether nothing stands in a box at the height of a point."""
    return _line(_down(ink, beside.left, beside.right), at.y) is None


def _in_rows(blocks: list[Span], down: list[int], y: int, ground: Box, apart: range, *, nearest: bool) -> bool:
    """Say whether blocks of one side stand in rows with lines of the other; ``nearest``: or only the next of them."""
    own = _line(down, y)
    if own is None:
        return False
    mine = min(
        (block for block in blocks if _in_row(block, y)), key=lambda block: abs(_middle(block) - y), default=None
    )
    others = [block for block in blocks if not _in_row(block, y)]
    lines = [line for line in _blocks(down) if line != own and _counts(line, y, ground) and _middle(line) not in apart]
    # A press need not go to the middle of what it is for.
    for here in {y, y if mine is None else _middle(mine)}:
        beside = {there: _line(down, _middle(own) - here + there) for there in map(_middle, others)}
        alike = {there: _same(own, here, line, there) for there, line in beside.items()}
        next_ = (
            max((there for there in alike if there < here), default=here),
            min((there for there in alike if there > here), default=here),
        )
        if nearest and any(there != here and beside[there] != own and alike[there] for there in next_):
            return True
        if _half(alike.values()) or _half([_has(line, own, here, mine, others) for line in lines]):
            return True
    return False


def _has(line: Span, own: Span, here: int, mine: Span | None, others: Iterable[Span]) -> bool:
    """Say whether a line has a block beside it as the target's own has, or the very same, as dense rows are one."""
    if mine is not None and mine[1] - mine[0] >= TALLEST and mine[0] <= _middle(line) <= mine[1]:
        return True
    return any(_same(own, here, line, _middle(block)) for block in others)


def _half(answers: Collection[bool]) -> bool:
    return bool(answers) and 2 * sum(answers) >= len(answers)


def _words(ink: Image.Image, y: int, ground: Box, beside: Box) -> Span:
    """Return from where to where words go at the height of a point that a box is part of."""
    across, _ = ink.crop((0, max(0, y - ROW), ink.width, y + ROW + 1)).getprojection()
    left, right = beside.left, beside.right
    while (more := across[max(ground.right, left - ACROSS) : left]) and any(more):
        left = max(ground.right, left - ACROSS) + more.index(next(filter(None, more)))
    while any(more := across[right : right + ACROSS]):
        right += max(place for place, inked in enumerate(more) if inked) + 1
    return left, right


def _down(ink: Image.Image, left: int, right: int) -> list[int]:
    """Return which lines have ink between two columns."""
    return list(ink.crop((left, 0, max(left + 1, right), ink.height)).getprojection()[1])


def _short(ink: Image.Image) -> Image.Image:
    """Leave out what goes down too far to be of a row."""
    turned, tall = ink.transpose(Image.Transpose.TRANSPOSE), ink.height
    columns, run = turned.tobytes(), re.compile(rb"\xff{%d,}" % (TALLEST + 1))
    kept = [
        run.sub(lambda found: bytes(len(found[0])), columns[start : start + tall])
        for start in range(0, len(columns), tall)
    ]
    return Image.frombytes("L", turned.size, b"".join(kept)).transpose(Image.Transpose.TRANSPOSE)


def _blocks(down: list[int]) -> list[Span]:
    """Return where, from top to bottom, there is ink without a gap."""
    found = []
    for inked, group in groupby(range(len(down)), key=lambda y: bool(down[y])):
        rows = list(group)
        if inked:
            found.append((rows[0], rows[-1]))
    return found


def _in_row(block: Span, y: int) -> bool:
    return block[0] <= y + ROW and block[1] >= y - ROW


def _counts(span: Span, y: int, ground: Box) -> bool:
    return _in_row(span, y) or ground.top <= _middle(span) < ground.bottom


def _middle(span: Span) -> int:
    return (span[0] + span[1]) // 2


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
