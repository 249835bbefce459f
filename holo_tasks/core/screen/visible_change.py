"""Find the differences between two frames that a person would call an effect of a press.

A press also leaves marks that are no effect: the pressed look of a control, a focus ring, a text caret, a tooltip. The
functions here ignore those. Places on the screen are tiles: squares of `TILE` pixels, by column and row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import TypeAlias

from PIL import Image, ImageChops

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.likeness import edges, has_letter_sized_shape, mask_at_least, show_different_letters
from holo_tasks.core.screen.recheck import CARET_SHORT, CARET_TALL, CARET_WIDE
from holo_tasks.core.screen.verdicts import changed_box

TILE = 16
Tile: TypeAlias = tuple[int, int]
FAINT = 12
"""Least difference in one channel of a pixel that counts."""
LARGE = 0.2
"""A change of this share of the screen is an effect, whatever its shape."""
FEW = 3
"""Fewer changed pixels than this are noise."""
RING = 24
"""A change that is thin everywhere and at least this long, in pixels, is a focus ring or a line."""
CONTROL_WIDE, CONTROL_TALL = 640, 120
"""Largest change, in pixels, that a control's own look makes."""
AT_POINT = 12
"""Largest distance, in pixels, between the pressed point and the change of a control's look."""
FIELD_WIDE, FIELD_TALL = 300, 18
"""Distance in pixels, across and down, from the focused point within which typed text shows."""
TIP_TALL, TIP_WIDE, TIP_FAR, FRAMED = 48, 520, 48, 0.85
"""Limits of a tooltip: its largest size and distance from the pointer in pixels, and the share of its border that
differs.
"""
SET = re.compile(rb"[^\0]+")
"""Neighboring set pixels of a row."""
MOST_SPOTS = 40
"""More separate changes than this are an effect, whatever their shapes."""


def effect_tiles(before: Frame, now: Frame, pressed: Sequence[Point], written: Point | None = None) -> frozenset[Tile]:
    """Return the tiles of ``now`` with a change that is more than a mark of a press.

    ``pressed`` are the points that the pointer pressed. ``written`` is the focused point if text was typed. If the
    frames differ in size, all tiles are returned.
    """
    if before.size != now.size:
        return frozenset(_tiles_in(Box.whole(now.size)))
    box = changed_box(before, now)
    if box is None:
        return frozenset()
    area = box.grown(2 * TILE).cut_to(Box.whole(now.size))
    old, new = _part(before, area), _part(now, area)
    mask = _difference(old, new)
    if mask.histogram()[255] > LARGE * now.size.width * now.size.height:
        return _touched(mask, area)
    if written is not None:
        _erase(mask, Box.near(written, FIELD_WIDE, FIELD_TALL).moved(-area.left, -area.top))
    for point in pressed:
        at = Point(point.x - area.left, point.y - area.top)
        look = _look(mask, at)
        if look is not None and not show_different_letters(
            edges(old.crop(look.corners)), edges(new.crop(look.corners))
        ):
            _erase(mask, look)
    found: set[Tile] = set()
    spots = _spots(_touched(mask, area))
    points = [Point(each.x - area.left, each.y - area.top) for each in pressed]
    for spot in spots:
        if len(spots) > MOST_SPOTS or _is_effect(mask, _box_of(spot).moved(-area.left, -area.top), points):
            found |= spot
    return frozenset(found)


def moving_tiles(earlier: Frame, later: Frame) -> frozenset[Tile]:
    """Return the tiles in which a screen changed by itself between two captures, without a blinking text caret."""
    if earlier.size != later.size:
        return frozenset(_tiles_in(Box.whole(later.size)))
    box = changed_box(earlier, later)
    if box is None:
        return frozenset()
    mask = _difference(_part(earlier, box), _part(later, box))
    found: set[Tile] = set()
    spots = _spots(_touched(mask, box))
    for spot in spots:
        if len(spots) > MOST_SPOTS or not _is_caret(_bounds(mask, _box_of(spot).moved(-box.left, -box.top))):
            found |= spot
    return frozenset(found)


def around(tiles: Collection[Tile]) -> frozenset[Tile]:
    """Return tiles and their neighbors, which may move with them at another time."""
    return frozenset((x + dx, y + dy) for x, y in tiles for dx, dy in product(range(-2, 3), range(-1, 2)))


def is_large(tiles: Collection[Tile], frame: Frame) -> bool:
    """Return whether tiles cover so large a part of the screen that only an effect can have changed them all."""
    return len(tiles) * TILE * TILE > LARGE * frame.size.width * frame.size.height


def _part(frame: Frame, box: Box) -> Image.Image:
    width = frame.size.width
    rows = frame.rgb[3 * width * box.top : 3 * width * box.bottom]
    whole = Image.frombuffer("RGB", (width, box.height), rows, "raw", "RGB", 0, 1)
    return whole if box.width == width else whole.crop((box.left, 0, box.right, box.height))


def _difference(old: Image.Image, new: Image.Image) -> Image.Image:
    """Return a mask of the pixels that differ."""
    red, green, blue = ImageChops.difference(old, new).split()
    return mask_at_least(ImageChops.lighter(ImageChops.lighter(red, green), blue), FAINT)


def _erase(mask: Image.Image, box: Box) -> None:
    if (inside := box.intersection(Box(0, 0, mask.width, mask.height))) is not None:
        mask.paste(0, inside.corners)


