"""Decide whether content on the far side of a gap is in the same rows as a target, like the cells of one table.

`may_be_in_rows` does it, for `repaint_exemptions`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import groupby

from PIL import Image

from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.likeness import FAINT_EDGE, edges, mask_at_least

ACROSS = 24
"""Pixels left and right of a point that belong to its column; words at most this far apart belong together."""
ROW = 12
"""Pixels above and below the middle of a row that belong to it."""
TALLEST = 40
"""Tallest ink in pixels that may be a letter. Taller vertical lines are edges or separators, and belong to no row."""

LETTERS, FULL, RIM = 96, 0.9, 8
"""A box is a film if it is taller than ``LETTERS`` pixels and the share ``FULL`` of its lines has ink.

``RIM`` pixels at its top and bottom do not count. A film, such as a video, has no rows of its own.
"""

Span = tuple[int, int]


def content_mask(picture: Image.Image) -> Image.Image:
    """Return a mask of the text and icons in a picture, without vertical lines taller than a row."""
    return _without_tall_lines(mask_at_least(edges(picture), FAINT_EDGE))


def film(picture: Image.Image, beside: Box) -> bool:
    """Return whether the content of a box fills it from top to bottom, as rows of text do not."""
    inside = (beside.left, beside.top + RIM, beside.right, beside.bottom - RIM)
    down = mask_at_least(edges(picture.crop(inside)), FAINT_EDGE).getprojection()[1]
    return len(down) > LETTERS and sum(map(bool, down)) >= FULL * len(down)


def may_be_in_rows(ink: Image.Image, at: Point, gap: Box, beside: Box, *, is_single: bool = False) -> bool:
    """Return whether a box beyond the gap right of a target may be in the rows of a table with it.

    The target's side is searched in its own column and in full. The other side is searched in the box, in the text that
    the box is part of, and in full. Two sides are aligned if half of the blocks on one have ink at their height on the
    other. Half is enough because cells may be empty, and a row may have several lines. Two sides are also aligned if
    the next block above or below the target has such ink, because other content may lie above a list.

    The result is true if nothing is above or below the target, because then its rows are unknown. With ``is_single``,
    the box is a single thing without rows.
    """
    column, whole = (at.x - ACROSS, min(at.x + ACROSS + 1, gap.left)), (0, gap.left)
    own, all_ = (
        [block for block in _blocks(_ink_rows(ink, *across)) if _counts(block, at.y, gap)] for across in (column, whole)
    )
    others = [[block for block in blocks if not _in_row(block, at.y)] for blocks in (own, all_)]
    if not any(others):
        return True
    places = (beside.left, beside.right), _text_span(ink, at.y, gap, beside), (gap.right, ink.width)
    cells = [_ink_rows(ink, *across) for across in places]
    # In the full width, the next block may belong to other content, so it counts only if the column has none.
    lists = [(own, True), (all_, not others[0])]
    apart = range(beside.top, beside.bottom) if is_single else range(0)
    return any(
        _share_rows(blocks, down, at.y, gap, apart, nearest=nearest) for blocks, nearest in lists for down in cells
    )


def blank(ink: Image.Image, at: Point, beside: Box) -> bool:
    """Return whether a box has no ink at the height of a point."""
    return _nearest_ink(_ink_rows(ink, beside.left, beside.right), at.y) is None


def _share_rows(blocks: list[Span], down: list[int], y: int, gap: Box, apart: range, *, nearest: bool) -> bool:
    """Return whether blocks of one side are in rows with lines of the other.

    With ``nearest``, the next block suffices.
    """
    own = _nearest_ink(down, y)
    if own is None:
        return False
    mine = min(
        (block for block in blocks if _in_row(block, y)), key=lambda block: abs(_middle(block) - y), default=None
    )
    others = [block for block in blocks if not _in_row(block, y)]
    lines = [line for line in _blocks(down) if line != own and _counts(line, y, gap) and _middle(line) not in apart]
    # A press need not hit the middle of its target.
    for here in {y, y if mine is None else _middle(mine)}:
        beside = {there: _nearest_ink(down, _middle(own) - here + there) for there in map(_middle, others)}
        alike = {there: _has_ink_at_height(own, here, line, there) for there, line in beside.items()}
        next_ = (
            max((there for there in alike if there < here), default=here),
            min((there for there in alike if there > here), default=here),
        )
        if nearest and any(there != here and beside[there] != own and alike[there] for there in next_):
            return True
        if _is_half_true(alike.values()) or _is_half_true(
            [_has_partner(line, own, here, mine, others) for line in lines]
        ):
            return True
    return False


def _has_partner(line: Span, own: Span, here: int, mine: Span | None, others: Iterable[Span]) -> bool:
    """Return whether a line has a block at its height like the target has, or is inside the target's tall block."""
    if mine is not None and mine[1] - mine[0] >= TALLEST and mine[0] <= _middle(line) <= mine[1]:
        return True
    return any(_has_ink_at_height(own, here, line, _middle(block)) for block in others)


