"""Mask the private parts of a frame before it leaves the machine.

`Painter` is the redactor of a desktop. It runs maskers such as `masking.texts.TextMasker` and paints over the areas
that they find.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from holo_tasks.core.errors import HoloError, RedactionFailed
from holo_tasks.core.ports import Masker
from holo_tasks.core.screen.frame import Frame, Mask, RedactedFrame
from holo_tasks.core.screen.geometry import Box, Size

PATIENCE_S = 60.0
"""Default time limit for all maskers of a frame, in seconds."""
PAINT = b"\x00\x00\x00"
"""Color of all masks. It is solid and the same for all kinds, so a mask reveals nothing of the pixels under it."""
_SAMPLES = 128
"""Approximate number of pixels that are sampled along each side of an area."""


class NothingToRedact:
    """Redactor that passes frames unchanged, for screens without private content."""

    async def redact(self, frame: Frame) -> RedactedFrame:
        return RedactedFrame(frame)


class Painter:
    """Redactor that paints over the areas that its maskers find. If a masker fails, the frame is not sent.

    ``maskers`` work by position and see the original frame. ``reading`` maskers work by content and see the frame after
    the first group was painted over. Hidden pixels therefore cannot influence the other masks.
    """

    def __init__(
        self, maskers: Sequence[Masker], reading: Sequence[Masker] = (), *, patience_s: float = PATIENCE_S
    ) -> None:
        self._stages = (tuple(maskers), tuple(reading))
        self._patience_s = patience_s
        self._turn = asyncio.Lock()  # a masker may use the finds of an earlier stage in the same frame

    async def redact(self, frame: Frame) -> RedactedFrame:
        async with self._turn:
            return paint_masks(frame, await masks_of(self._stages, frame, self._patience_s))


async def masks_of(stages: Sequence[Sequence[Masker]], frame: Frame, patience_s: float) -> list[Mask]:
    """Return the masks of all maskers. Each stage sees the frame with the masks of the stages before it painted over.

    Raises `RedactionFailed` or another `HoloError` if a masker fails or ``patience_s`` seconds are exceeded.
    """
    found: list[Mask] = []
    try:
        async with asyncio.timeout(patience_s):
            for maskers in stages:
                left = cover_for_detectors(frame, found) if maskers else frame
                found += [mask for masker in maskers for mask in await masker.masks(left)]
        return found
    except HoloError:
        raise
    except TimeoutError:
        raise RedactionFailed(
            f"The redaction took more than {patience_s:g} seconds, so nothing of the screen was sent; "
            "raise timeout_seconds of the redaction, or let it look for less."
        ) from None
    except Exception as error:
        # The error's text may quote the screen, and a cause would appear in every traceback.
        raise RedactionFailed(
            f"The redaction failed ({type(error).__name__}), so nothing of the screen was sent; "
            "repair the redaction's detectors, or leave out the one that fails."
        ) from None


def paint_masks(frame: Frame, masks: Sequence[Mask]) -> RedactedFrame:
    """Return the frame with the masks filled with `PAINT`. Parts of masks outside the screen are ignored."""
    on_screen = [Mask(mask.kind, box) for mask in masks if (box := mask.box.clipped(frame.size)) is not None]
    if not on_screen:
        return RedactedFrame(frame)
    pixels = bytearray(frame.rgb)
    for mask in on_screen:
        _fill(pixels, frame.size, mask.box, PAINT)
    # Window titles may be as private as the windows' content.
    return RedactedFrame(replace(frame, rgb=bytes(pixels), windows=None), tuple(dict.fromkeys(on_screen)))


def cover_for_detectors(frame: Frame, masks: Sequence[Mask]) -> Frame:
    """Return a frame for detectors: each mask is filled with the most common color around it.

    `PAINT` is not used, because pale text next to black has too little contrast for OCR.
    """
    boxes = [box for mask in masks if (box := mask.box.clipped(frame.size)) is not None]
    if not boxes:
        return frame
    pixels = bytearray(frame.rgb)
    for box in boxes:
        _fill(pixels, frame.size, box, _surrounding_color(frame, box, boxes))
    return replace(frame, rgb=bytes(pixels), windows=None)


def _surrounding_color(frame: Frame, box: Box, boxes: Sequence[Box]) -> bytes:
    """Return the most common color along the outside of a box, ignoring pixels in other boxes."""
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
