"""What keeps being repainted by itself, and which of it a comparison before input leaves out: only what is harmless.

For a press that is what stands on another sheet, right of the one that is pressed on, unless both are of one table. On
the same sheet nothing is left out, however regular it is: words that tick may say which row it is as any others do.
"""

from __future__ import annotations

from collections.abc import Iterable

from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.core.recheck import NEAR, ROW, Aim, Arrangement, Pixels, Sighting, Strip, keyed, part
from holo_tasks.core.rhythm import TILE, Stir
from holo_tasks.core.sheets import ground
from holo_tasks.core.tables import aligned

SMALL, SWIFT, ALL = 0.05, 0.3, 0.3
"""Keys go to a window in which a box no larger than this part of it, or than this one if nobody can read it, is
repainted by itself; and all such boxes together are no larger than this."""
ASIDE = 128
"""So far left of a point and right of a box its window is looked at, to know whether they are on two sheets."""
LARGEST = 0.25
"""What takes more of a screen than this is no thing beside others."""


def calmed(before: Sighting, now: Sighting, where: Aim, stirs: Iterable[Stir]) -> Sighting:
    """Return what is there now, but as it was before wherever that is repainted by itself and says nothing."""
    size = now.pixels.size
    if before.pixels.size != size or before.windows.panes != now.windows.panes:
        return now
    most = LARGEST * size.width * size.height
    points = where.points or ((where.clicked,) if where.clicked is not None else ())
    found = []
    for stir in stirs:
        box: Box | None = stir.box
        for point in points:
            box = box and _beside(before, now, point, box)
        if box is not None and stir.box.width * stir.box.height <= most:
            found.append(Stir(box, stir.swift))
    left_out = [stir.box for stir in found] if where.points else _little(found, now.windows, size)
    return Sighting(_patched(before.pixels, now.pixels, left_out), now.windows) if left_out else now


def _beside(before: Sighting, now: Sighting, at: Point, box: Box) -> Box | None:
    """Return what of a box has nothing to do with a point: it is in other rows, or on a sheet right of the point's."""
    if _within(at, box, NEAR, NEAR):
        return None
    if not _within(at, box, before.pixels.size.width, ROW):
        return box
    pane = before.windows.under(at)
    if pane is None or box.left <= at.x:
        return None
    size = now.pixels.size
    left, top = max(0, pane.box.left, at.x - ASIDE), max(0, pane.box.top)
    right, bottom = min(size.width, pane.box.right, box.right + ASIDE), min(size.height, pane.box.bottom)
    picture = part(before.pixels, Box(left, top, right - left, bottom - top))
    inside = Point(at.x - left, at.y - top)
    found = ground(picture, inside, min(box.right, right) - left)
    # The box is of whole squares, with a rim, so that it may begin a little before the ground does.
    if found is None or left + found.left >= box.left + 2 * TILE:
        return None
    # The ground must be there still, as far as was looked.
    first = max(top + found.top, now.pixels.top)
    last = min(top + found.bottom, now.pixels.top + _tall(now.pixels))
    still = Box(left + found.left - 1, first, found.width + 2, last - first)
    if last <= first or part(before.pixels, still).tobytes() != part(now.pixels, still).tobytes():
        return None
    clear = max(box.left, left + found.right)
    beside = Box(clear - left, box.top - top, box.right - clear, box.height)
    if beside.width <= 0 or aligned(picture, inside, beside, found.top, found.bottom):
        return None
    return Box(clear, box.top, beside.width, box.height)


def _within(at: Point, box: Box, across: int, down: int) -> bool:
    """Say whether a part of a box is no further from a point than this."""
    beside = box.left <= at.x + across and box.right > at.x - across
    return beside and box.top <= at.y + down and box.bottom > at.y - down


def _little(stirs: list[Stir], windows: Arrangement, size: Size) -> list[Box]:
    """Return the boxes that are so little of the window with the keyboard that its keys mean the same; all or none."""
    window = keyed(windows, Box(0, 0, size.width, size.height))
    whole = window.width * window.height
    boxes = [stir.box for stir in stirs if stir.box.width * stir.box.height <= (SWIFT if stir.swift else SMALL) * whole]
    return boxes if sum(box.width * box.height for box in boxes) <= ALL * whole else []


def _patched(before: Pixels, now: Pixels, boxes: Iterable[Box]) -> Strip:
    pixels, line = bytearray(now.bgrx), 4 * now.size.width
    for box in boxes:
        left, right = 4 * max(0, box.left), 4 * min(now.size.width, box.right)
        for y in range(max(now.top, box.top), min(now.top + _tall(now), box.bottom)):
            at, was = (y - now.top) * line, (y - before.top) * line
            pixels[at + left : at + right] = before.bgrx[was + left : was + right]
    return Strip(now.size, pixels, now.top)


def _tall(pixels: Pixels) -> int:
    return len(pixels.bgrx) // (4 * pixels.size.width)