def _look(mask: Image.Image, at: Point) -> Box | None:
    """Return the box of the change that a control's own look makes at a point, or ``None``.

    It is ``None`` if nothing changed near the point, or the change is too large for a control.
    """
    reach = Box.near(at, CONTROL_WIDE, CONTROL_TALL).intersection(Box(0, 0, mask.width, mask.height))
    near = Box.near(at, AT_POINT, AT_POINT).intersection(Box(0, 0, mask.width, mask.height))
    if reach is None or near is None:
        return None
    small = mask.crop(reach.corners).reduce(4)
    seeds = {
        (min((x - reach.left) // 4, small.width - 1), min((y - reach.top) // 4, small.height - 1))
        for y, x in product(range(near.top, near.bottom, 4), range(near.left, near.right, 4))
    }
    found = _connected(small, seeds)
    if found is None:
        return None
    left, top, right, bottom = (4 * each for each in found)
    box = Box.of_corners(reach.left + left - 2, reach.top + top - 2, reach.left + right + 2, reach.top + bottom + 2)
    box = box.cut_to(Box(0, 0, mask.width, mask.height))
    return box if box.width <= CONTROL_WIDE and box.height <= CONTROL_TALL else None


def _connected(mask: Image.Image, seeds: Collection[tuple[int, int]]) -> tuple[int, int, int, int] | None:
    """Return the corners around the set pixels that are connected with a seed, not diagonally; ``None`` without any."""
    pixels, width = mask.tobytes(), mask.width
    rows = [[each.span() for each in SET.finditer(pixels[at : at + width])] for at in range(0, len(pixels), width)]
    edge = [(y, run) for x, y in seeds for run in rows[y] if run[0] <= x < run[1]]
    found = set(edge)
    while edge:
        y, (left, right) = edge.pop()
        for near in {max(0, y - 1), min(len(rows) - 1, y + 1)}:
            touching = {(near, run) for run in rows[near] if run[0] < right and left < run[1]} - found
            found |= touching
            edge += touching
    if not found:
        return None
    tops, runs = zip(*found, strict=True)
    return min(left for left, _ in runs), min(tops), max(right for _, right in runs), max(tops) + 1


def _is_effect(mask: Image.Image, box: Box, pressed: Sequence[Point]) -> bool:
    """Return whether the changes in a box of the mask are an effect, and not a caret, ring, tooltip or noise."""
    bounds = _bounds(mask, box)
    if bounds is None or _is_caret(bounds):
        return False
    inside = mask.crop(bounds.corners)
    if inside.histogram()[255] < FEW or any(_is_tip(inside, bounds, point) for point in pressed):
        return False
    return max(bounds.width, bounds.height) < RING or has_letter_sized_shape(inside)


def _is_tip(inside: Image.Image, bounds: Box, pointer: Point) -> bool:
    """Return whether a change looks like a tooltip: a framed box close above or below the pointer."""
    if not (2 * TILE <= bounds.width <= TIP_WIDE and 12 <= bounds.height <= TIP_TALL):
        return False
    if not (bounds.left - TIP_FAR <= pointer.x <= bounds.right + TIP_FAR) or bounds.contains(pointer):
        return False
    if max(bounds.top - pointer.y, pointer.y - bounds.bottom) > TIP_FAR:
        return False
    width, height = inside.size
    sides = [(0, 0, width, 1), (0, height - 1, width, height), (0, 0, 1, height), (width - 1, 0, width, height)]
    counts = [inside.crop(side).histogram()[255] for side in sides]
    return all(count >= FRAMED * long for count, long in zip(counts, (width, width, height, height), strict=True))


def _is_caret(bounds: Box | None) -> bool:
    return bounds is not None and bounds.width <= CARET_WIDE and CARET_SHORT <= bounds.height <= CARET_TALL


def _bounds(mask: Image.Image, box: Box) -> Box | None:
    """Return the smallest box around the changes in a box of the mask."""
    inside = box.intersection(Box(0, 0, mask.width, mask.height))
    found = None if inside is None else mask.crop(inside.corners).getbbox()
    if inside is None or found is None:
        return None
    left, top, right, bottom = found
    return Box.of_corners(left, top, right, bottom).moved(inside.left, inside.top)


def _touched(mask: Image.Image, area: Box) -> frozenset[Tile]:
    """Return the tiles of the screen in which a mask of an area has set pixels."""
    aligned = Image.new("L", (mask.width + area.left % TILE, mask.height + area.top % TILE))
    aligned.paste(mask, (area.left % TILE, area.top % TILE))
    small = aligned.reduce(TILE)
    # One set pixel of the 256 in a tile gives a mean that rounds to 1; in a tile cut at the edge it gives more.
    set_in = small.tobytes()
    first_x, first_y = area.left // TILE, area.top // TILE
    return frozenset(
        (first_x + number % small.width, first_y + number // small.width)
        for number, value in enumerate(set_in)
        if value
    )


def _spots(tiles: Collection[Tile]) -> list[frozenset[Tile]]:
    """Group tiles that touch each other."""
    left, found = set(tiles), []
    while left:
        spot, edge = set[Tile](), [left.pop()]
        while edge:
            spot.add(tile := edge.pop())
            near = {(tile[0] + dx, tile[1] + dy) for dx, dy in product((-1, 0, 1), repeat=2)} & left
            left -= near
            edge += near
        found.append(frozenset(spot))
    return found


def _box_of(spot: Collection[Tile]) -> Box:
    return Box.around(Box(x * TILE, y * TILE, TILE, TILE) for x, y in spot)


def _tiles_in(box: Box) -> Iterator[Tile]:
    return product(range(box.left // TILE, -(-box.right // TILE)), range(box.top // TILE, -(-box.bottom // TILE)))
