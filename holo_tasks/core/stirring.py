"""What keeps changing on a screen by itself, and which of it says nothing about where input is about to go.

A clock, a spinner, an animated banner or a video is left out of a comparison wherever it has been seen at work; what it
stands beside is not. Three things are never left out: what is inside the control that is aimed at, the words next to
it, and a cell of the list that it is in. These say what a press there is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PIL import Image, ImageChops

from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.core.likeness import LINE, WEAK, edges, over
from holo_tasks.core.recheck import NEAR, ROW, Aim, Pixels, Sighting, part

TILE = 8
"""What changes is known by squares of this many pixels, counted from the corner of the screen."""
NEXT_LEFT, NEXT_RIGHT = 200, 48
"""Words no further from a control than this, with nothing between, are its own; names stand left of it more often."""
JOINED = 12
"""Ink no further apart than this is of one line of words."""
WORDS_TALL, WORDS_WIDE = 40, 96
"""What is taller than this is a picture, and no words; what is no wider carries, as digits do, to what is beside it."""
PANE = 40
"""A line this far up and down from a point divides what is on its two sides."""
CONTROL_WIDE, CONTROL_TALL = 150, 40
"""The border of a control is no further away than this, to the sides and up and down."""
LIKE_TALL, LIKE_APART, LIKE_INK, LIKE_PART = 6, 10, 12, 0.1
"""A control is like another above or below it if what stands this near to its middle is the same but for this part."""
SAME_LINE = 4
"""Cells of a list stand in their rows at the same height, give or take this."""

Tile = tuple[int, int]


@dataclass(frozen=True)
class Stirring:
    """The tiles of a screen, by column and row, that keep changing by themselves; some too fast to be read."""

    tiles: frozenset[Tile] = frozenset()
    fast: frozenset[Tile] = frozenset()


@dataclass(frozen=True)
class Patched:
    """Some rows of a screen, with parts of another picture of it."""

    size: Size
    bgrx: bytes
    top: int


@dataclass(frozen=True)
class _Target:
    """A point, and the lines around it: of its control where they are known, and of its part of the window."""

    at: Point
    left: int | None
    right: int | None
    top: int | None
    bottom: int | None
    pane: tuple[int, int]
    lines: frozenset[int]

    def beside(self, box: Box) -> list[Box]:
        """Return the parts of a box that are not at the target: far from the point, or past a line of its control."""
        at = self.at
        near = box.left <= at.x + NEAR and box.right > at.x - NEAR
        near = near and box.top <= at.y + NEAR and box.bottom > at.y - NEAR
        if not near and None in (self.left, self.right, self.top, self.bottom):
            return [box]
        parts = []
        if self.left is not None and box.left < self.left:
            parts.append(Box(box.left, box.top, min(box.right, self.left) - box.left, box.height))
        if self.top is not None and box.top < self.top:
            parts.append(Box(box.left, box.top, box.width, min(box.bottom, self.top) - box.top))
        if self.right is not None and box.right > (first := max(box.left, self.right + 1)):
            parts.append(Box(first, box.top, box.right - first, box.height))
        if self.bottom is not None and box.bottom > (first := max(box.top, self.bottom + 1)):
            parts.append(Box(box.left, first, box.width, box.bottom - first))
        return parts

    def above_or_below(self, box: Box) -> bool:
        """Say whether a box is on the other side of the line above or below the control."""
        left, right = self.across
        above = self.top is not None and box.bottom < self.top + TILE
        below = self.bottom is not None and box.top > self.bottom - TILE
        return (above or below) and box.left <= right and box.right > left

    @property
    def across(self) -> tuple[int, int]:
        """Where the control begins and ends, as far as that is known."""
        left = self.left if self.left is not None else self.at.x - NEAR
        return left, self.right if self.right is not None else self.at.x + NEAR


def calmed(before: Sighting, now: Sighting, where: Aim, stirring: Stirring) -> Sighting:
    """Return what is there now, but as it was before wherever it keeps changing by itself and says nothing."""
    whole = part(before.pixels, Box(0, before.pixels.top, before.pixels.size.width, _tall(before.pixels)))
    strip = Box(0, now.pixels.top, now.pixels.size.width, _tall(now.pixels))
    shown = part(now.pixels, strip)
    differs = ImageChops.difference(_cut(whole, strip), shown)
    ink = over(edges(whole), WEAK)
    ink.paste(ImageChops.lighter(_cut(ink, strip), over(edges(shown), WEAK)), (0, strip.top))
    aimed = where.points or ((where.clicked,) if where.clicked else ())
    targets = [_target(whole, point) for point in aimed]
    left_out: list[Box] = []
    kept: list[Box] = []
    for tiles in things(stirring.tiles):
        box = _around(tiles)
        if _cut(differs, Box(box.left, box.top - strip.top, box.width, box.height)).getbbox() is None:
            continue
        carried = _carried(differs, strip, box)
        fast = 2 * len(tiles & stirring.fast) > len(tiles)
        boxes = [_box(tile) for tile in tiles] + ([carried] if carried != box else [])
        for target in targets:
            boxes = [left for box in boxes for left in target.beside(box)]
            kept += _words(ink, target, carried, fast=fast)
        left_out += boxes
    return Sighting(_patched(before.pixels, now.pixels, strip, left_out, kept), now.windows) if left_out else now


def things(tiles: frozenset[Tile]) -> Iterator[frozenset[Tile]]:
    """Yield the tiles that belong together: no more than one is between each and the next."""
    left = set(tiles)
    while left:
        found = [left.pop()]
        for x, y in found:
            near = {(x + dx, y + dy) for dx in range(-2, 3) for dy in range(-2, 3)} & left
            left -= near
            found += near
        yield frozenset(found)


def _words(ink: Image.Image, target: _Target, thing: Box, *, fast: bool) -> list[Box]:
    """Return the parts of a thing in a target's row that are words which say which of several like controls it is."""
    at, found = target.at, []
    if thing.bottom <= at.y - ROW or thing.top > at.y + ROW or target.above_or_below(thing):
        return []
    row = _columns(ink, Box(0, at.y - ROW, ink.width, 2 * ROW + 1))
    x, end = max(0, thing.left), min(thing.right, ink.width)
    while x < end:
        _, last = _run(row, target.lines, x, x + 1)
        piece = Box(x, thing.top, min(max(last, x + 1), end) - x, thing.height)
        if row[x] and x not in target.lines and _says_which(ink, row, target, piece, fast=fast):
            found.append(Box(piece.left, at.y - ROW, piece.width, 2 * ROW + 1))
        x = piece.right if row[x] else x + 1
    return found


