"""Check whether a place that repaints itself still shows the same kind of thing, such as a clock and not a name.

The shape of a place is the set of columns that have ink. The digits of a clock share their columns; a word uses others.
"""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageChops

from holo_tasks.core.repaints.repaint_rhythm import SAME_S, TILE, RepaintingArea
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.likeness import mask_at_least
from holo_tasks.core.screen.recheck import Sighting, part

INK = 48
"""Gray levels by which a pixel must differ from the background to count as ink."""
GAP, EDGE = 2, 3
"""Tolerances in pixels for letters up to `SMALL` pixels high; larger letters scale them.

Ink columns up to twice ``GAP`` apart belong together. Two digits differ in at most ``EDGE`` columns.
"""
SMALL = 12
OFTEN = 3
"""A place that changed its shape this often, such as a banner, has no fixed shape."""
MOST = 64
"""Most places that are remembered."""


def have_different_shapes(before: Image.Image, now: Image.Image) -> bool:
    """Return whether two grayscale pictures of a place show things of different shapes."""
    one, other = _ink(before), _ink(now)
    boxes = [box for box in (one.getbbox(), other.getbbox()) if box is not None]
    if not boxes:
        return False
    larger = max(1.0, max(bottom - top for _, top, _, bottom in boxes) / SMALL)
    differ = zip(_columns(one, round(GAP * larger)), _columns(other, round(GAP * larger)), strict=True)
    return sum(left != right for left, right in differ) > EDGE * larger


class PlaceShapes:
    """The shapes that places of one screen had, and how often each changed."""

    def __init__(self) -> None:
        self._known: dict[Box, tuple[Image.Image, int]] = {}

    def note(self, box: Box, now: Image.Image) -> None:
        """Record the picture of a place after a repaint."""
        before, times = self._known.get(box, (now, 0))
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[box] = now, min(OFTEN, times + have_different_shapes(before, now))

    def vary(self, box: Box) -> bool:
        """Return whether a place keeps changing its shape."""
        return any(times >= OFTEN and box.intersects(place) for place, (_, times) in self._known.items())

    def forget(self) -> None:
        """Forget all places."""
        self._known.clear()


class ShapeChanges:
    """Places whose shape changed since the picture that a comparison started from.

    Each must repaint once more to be trusted.
    """

    def __init__(self, before: Sighting) -> None:
        self._before = before
        self._doubted_since_s: dict[Box, float] = {}

    def with_same_shape(self, now: Sighting, areas: Sequence[RepaintingArea]) -> tuple[RepaintingArea, ...]:
        """Return the regions that still have their shape, or that were repainted again after their shape changed."""
        return tuple(area for area in areas if area.swift or area.varied or self._is_confirmed(now, area))

    def _is_confirmed(self, now: Sighting, area: RepaintingArea) -> bool:
        pixels = now.pixels
        first, last = pixels.top, pixels.top + len(pixels.bgrx) // (4 * pixels.size.width)
        inside = area.box.grown(-TILE).intersection(Box(0, first, pixels.size.width, last - first))
        if inside is None or self._before.pixels.size != pixels.size:
            return True
        doubted_s = self._doubted_since_s.get(area.box)
        if doubted_s is None:
            if not have_different_shapes(
                part(self._before.pixels, inside).convert("L"), part(pixels, inside).convert("L")
            ):
                return True
            doubted_s = self._doubted_since_s[area.box] = area.last_s
        return area.last_s > doubted_s + SAME_S


def _ink(picture: Image.Image) -> Image.Image:
    shades = picture.histogram()
    ground = Image.new("L", picture.size, shades.index(max(shades)))
    return mask_at_least(ImageChops.difference(picture, ground), INK)


def _columns(ink: Image.Image, gap: int) -> bytes:
    """Return for each column whether it has ink, or lies in a small gap between two columns with ink."""
    columns = bytearray(ink.getprojection()[0])
    last = -1
    for x, inked in enumerate(columns):
        if inked:
            if last >= 0 and x - last <= 2 * gap:
                columns[last:x] = bytes([inked]) * (x - last)
            last = x
    return bytes(columns)
