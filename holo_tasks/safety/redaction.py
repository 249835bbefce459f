"""The door between the screen and everything that leaves the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holo_tasks.core.frame import Frame, Mask, RedactedFrame
from holo_tasks.core.geometry import Box, Size
from holo_tasks.core.ports import Masker

PAINT = b"\x00\x00\x00"
"""Solid, the same for all kinds: nothing of what was there can be told from what is painted over it."""


class NothingToRedact:
    """Passes every frame as it is: for screens that hold nothing private."""

    async def redact(self, frame: Frame) -> RedactedFrame:
        return RedactedFrame(frame)


class Painter:
    """Paints over what any of its maskers finds; where one fails, its error is what there is, and no frame."""

    def __init__(self, maskers: Sequence[Masker]) -> None:
        self._maskers = tuple(maskers)

    async def redact(self, frame: Frame) -> RedactedFrame:
        found = [mask for masker in self._maskers for mask in await masker.masks(frame)]
        return painted(frame, found)


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
    return RedactedFrame(replace(frame, rgb=bytes(pixels)), tuple(dict.fromkeys(on_screen)))


def _clipped(box: Box, size: Size) -> Box | None:
    left, top = max(0, box.left), max(0, box.top)
    width, height = min(box.right, size.width) - left, min(box.bottom, size.height) - top
    return Box(left, top, width, height) if width > 0 and height > 0 else None
