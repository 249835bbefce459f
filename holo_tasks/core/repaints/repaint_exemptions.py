"""Choose which self-repainting regions a comparison before input may ignore: only harmless ones.

For a press, a region is ignored if it is on another panel right of the target, unless both belong to one table. On the
same panel nothing is ignored, however regular, because ticking text may identify the row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from PIL import Image

from holo_tasks.core.repaints.repaint_rhythm import TILE, RepaintingArea
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.likeness import FAINT_EDGE, edges, mask_at_least
from holo_tasks.core.screen.recheck import (
    NEAR,
    ROW,
    InputTarget,
    Pixels,
    Sighting,
    Strip,
    WindowStack,
    focused_box,
    part,
)
from holo_tasks.core.screen.row_alignment import blank, content_mask, film, may_be_in_rows
from holo_tasks.core.screen.separate_panels import blank_gap

SMALL, SWIFT, ALL = 0.05, 0.3, 0.3
"""Largest shares of the focused window, for keys: of a region, of an unreadable region, and of all ignored regions."""
MOST = 8
"""Most regions in the rows of a point. With more, nothing is ignored: checking each takes some milliseconds."""
WIDER_THAN_ANY = 1 << 16
LARGEST = 0.25
"""Share of the screen above which a region is too large to ignore."""


class _Beyond(NamedTuple):
    """The gap between a point and a region on its right, the region's part beyond the gap, and whether that was
    blank."""

    gap: Box
    clear: Box
    blank: bool


class RepaintExemptions:
    """The regions that one comparison ignores. Each region is checked once, because the screen keeps changing."""

    def __init__(self, before: Sighting, where: InputTarget) -> None:
        self._before = before
        self._where = where
        self._points = where.points or ((where.clicked,) if where.clicked is not None else ())
        self._known: dict[tuple[Point, Box], _Beyond | None] = {}
        self._written: dict[Box, tuple[Image.Image, Image.Image]] = {}

    def without_repaints(self, now: Sighting, areas: Iterable[RepaintingArea]) -> Sighting:
        """Return the current screen with its harmless self-repainting regions restored to their earlier pixels."""
        before, size = self._before, now.pixels.size
        if before.pixels.size != size or before.windows.panes != now.windows.panes:
            return now
        most = LARGEST * size.width * size.height
        small = [area for area in areas if area.box.width * area.box.height <= most]
        if any(sum(_shares_rows(at, area.box) for area in small) > MOST for at in self._points):
            return now
        found = []
        for area in small:
            box: Box | None = area.box
            for point in self._points:
                box = box and self._irrelevant_part(now, point, box, area.swift)
            if box is not None:
                found.append(RepaintingArea(box, area.swift))
        left_out = [area.box for area in found] if self._where.points else _negligible(found, now.windows, size)
        return Sighting(_with_earlier_pixels(before.pixels, now.pixels, left_out), now.windows) if left_out else now

    def _irrelevant_part(self, now: Sighting, at: Point, box: Box, swift: bool) -> Box | None:
        """Return the part of a box that is irrelevant for a point: in other rows, or on a panel to the right."""
        if Box.near(at, NEAR, NEAR).intersects(box):
            return None
        if not _shares_rows(at, box):
            return box
        if (at, box) not in self._known:
            self._known[at, box] = self._part_beyond_gap(at, box, swift)
        known = self._known[at, box]
        if known is None:
            return None
        top, bottom = now.pixels.top, now.pixels.top + _height(now.pixels)
        # The gap must still be there, within the captured rows, and a blank place must still have no text.
        first, last = max(known.gap.top, top), min(known.gap.bottom, bottom)
        still = Box(known.gap.left - 1, first, known.gap.width + 2, last - first)
        if last <= first or part(self._before.pixels, still).tobytes() != part(now.pixels, still).tobytes():
            return None
        first, last = max(top, at.y - ROW), min(bottom, at.y + ROW + 1)
        row = Box(known.clear.left, first, known.clear.width, last - first)
        if known.blank and _edge_mask(self._before.pixels, row) != _edge_mask(now.pixels, row):
            return None
        return known.clear

    def _part_beyond_gap(self, at: Point, box: Box, swift: bool) -> _Beyond | None:
        """Return the part of a box beyond a gap right of a point.

        Returns ``None`` without a gap, or if rows may continue across it.
        """
        pane, size = self._before.windows.under(at), self._before.pixels.size
        if pane is None or box.left <= at.x:
            return None
        window = pane.box.cut_to(Box.whole(size))
        left, top, right, _ = window.corners
        if window not in self._written:
            picture = part(self._before.pixels, window)
            self._written[window] = picture, content_mask(picture)
        picture, ink = self._written[window]
        inside = Point(at.x - left, at.y - top)
        found = blank_gap(picture, inside, min(box.right, right) - left)
        # The box consists of whole tiles with a rim, so it may begin a little left of the gap.
        if found is None or left + found.left >= box.left + 2 * TILE:
            return None
        clear = max(box.left, left + found.right)
        beside = Box(clear - left, box.top - top, box.right - clear, box.height)
        one = swift and beside.width > 0 and film(picture, beside)
        if beside.width <= 0 or may_be_in_rows(ink, inside, found, beside, is_single=one):
            return None
        between = found.moved(left, top)
        return _Beyond(between, Box(clear, box.top, beside.width, box.height), not one and blank(ink, inside, beside))


def _edge_mask(pixels: Pixels, area: Box) -> bytes:
    return mask_at_least(edges(part(pixels, area)), FAINT_EDGE).tobytes()


def _shares_rows(at: Point, box: Box) -> bool:
    return Box.near(at, WIDER_THAN_ANY, ROW).intersects(box)


def _negligible(areas: list[RepaintingArea], windows: WindowStack, size: Size) -> list[Box]:
    """Return the boxes if they cover little of the focused window, else an empty list.

    The same keys then still mean the same in the window.
    """
    window = focused_box(windows, Box.whole(size))
    whole = window.width * window.height
    boxes = [area.box for area in areas if area.box.width * area.box.height <= (SWIFT if area.swift else SMALL) * whole]
    return boxes if sum(box.width * box.height for box in boxes) <= ALL * whole else []


def _with_earlier_pixels(before: Pixels, now: Pixels, boxes: Iterable[Box]) -> Strip:
    pixels, line = bytearray(now.bgrx), 4 * now.size.width
    for box in boxes:
        left, right = 4 * max(0, box.left), 4 * min(now.size.width, box.right)
        for y in range(max(now.top, box.top), min(now.top + _height(now), box.bottom)):
            at, was = (y - now.top) * line, (y - before.top) * line
            pixels[at + left : at + right] = before.bgrx[was + left : was + right]
    return Strip(now.size, pixels, now.top)


def _height(pixels: Pixels) -> int:
    return len(pixels.bgrx) // (4 * pixels.size.width)
