"""What shows so many different things in so short a time that nobody reads them: a spinner, a ticker, a video.

A name whose colors shimmer, or that blinks, is read all the same: it shows one thing, now and then. It is not one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PIL import Image, ImageChops

from holo_tasks.core.geometry import Box
from holo_tasks.core.recheck import Sighting, part

STRONG, STILL, FEW = 48, 16, 3
"""What becomes lighter or darker by less than the first of these shows the same as before, by less than the second it
stands still; of still pixels that were something else so many make a letter."""
TURNS, LOOKS = 8, 4
"""A column of pixels that changed this often, and showed so many things of which no two are the same, is not read."""
NEIGHBORS, SOME_TURNS, SOME_LOOKS = 16, 4, 3
"""Nor is one this near to it that did so less often: the rim of what turns."""
LAST = 4
"""It must have changed in the last looks, so many: what was stirred up for a moment and stands by now is read again."""
ABOUT, NEARLY_ALL = 8, 2 / 3
"""And something no further away did at so many of all looks: of ten names a second each is there for longer."""


def shown(look: Sighting, area: Box) -> Image.Image:
    """Return what an area of the screen shows, as `unread` compares it."""
    return part(look.pixels, area).convert("L")


def unread(before: Image.Image, pictures: Sequence[Image.Image]) -> frozenset[int]:
    """Return the columns that nobody can have read in what one area showed, at one moment after another.

    Words that stand still on what moves are read: columns are none of these where such were something else ``before``.
    """
    wide = pictures[0].width
    turns, kinds, last = [0] * wide, [0] * wide, [0] * wide
    changes = [_changed(one, other) for one, other in pairwise(pictures)]
    for number, changed in enumerate(changes, start=1):
        for x in _columns(changed):
            turns[x] += 1
            last[x] = number
    for number, picture in enumerate(pictures):
        new = b"\xff" * wide
        for other in pictures[:number]:
            new = _both(new, _changed(other, picture))
        for x in _columns(new):
            kinds[x] += 1
    going = len(pictures) - LAST
    wild = [x for x in range(wide) if turns[x] >= TURNS and kinds[x] >= LOOKS and last[x] >= going]
    swift = {x for x in wild if sum(map(any, (_about(x, one) for one in changes))) >= NEARLY_ALL * len(changes)}
    near = {x + by for x in swift for by in range(-NEIGHBORS, NEIGHBORS + 1)}
    some = {x for x in range(wide) if turns[x] >= SOME_TURNS and kinds[x] >= SOME_LOOKS and 2 * last[x] >= going}
    return frozenset((swift | near & some) - set(_columns(_stood(before, pictures))))


def _about(x: int, changed: bytes) -> bytes:
    return changed[max(0, x - ABOUT) : x + ABOUT + 1]


def _stood(before: Image.Image, pictures: Sequence[Image.Image]) -> bytes:
    """Return for each column whether it shows things that stand still by now, and were not there before."""
    low = high = pictures[-1]
    for picture in pictures:
        low, high = ImageChops.darker(low, picture), ImageChops.lighter(high, picture)
    still = ImageChops.difference(low, high).point(lambda value: 255 if value < STILL else 0)
    other = ImageChops.difference(before, pictures[-1]).point(lambda value: 255 if value >= STRONG else 0)
    wrong, tall = ImageChops.darker(still, other).transpose(Image.Transpose.TRANSPOSE).tobytes(), before.height
    return bytes(wrong.count(255, at, at + tall) >= FEW for at in range(0, len(wrong), tall))


def _changed(one: Image.Image, other: Image.Image) -> bytes:
    """Return for each column whether it shows something else."""
    strong = ImageChops.difference(one, other).point(lambda value: 255 if value >= STRONG else 0)
    return bytes(strong.getprojection()[0])


def _both(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) & int.from_bytes(other)).to_bytes(len(one))


def _columns(changed: bytes) -> list[int]:
    return [x for x, value in enumerate(changed) if value]