def _says_which(ink: Image.Image, row: list[int], target: _Target, thing: Box, *, fast: bool) -> bool:
    own = _line(ink, thing, target, target.at.y)
    if own is None or own[1] - own[0] > WORDS_TALL:
        return False
    return (not fast and _is_next(row, target, thing)) or _is_cell(ink, target, thing, own)


def _is_next(row: list[int], target: _Target, thing: Box) -> bool:
    """Say whether a thing is of the words next to a control, with nothing between."""
    left, right = target.across
    first, last = _run(row, target.lines, thing.left, thing.right)
    if first <= right and last > left:
        return True
    if last <= left:
        between = range(last + 1, left - 2)
        return left - last <= NEXT_LEFT and target.pane[0] < last and not any(row[x] for x in between)
    between = range(right + 3, first)
    return first - right <= NEXT_RIGHT and target.pane[1] >= first and not any(row[x] for x in between)


def _is_cell(ink: Image.Image, target: _Target, thing: Box, own: tuple[int, int]) -> bool:
    """Say whether a control like the target, above or below it, has words beside it in the thing's place."""
    for y in _likes(ink, target.at):
        found = _line(ink, thing, target, y)
        if found is not None and all(abs(one - other) <= SAME_LINE for one, other in zip(own, found, strict=True)):
            return True
    return False


def _line(ink: Image.Image, thing: Box, target: _Target, y: int) -> tuple[int, int] | None:
    """Return where, from a row's middle, the ink in a thing's columns begins and ends that is nearest to it, if any.

    That of the controls in the target's own columns does not count.
    """
    first, last = target.across
    column = _cut(ink, Box(thing.left, 0, thing.width, ink.height))
    column.paste(0, (max(0, first - thing.left - 1), 0, max(0, last - thing.left + 2), ink.height))
    _, down = column.getprojection()
    near = [line for line in range(max(0, y - ROW), min(len(down), y + ROW + 1)) if down[line]]
    if not near:
        return None
    top = bottom = min(near, key=lambda line: abs(line - y))
    while top > 0 and down[top - 1]:
        top -= 1
    while bottom + 1 < len(down) and down[bottom + 1]:
        bottom += 1
    return top - y, bottom + 1 - y


def _likes(ink: Image.Image, at: Point) -> Iterator[int]:
    """Yield how far down the middles of controls are that look like the one at a point and stand in its column."""
    rows = _bits(_cut(ink, Box(at.x - NEAR, 0, 2 * NEAR + 1, ink.height)))
    tall = 2 * LIKE_TALL + 1
    first = at.y - LIKE_TALL
    if first < 0 or first + tall > len(rows):
        return
    own = rows[first : first + tall]
    much = sum(row.bit_count() for row in own)
    if much < LIKE_INK:
        return
    for y in range(len(rows) - tall + 1):
        if abs(y - first) < LIKE_APART:
            continue
        wrong = 0
        for one, other in zip(own, rows[y : y + tall], strict=True):
            wrong += (one ^ other).bit_count()
            if wrong > LIKE_PART * much:
                break
        else:
            yield y + LIKE_TALL


