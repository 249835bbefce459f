"""The door between the screen and everything that leaves the machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from holo_tasks.core.errors import HoloError, RedactionFailed
from holo_tasks.core.frame import Frame, Mask, RedactedFrame
from holo_tasks.core.geometry import Box, Size
from holo_tasks.core.ports import Masker

PATIENCE_S = 60.0
PAINT = b"\x00\x00\x00"
"""Solid, the same for all kinds: nothing of what was there can be told from what is painted over it."""


class NothingToRedact:
    """Passes every frame as it is: for screens that hold nothing private."""

    async def redact(self, frame: Frame) -> RedactedFrame:
        return RedactedFrame(frame)


class Painter:
    """Paints over what any of its maskers finds; where one fails, its error is what there is, and no frame."""

    def __init__(self, maskers: Sequence[Masker], *, patience_s: float = PATIENCE_S) -> None:
        self._maskers = tuple(maskers)
        self._patience_s = patience_s

    async def redact(self, frame: Frame) -> RedactedFrame:
        return painted(frame, await masks_of(self._maskers, frame, self._patience_s))


async def masks_of(maskers: Sequence[Masker], frame: Frame, patience_s: float) -> list[Mask]:
    """Return what all maskers find. Raises a `HoloError` if one of them fails or they take too long."""
    try:
        async with asyncio.timeout(patience_s):
            return [mask for masker in maskers for mask in await masker.masks(frame)]
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
    """Fill areas with one colour; what of an area is not on the screen is left out."""
    on_screen = [Mask(mask.kind, box) for mask in masks if (box := _clipped(mask.box, frame.size)) is not None]
    if not on_screen:
        return RedactedFrame(frame)
    pixels, width = bytearray(frame.rgb), frame.size.width
    for mask in on_screen:
        row = PAINT * mask.box.width
        for y in range(mask.box.top, mask.box.bottom):
            start = 3 * (y * width + mask.box.left)
            pixels[start : start + len(row)] = row
    # What windows are called may be as private as what they show.
    return RedactedFrame(replace(frame, rgb=bytes(pixels), windows=None), tuple(dict.fromkeys(on_screen)))


def _clipped(box: Box, size: Size) -> Box | None:
    left, top = max(0, box.left), max(0, box.top)
    width, height = min(box.right, size.width) - left, min(box.bottom, size.height) - top
    return Box(left, top, width, height) if width > 0 and height > 0 else None
