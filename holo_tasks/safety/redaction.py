"""The door between the screen and everything that leaves the machine."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from holo_tasks.core.errors import HoloError, RedactionFailed
from holo_tasks.core.frame import Frame, Mask, RedactedFrame
from holo_tasks.core.geometry import Box, Size
from holo_tasks.core.ports import Masker

PATIENCE_S = 60.0
PAINT = b"\x00\x00\x00"
"""Solid, the same for all kinds: nothing of what was there can be told from what is painted over it."""
_SAMPLES = 128
"""How many pixels along each side of an area are asked for their color, about."""


class NothingToRedact:
    """Passes every frame as it is: for screens that hold nothing private."""

    async def redact(self, frame: Frame) -> RedactedFrame:
        return RedactedFrame(frame)


class Painter:
    """Paints over what any of its maskers finds; where one fails, its error is what there is, and no frame.

    ``maskers`` go by place and see the screen itself. ``reading``, which go by what is shown, see only what those left
    of it, so that nothing under their masks decides what else is masked.
    """

    def __init__(
        self, maskers: Sequence[Masker], reading: Sequence[Masker] = (), *, patience_s: float = PATIENCE_S
    ) -> None:
        self._stages = (tuple(maskers), tuple(reading))
        self._patience_s = patience_s
        self._turn = asyncio.Lock()  # a masker may remember what one of an earlier stage found in the same frame

    async def redact(self, frame: Frame) -> RedactedFrame:
        async with self._turn:
            return painted(frame, await masks_of(self._stages, frame, self._patience_s))


async def masks_of(stages: Sequence[Sequence[Masker]], frame: Frame, patience_s: float) -> list[Mask]:
    """Return what all maskers find; those of a later stage look at what the stages before left to be seen.

    Raises a `HoloError` if one of them fails or they take too long.
    """
    found: list[Mask] = []
    try:
        async with asyncio.timeout(patience_s):
            for maskers in stages:
                left = covered(frame, found) if maskers else frame
                found += [mask for masker in maskers for mask in await masker.masks(left)]
        return found
    except HoloError:
        raise
    except TimeoutError:
        raise RedactionFailed(
            f"What must not be shown was not found within {patience_s:g} seconds, so nothing of the screen was sent; "
            "raise timeout_seconds of the redaction, or give it less to look for."
        ) from None
    except Exception as error:
        # The error's own text may quote the screen; its cause would be in every traceback.
        raise RedactionFailed(
            f"Looking for what must not be shown failed ({type(error).__name__}), so nothing of the screen was sent; "
            "see to the redaction's detectors, or leave the one that fails out."
        ) from None


def painted(frame: Frame, masks: Sequence[Mask]) -> RedactedFrame:
    """Fill areas with one color; what of an area is not on the screen is left out."""
    on_screen = [Mask(mask.kind, box) for mask in masks if (box := mask.box.clipped(frame.size)) is not None]
    if not on_screen:
        return RedactedFrame(frame)
    pixels = bytearray(frame.rgb)
    for mask in on_screen:
        _fill(pixels, frame.size, mask.box, PAINT)
    # What windows are called may be as private as what they show.
    return RedactedFrame(replace(frame, rgb=bytes(pixels), windows=None), tuple(dict.fromkeys(on_screen)))


def covered(frame: Frame, masks: Sequence[Mask]) -> Frame:
    """Return a frame for detectors: each area has a color that is seen around it, and nothing of what was there.

    Not `PAINT`: next to black, pale text would have too little contrast to be read.
    """
    boxes = [box for mask in masks if (box := mask.box.clipped(frame.size)) is not None]
    if not boxes:
        return frame
    pixels = bytearray(frame.rgb)
    for box in boxes:
        _fill(pixels, frame.size, box, _around(frame, box, boxes))
    return replace(frame, rgb=bytes(pixels), windows=None)


def _around(frame: Frame, box: Box, boxes: Sequence[Box]) -> bytes:
    """Return the most common color along the outside of a box that is in none of the others."""
    across, down = (
        range(box.left, box.right, 1 + box.width // _SAMPLES),
        range(box.top, box.bottom, 1 + box.height // _SAMPLES),
    )
    places = [(x, y) for x in across for y in (box.top - 1, box.bottom)]
    places += [(x, y) for y in down for x in (box.left - 1, box.right)]
    size = frame.size
    starts = [
        3 * (y * size.width + x)
        for x, y in places
        if 0 <= x < size.width
        and 0 <= y < size.height
        and not any(other.left <= x < other.right and other.top <= y < other.bottom for other in boxes)
    ]
    counted = Counter(frame.rgb[start : start + 3] for start in starts).most_common(1)
    return counted[0][0] if counted else PAINT


def _fill(pixels: bytearray, size: Size, box: Box, color: bytes) -> None:
    row = color * box.width
    for y in range(box.top, box.bottom):
        start = 3 * (y * size.width + box.left)
        pixels[start : start + len(row)] = row