def _bits(mask: Image.Image) -> list[int]:
    data = mask.tobytes()
    return [
        int.from_bytes(data[start : start + mask.width]) & int.from_bytes(b"\x01" * mask.width)
        for start in range(0, len(data), mask.width)
    ]


def _carried(differs: Image.Image, strip: Box, box: Box) -> Box:
    """Return a thing with the digits beside it that it carried to: those changed with it, and may do so rarely."""
    if box.height > WORDS_TALL or box.width > WORDS_WIDE:
        return box
    top, bottom = max(box.top, strip.top), min(box.bottom, strip.bottom)
    across, _ = differs.crop((0, top - strip.top, differs.width, bottom - strip.top)).getprojection()
    most = 4 * box.height
    left, right = box.left, min(box.right, len(across))
    for x in range(left - 1, max(0, box.left - most) - 1, -1):
        if across[x]:
            left = x
        elif left - x > JOINED:
            break
    for x in range(right, min(len(across), box.right + most)):
        if across[x]:
            right = x + 1
        elif x - right >= JOINED:
            break
    return Box(left, box.top, right - left, box.height)


def _run(ink: list[int], lines: frozenset[int], first: int, last: int) -> tuple[int, int]:
    """Return where the words begin and end that some columns are of: up to a gap, or to the border of a control."""
    first, last = max(0, first), min(last, len(ink))
    for x in range(first - 1, -1, -1):
        if x in lines or first - x > JOINED:
            break
        first = x if ink[x] else first
    for x in range(last, len(ink)):
        if x in lines or x - last >= JOINED:
            break
        last = x + 1 if ink[x] else last
    return first, last


def _target(whole: Image.Image, at: Point) -> _Target:
    beside = _cut(whole, Box(0, at.y - LINE, whole.width, 2 * LINE + 1))
    over_it = _cut(whole, Box(at.x - LINE, 0, 2 * LINE + 1, whole.height)).transpose(Image.Transpose.TRANSPOSE)
    far = _cut(whole, Box(0, at.y - PANE, whole.width, 2 * PANE + 1))
    lines, panes = _full(beside), _full(far)
    left, right = _nearest(lines, at.x, CONTROL_WIDE)
    top, bottom = _nearest(_full(over_it), at.y, CONTROL_TALL)
    pane = max((x for x in panes if x <= at.x), default=0), min((x for x in panes if x > at.x), default=whole.width)
    return _Target(at, left, right, top, bottom, pane, frozenset(lines))


def _nearest(lines: list[int], at: int, most: int) -> tuple[int | None, int | None]:
    before = [line for line in lines if at - most <= line <= at]
    after = [line for line in lines if at < line <= at + most]
    return (before[-1] if before else None), (after[0] if after else None)


def _full(picture: Image.Image) -> list[int]:
    """Return the columns that are all edge."""
    holed, _ = ImageChops.invert(over(edges(picture), WEAK)).getprojection()
    return [x for x, hole in enumerate(holed) if not hole]


def _columns(ink: Image.Image, band: Box) -> list[int]:
    across, _ = _cut(ink, band).getprojection()
    return list(across)


def _patched(before: Pixels, now: Pixels, strip: Box, left_out: list[Box], kept: list[Box]) -> Patched:
    mask = Image.new("L", (strip.width, strip.height))
    for boxes, value in ((left_out, 255), (kept, 0)):
        for box in boxes:
            mask.paste(value, (box.left, box.top - strip.top, box.right, box.bottom - strip.top))
    line = 4 * strip.width
    known = before.bgrx[(strip.top - before.top) * line : (strip.bottom - before.top) * line]
    one, other = (Image.frombytes("RGBA", mask.size, bytes(pixels)) for pixels in (known, now.bgrx))
    return Patched(now.size, Image.composite(one, other, mask).tobytes(), strip.top)


def _tall(pixels: Pixels) -> int:
    return len(pixels.bgrx) // (4 * pixels.size.width)


def _cut(picture: Image.Image, box: Box) -> Image.Image:
    """Return a part of a picture, as far as it goes."""
    left, top = min(max(0, box.left), picture.width), min(max(0, box.top), picture.height)
    return picture.crop(
        (left, top, max(left, min(picture.width, box.right)), max(top, min(picture.height, box.bottom)))
    )


def _box(tile: Tile) -> Box:
    return Box(tile[0] * TILE, tile[1] * TILE, TILE, TILE)


def _around(tiles: frozenset[Tile]) -> Box:
    columns, rows = [x for x, _ in tiles], [y for _, y in tiles]
    left, top = min(columns) * TILE, min(rows) * TILE
    return Box(left, top, (max(columns) + 1) * TILE - left, (max(rows) + 1) * TILE - top)
