"""Find places that change too fast and too much to be read, such as a spinner, a ticker or a video.

A name that shimmers or blinks shows the same thing again and again, so it can be read and does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PIL import Image, ImageChops

from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.recheck import Sighting, part

STRONG, STILL, FEW = 48, 16, 3
"""Thresholds for gray levels (of 255) and for pixels.

A pixel that changes by less than ``STRONG`` levels shows the same as before. One that changes by less than ``STILL``
stands still. ``FEW`` still pixels that differ from the earlier picture may form a letter.
"""
TURNS, LOOKS = 8, 4
"""A column is unreadable if it changed ``TURNS`` times and showed ``LOOKS`` different contents."""
NEIGHBORS, SOME_TURNS, SOME_LOOKS = 16, 4, 3
"""A column within ``NEIGHBORS`` pixels of an unreadable one needs fewer changes: it is the rim of a moving thing."""
LAST = 4
"""A column must have changed within this many last pictures. A place that stirred for a moment can be read again."""
ABOUT, NEARLY_ALL = 8, 2 / 3
"""Something within ``ABOUT`` pixels must have changed in the share ``NEARLY_ALL`` of all pictures.

Ten names shown for a second each are slower than that, and can be read.
"""


def grayscale_area(look: Sighting, area: Box) -> Image.Image:
    """Return an area of the screen in grayscale, as `unreadable_columns` compares it."""
    return part(look.pixels, area).convert("L")


def unreadable_columns(before: Image.Image, pictures: Sequence[Image.Image]) -> frozenset[int]:
    """Return the columns of an area that cannot have been read, from its pictures in the order of time.

    Text that stands still on a moving background can be read. So columns with still pixels that were different
    ``before`` are left out.
    """
    wide = pictures[0].width
    turns, contents, last = [0] * wide, [0] * wide, [0] * wide
    changes = [_changed(one, other) for one, other in pairwise(pictures)]
    for number, changed in enumerate(changes, start=1):
        for x in _columns(changed):
            turns[x] += 1
            last[x] = number
    for number, picture in enumerate(pictures):
        new = b"\xff" * wide
        for other in pictures[:number]:
            new = _intersection(new, _changed(other, picture))
        for x in _columns(new):
            contents[x] += 1
    recent_from = len(pictures) - LAST
    frequent = [x for x in range(wide) if turns[x] >= TURNS and contents[x] >= LOOKS and last[x] >= recent_from]
    unreadable = {
        x for x in frequent if sum(map(any, (_nearby(x, one) for one in changes))) >= NEARLY_ALL * len(changes)
    }
    near = {x + by for x in unreadable for by in range(-NEIGHBORS, NEIGHBORS + 1)}
    some = {
        x for x in range(wide) if turns[x] >= SOME_TURNS and contents[x] >= SOME_LOOKS and 2 * last[x] >= recent_from
    }
    return frozenset((unreadable | near & some) - set(_columns(_newly_still(before, pictures))))


def _nearby(x: int, changed: bytes) -> bytes:
    return changed[max(0, x - ABOUT) : x + ABOUT + 1]


def _newly_still(before: Image.Image, pictures: Sequence[Image.Image]) -> bytes:
    """Return for each column whether it has pixels that stand still now and were different before."""
    low = high = pictures[-1]
    for picture in pictures:
        low, high = ImageChops.darker(low, picture), ImageChops.lighter(high, picture)
    still = ImageChops.difference(low, high).point(lambda value: 255 if value < STILL else 0)
    other = ImageChops.difference(before, pictures[-1]).point(lambda value: 255 if value >= STRONG else 0)
    wrong, tall = ImageChops.darker(still, other).transpose(Image.Transpose.TRANSPOSE).tobytes(), before.height
    return bytes(wrong.count(255, at, at + tall) >= FEW for at in range(0, len(wrong), tall))


def _changed(one: Image.Image, other: Image.Image) -> bytes:
    """Return for each column whether any of its pixels changed."""
    strong = ImageChops.difference(one, other).point(lambda value: 255 if value >= STRONG else 0)
    return bytes(strong.getprojection()[0])


def _intersection(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) & int.from_bytes(other)).to_bytes(len(one))


def _columns(changed: bytes) -> list[int]:
    return [x for x, value in enumerate(changed) if value]
