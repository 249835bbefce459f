"""Detect a password field: whether a field shows typed text, or one repeated sign per character."""

from __future__ import annotations

from itertools import pairwise

from PIL import Image, ImageChops

APART, UNLIKE = 1.6, 0.25
"""Tolerances between copies of a sign: distance and size in pixels, and the share of ink that antialiasing changes."""
FEWEST, MANY = 2, 8
"""Fewest signs that count, and the number from which a field may be too narrow to show them all."""
Pixels = Image.Image
Blob = tuple[int, int]


def signs(before: Pixels, after: Pixels) -> int:
    """Return how many equal, evenly spaced signs were added to the inside of a field; 0 for any other text.

    The first and the last column group do not count: they may be a caret that came or went, or be cut off.
    """
    drawn = ImageChops.difference(before.convert("L"), after.convert("L"))
    if drawn.getbbox() is None:
        return 0
    _, strongest = drawn.getextrema()
    strong = drawn.point(lambda value: 255 if 2 * value > strongest else 0)
    blobs = _blobs(strong)
    inner = blobs[1:-1]
    if len(inner) < FEWEST:
        return 0
    first = drawn.crop((inner[0][0] - 1, 0, inner[0][1] + 1, drawn.height))
    rows = strong.crop((inner[0][0], 0, inner[0][1], drawn.height)).getbbox()
    pitch = (inner[-1][0] - inner[0][0]) / (len(inner) - 1)
    width = inner[0][1] - inner[0][0]
    for one, other in pairwise(inner):
        there = strong.crop((other[0], 0, other[1], drawn.height)).getbbox()
        even = abs(other[0] - one[0] - pitch) <= APART and abs(other[1] - other[0] - width) <= APART
        if not (even and rows and there and abs(rows[1] - there[1]) <= 1 and abs(rows[3] - there[3]) <= 1):
            return 0
        second = drawn.crop((other[0] - 1, 0, other[1] + 1, drawn.height))
        if not _is_same_sign(first, second):
            return 0
        first = second
    return len(inner)


def hides(value: str, before: Pixels, after: Pixels) -> bool:
    """Return whether a field shows nothing about a value except its length.

    The result is false for values with hardly any different characters, whose plain text would look the same.
    """
    found = signs(before, after)
    fits = len(value) - 2 <= found <= len(value) or MANY <= found < len(value)
    different = len(set(value))
    varied = different > 2 and (len(set(value[1:-1])) > 1 or different == len(value))
    return bool(found) and fits and varied


def may_show(value: str, before: Pixels, after: Pixels) -> bool:
    """Return whether the pixels added to a part of the screen may be a value in plain text.

    Each character adds at least two columns with new edges. A recolored button, a bar or a tick adds fewer.
    """
    edges = [ImageChops.difference(each, ImageChops.offset(each, 1, 0)).convert("L") for each in (before, after)]
    old, new = (each.point(lambda value: 255 if value else 0) for each in edges)
    added, _ = ImageChops.subtract(new, old).getprojection()
    return sum(map(bool, added[1:])) >= 2 * len(value)


def _blobs(strong: Pixels) -> list[Blob]:
    """Return the runs of columns in which anything is drawn."""
    across, _ = strong.getprojection()
    edges = [x for x, (one, other) in enumerate(pairwise([0, *across, 0])) if one != other]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _is_same_sign(one: Pixels, other: Pixels) -> bool:
    """Return whether two pictures show the same sign, shifted by at most one pixel."""
    width = max(one.width, other.width)
    pictures = []
    for picture in (one, other):
        roomy = Image.new("L", (width, picture.height))
        roomy.paste(picture, (0, 0))
        pictures.append(roomy)
    mass = max(1, *map(_total_ink, pictures))
    shifted = (ImageChops.offset(pictures[1], across, 0) for across in (-1, 0, 1))
    return min(_total_ink(ImageChops.difference(pictures[0], each)) for each in shifted) <= UNLIKE * mass


def _total_ink(picture: Pixels) -> int:
    return sum(value * count for value, count in enumerate(picture.histogram()))
