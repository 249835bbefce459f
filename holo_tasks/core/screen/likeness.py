"""Check whether a point of a screen still shows the same text or icon, whatever its colors.

A press changes the look of its target: a pressed state, a highlight, a caret, a focus ring. These change colors, draw
thin lines, or shift everything by a pixel. If letters turn into other letters, the content is different.

`differs` is the main function. `desktop.input.gesture_looks` calls it between the presses of one gesture.
"""

from __future__ import annotations

from functools import cache

from PIL import Image, ImageChops, ImageOps

from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.recheck import Pixels, part

ACROSS, DOWN = 48, 12
"""Distance in pixels from a point, across and down, within which content identifies the target of a press."""
REACH = 400
"""If nothing is that near, the row in the same control is compared, and if that is blank, the whole control.
Both end at this distance in pixels.
"""
CLEAR_EDGE, FAINT_EDGE = 60, 20
"""A pixel is a clear edge if it differs from its left neighbor by ``CLEAR_EDGE`` levels. In other colors the same edge
may be fainter: it counts as still there from ``FAINT_EDGE`` levels on.
"""
SHIFTS = ((0, 0), (1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
"""Pixels by which a button that looks pressed may shift its text."""
JOINED, LUMP = 2, 4
"""Edges up to ``JOINED`` pixels apart belong to one letter. A lump reaches ``LUMP`` pixels to all sides of its middle;
lines and carets do not.
"""
LINE = 8
"""A line that spans this distance to both sides of the point is the border of a control."""


def differs(before: Pixels, now: Pixels, at: Point, *, near: bool = False) -> bool:
    """Return whether a point shows another text or icon. ``near`` compares only within `ACROSS` and `DOWN`."""
    whole = Box(0, now.top, now.size.width, len(now.bgrx) // (4 * now.size.width))
    whole = _overlap(whole, Box(at.x - REACH, at.y - REACH, 2 * REACH + 1, 2 * REACH + 1))
    old, new = part(before, whole), part(now, whole)
    x, y = at.x - whole.left, at.y - whole.top
    left, top, right, bottom = _control_corners(old, x, y)
    row = max(top, y - DOWN), min(bottom, y + DOWN + 1)
    places = [(max(left, x - ACROSS), row[0], min(right, x + ACROSS + 1), row[1])]
    if not near:
        places += [(left, row[0], right, row[1]), (left, top, right, bottom)]
    for place in places:
        one, other = edges(old.crop(place)), edges(new.crop(place))
        if has_letter_sized_shape(mask_at_least(one, CLEAR_EDGE)) or has_letter_sized_shape(
            mask_at_least(other, CLEAR_EDGE)
        ):
            return show_different_letters(one, other)
    return False


def rows_to_compare(at: Point) -> tuple[int, int]:
    """Return the first row of the screen to compare and the row after the last. Both may be off the screen."""
    return at.y - REACH, at.y + REACH + 1


def may_be_same_target(one: Point, other: Point) -> bool:
    """Return whether the areas overlap that identify the targets at two points (`ACROSS`, `DOWN`)."""
    return abs(one.x - other.x) <= 2 * ACROSS and abs(one.y - other.y) <= 2 * DOWN


def _control_corners(picture: Image.Image, x: int, y: int) -> tuple[int, int, int, int]:
    """Return the left, top, right and bottom of the control around a point, bounded by the next line on each side."""
    across = mask_at_least(edges(picture.crop((0, max(0, y - LINE), picture.width, y + LINE + 1))), FAINT_EDGE)
    turned = picture.crop((max(0, x - LINE), 0, x + LINE + 1, picture.height)).transpose(Image.Transpose.TRANSPOSE)
    down = mask_at_least(edges(turned), FAINT_EDGE)
    left, right = _between_lines(across, x)
    top, bottom = _between_lines(down, y)
    return left, top, right, bottom


def _between_lines(found: Image.Image, at: int) -> tuple[int, int]:
    """Return the column after the last full-height line up to ``at``, and the column of the next such line."""
    holed, _ = ImageChops.invert(found).getprojection()
    lines = [column for column, hole in enumerate(holed) if not hole]
    first = max((line + 1 for line in lines if line <= at), default=0)
    return first, min((line for line in lines if line > at), default=found.width)


def show_different_letters(one: Image.Image, other: Image.Image) -> bool:
    """Return whether two edge pictures (see `edges`) show different letters, for every shift in `SHIFTS`."""
    strong, weak = mask_at_least(one, CLEAR_EDGE), mask_at_least(one, FAINT_EDGE)
    other_strong, other_weak = mask_at_least(other, CLEAR_EDGE), mask_at_least(other, FAINT_EDGE)
    for across, down in SHIFTS:
        gone = ImageChops.subtract(strong, ImageChops.offset(other_weak, across, down))
        come = ImageChops.subtract(ImageChops.offset(other_strong, across, down), weak)
        if not has_letter_sized_shape(ImageChops.lighter(gone, come)):
            return False
    return True


def has_letter_sized_shape(mask: Image.Image) -> bool:
    """Return whether a mask has something that is as large as a letter in both directions.

    The whole mask is one number with a bit for each pixel, so each step handles thousands of pixels at once. The border
    keeps the rows apart.
    """
    wide = ImageOps.expand(mask, 2 * LUMP)
    row = 8 * -(-wide.width // 8)
    bits = int.from_bytes(wide.convert("1", dither=Image.Dither.NONE).tobytes())
    for unit in (1, row):
        bits = _any_of(bits, 2 * JOINED + 1, unit)
    for unit in (1, row):
        bits = _all_of(bits, 2 * LUMP + 1, unit)
    return bits != 0


def _any_of(bits: int, count: int, unit: int) -> int:
    """Return the bits that are set, or that have a set bit up to ``count`` - 1 units below."""
    found, reach = bits, 1
    while reach < count:
        step = min(reach, count - reach)
        found, reach = found | found << step * unit, reach + step
    return found


def _all_of(bits: int, count: int, unit: int) -> int:
    """Return the bits that are set, and that have only set bits up to ``count`` - 1 units below."""
    found, reach = bits, 1
    while reach < count:
        step = min(reach, count - reach)
        found, reach = found & found << step * unit, reach + step
    return found


def edges(picture: Image.Image) -> Image.Image:
    """Return for each pixel how much it differs from its left neighbor."""
    red, green, blue = ImageChops.difference(picture, ImageChops.offset(picture, 1, 0)).split()
    found = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    found.paste(0, (0, 0, 1, found.height))
    return found


def mask_at_least(found: Image.Image, least: int) -> Image.Image:
    """Return a mask of the pixels with at least the value ``least``."""
    return found.point(_levels(least))


@cache
def _levels(least: int) -> list[int]:
    return [255 if value >= least else 0 for value in range(256)]


def _overlap(one: Box, other: Box) -> Box:
    left, top = max(one.left, other.left), max(one.top, other.top)
    right, bottom = min(one.right, other.right), min(one.bottom, other.bottom)
    return Box(left, top, max(0, right - left), max(0, bottom - top))