def _is_half_true(answers: Collection[bool]) -> bool:
    return bool(answers) and 2 * sum(answers) >= len(answers)


def _text_span(ink: Image.Image, y: int, gap: Box, beside: Box) -> Span:
    """Return the left and right end of the text at a point's height that a box is part of."""
    across, _ = ink.crop((0, max(0, y - ROW), ink.width, y + ROW + 1)).getprojection()
    left, right = beside.left, beside.right
    while (more := across[max(gap.right, left - ACROSS) : left]) and any(more):
        left = max(gap.right, left - ACROSS) + more.index(next(filter(None, more)))
    while any(more := across[right : right + ACROSS]):
        right += max(place for place, inked in enumerate(more) if inked) + 1
    return left, right


def _ink_rows(ink: Image.Image, left: int, right: int) -> list[int]:
    """Return for each pixel row whether it has ink between two columns."""
    return list(ink.crop((left, 0, max(left + 1, right), ink.height)).getprojection()[1])


def _without_tall_lines(ink: Image.Image) -> Image.Image:
    """Remove vertical runs of ink that are taller than a row."""
    turned, tall = ink.transpose(Image.Transpose.TRANSPOSE), ink.height
    columns, run = turned.tobytes(), re.compile(rb"\xff{%d,}" % (TALLEST + 1))
    kept = [
        run.sub(lambda found: bytes(len(found[0])), columns[start : start + tall])
        for start in range(0, len(columns), tall)
    ]
    return Image.frombytes("L", turned.size, b"".join(kept)).transpose(Image.Transpose.TRANSPOSE)


def _blocks(down: list[int]) -> list[Span]:
    """Return the first and last row of each vertical run of ink, from top to bottom."""
    found = []
    for inked, group in groupby(range(len(down)), key=lambda y: bool(down[y])):
        rows = list(group)
        if inked:
            found.append((rows[0], rows[-1]))
    return found


def _in_row(block: Span, y: int) -> bool:
    return block[0] <= y + ROW and block[1] >= y - ROW


def _counts(span: Span, y: int, gap: Box) -> bool:
    return _in_row(span, y) or gap.top <= _middle(span) < gap.bottom


def _middle(span: Span) -> int:
    return (span[0] + span[1]) // 2


def _nearest_ink(down: list[int], y: int) -> Span | None:
    """Return the first and last row of the ink nearest to the middle of a row, or ``None``."""
    near = [line for line in range(max(0, y - ROW), min(len(down), y + ROW + 1)) if down[line]]
    if not near:
        return None
    top = bottom = min(near, key=lambda line: abs(line - y))
    while top > 0 and down[top - 1]:
        top -= 1
    while bottom + 1 < len(down) and down[bottom + 1]:
        bottom += 1
    return top, bottom


def _has_ink_at_height(one: Span, one_at: int, other: Span | None, other_at: int) -> bool:
    """Return whether two rows have ink at about the same height, or one block covers both."""
    if other is None or one == other:
        return other is not None
    first, last = max(one[0] - one_at, other[0] - other_at), min(one[1] - one_at, other[1] - other_at)
    return 2 * (last - first + 1) >= min(one[1] - one[0], other[1] - other[0]) + 1
