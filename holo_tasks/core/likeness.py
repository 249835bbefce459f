"""Whether a point of a screen still shows the same text or sign, whatever became of its colors.

A press leaves marks on what it was made on: a pressed look, a highlight, a caret, a ring around it. They change
colors, draw thin lines, or move all of it by a pixel. Letters that became other letters are something else.
"""

from __future__ import annotations

from PIL import Image, ImageChops, ImageFilter, ImageOps

from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.recheck import Pixels, part

ACROSS, DOWN = 48, 12
"""What stands this near to a point says what a press there is for."""
REACH = 400
"""If nothing does, what stands in the same row, or else in the same control, no further away than this."""
STRONG, WEAK = 60, 20
"""A pixel this different from the one beside it is an edge; with other colors at least this much is left of it."""
SHIFTS = ((0, 0), (1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
"""A button that looks pressed may show its text that many pixels further right and down."""
JOINED, LUMP = 2, 4
"""Edges this near to each other are of one letter; lines and carets, once joined so, are less wide than a lump is to
both sides of its middle."""
LINE = 8
"""A line this far to both sides of the point is the border of a control."""


def differs(before: Pixels, now: Pixels, at: Point, *, near: bool = False) -> bool:
    """Say whether another text or sign stands at a point; ``near`` says that only what is close to it counts."""
    whole = Box(0, now.top, now.size.width, len(now.bgrx) // (4 * now.size.width))
    whole = _common(whole, Box(at.x - REACH, at.y - REACH, 2 * REACH + 1, 2 * REACH + 1))
    old, new = part(before, whole), part(now, whole)
    x, y = at.x - whole.left, at.y - whole.top
    left, top, right, bottom = _control(old, x, y)
    row = max(top, y - DOWN), min(bottom, y + DOWN + 1)
    places = [(max(left, x - ACROSS), row[0], min(right, x + ACROSS + 1), row[1])]
    if not near:
        places += [(left, row[0], right, row[1]), (left, top, right, bottom)]
    for place in places:
        one, other = edges(old.crop(place)), edges(new.crop(place))
        if has_lump(over(one, STRONG)) or has_lump(over(other, STRONG)):
            return unlike(one, other)
    return False


def rows(at: Point) -> tuple[int, int]:
    """Return the first row of a screen that needs to be looked at, and the one after the last; they may be outside."""
    return at.y - REACH, at.y + REACH + 1


def close(one: Point, other: Point) -> bool:
    """Say whether what stands near to one point stands near to another."""
    return abs(one.x - other.x) <= 2 * ACROSS and abs(one.y - other.y) <= 2 * DOWN


def _control(picture: Image.Image, x: int, y: int) -> tuple[int, int, int, int]:
    """Return the corners of the control around a point: up to the next line on each side."""
    across = over(edges(picture.crop((0, max(0, y - LINE), picture.width, y + LINE + 1))), WEAK)
    turned = picture.crop((max(0, x - LINE), 0, x + LINE + 1, picture.height)).transpose(Image.Transpose.TRANSPOSE)
    down = over(edges(turned), WEAK)
    left, right = _between_lines(across, x)
    top, bottom = _between_lines(down, y)
    return left, top, right, bottom


def _between_lines(found: Image.Image, at: int) -> tuple[int, int]:
    """Return where around a column the next ones are that are all edge."""
    holed, _ = ImageChops.invert(found).getprojection()
    lines = [column for column, hole in enumerate(holed) if not hole]
    first = max((line + 1 for line in lines if line <= at), default=0)
    return first, min((line for line in lines if line > at), default=found.width)


def unlike(one: Image.Image, other: Image.Image) -> bool:
    """Say whether edges (see `edges`) are of different letters, wherever the others are put within a few pixels."""
    strong, weak = over(one, STRONG), over(one, WEAK)
    for across, down in SHIFTS:
        moved = ImageChops.offset(other, across, down)
        gone = ImageChops.subtract(strong, over(moved, WEAK))
        come = ImageChops.subtract(over(moved, STRONG), weak)
        if not has_lump(ImageChops.lighter(gone, come)):
            return False
    return True


def has_lump(mask: Image.Image) -> bool:
    """Say whether something in a mask is as large as a letter, to both sides."""
    joined = over(ImageOps.expand(mask, 2 * LUMP).filter(ImageFilter.BoxBlur(JOINED)), 1)
    return over(joined.filter(ImageFilter.BoxBlur(LUMP)), 255).getbbox() is not None


def edges(picture: Image.Image) -> Image.Image:
    """Return how different each pixel is from the one left of it."""
    red, green, blue = ImageChops.difference(picture, ImageChops.offset(picture, 1, 0)).split()
    found = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    found.paste(0, (0, 0, 1, found.height))
    return found


def over(found: Image.Image, least: int) -> Image.Image:
    """Return which edges are at least as strong."""
    return found.point(lambda value: 255 if value >= least else 0)


def _common(one: Box, other: Box) -> Box:
    left, top = max(one.left, other.left), max(one.top, other.top)
    right, bottom = min(one.right, other.right), min(one.bottom, other.bottom)
    return Box(left, top, max(0, right - left), max(0, bottom - top))
