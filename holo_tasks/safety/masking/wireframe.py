"""Draw a wireframe of a screen: outlines, masks and numbered text blocks, with only common words in the clear."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.ports import Masker
from holo_tasks.core.screen.frame import Frame, Mask, RedactedFrame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.safety.masking.lines import LineReader, ReadLine
from holo_tasks.safety.masking.word_boxes import box_on_grid
from holo_tasks.safety.redaction import masks_of, paint_masks

KIND = "wireframe"
_PAPER, _EDGE, _BLOCK, _INK = (255, 255, 255), (110, 110, 110), (205, 205, 205), (0, 0, 0)
_SMALLEST, _LARGEST = 8, 16
_TALLEST_TEXT = 160
"""Pixels. Letters on a screen are less tall."""


class OutlineFinder(Protocol):
    """Finds shapes with an outline: windows, buttons, fields and cells."""

    def outlines(self, frame: Frame) -> Sequence[Box]: ...


class Wireframe:
    """Redactor that draws the screen anew from OCR and outlines. The drawing holds no pixel of the screen.

    Texts become gray blocks with a number, unless they are one of ``words``. The finds of ``maskers`` and ``reading``
    (see `Painter`) are filled. OCR and outlines see the frame after that, so hidden pixels cannot influence the
    drawing. Outlines that may be letters which OCR missed are left out.
    """

    def __init__(
        self,
        reader: LineReader,
        outlines: OutlineFinder,
        *,
        words: Sequence[str],
        maskers: Sequence[Masker] = (),
        reading: Sequence[Masker] = (),
        patience_s: float,
    ) -> None:
        self._reader = reader
        self._outlines = outlines
        self._words = {_normalized(word): word for word in words}
        self._stages = (tuple(maskers), tuple(reading))
        self._patience_s = patience_s
        self._turn = asyncio.Lock()

    async def redact(self, frame: Frame) -> RedactedFrame:
        content = _ScreenContent(self._reader, self._outlines)
        async with self._turn:
            masks = await masks_of((*self._stages, (content,)), frame, self._patience_s)
        drawn = await asyncio.to_thread(self._draw, frame, masks, content)
        done = paint_masks(replace(frame, rgb=drawn.tobytes(), windows=None), masks)
        whole = Mask(KIND, Box.whole(frame.size))
        return replace(done, masks=(whole, *done.masks))

    def _draw(self, frame: Frame, masks: Sequence[Mask], content: _ScreenContent) -> Image.Image:
        image = Image.new("RGB", (frame.size.width, frame.size.height), _PAPER)
        draw = ImageDraw.Draw(image)
        for box in sorted(content.boxes, key=lambda box: (-box.width * box.height, box.top, box.left)):
            if not _is_letter_like(box) and not any(
                box.intersects(mask.box) and not box.encloses(mask.box.grown(1)) for mask in masks
            ):
                draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=_EDGE)
        shown = [line for line in content.lines if not any(line.box.intersects(mask.box) for mask in masks)]
        for number, line in enumerate(sorted(shown, key=lambda line: (line.box.top, line.box.left)), start=1):
            word = self._words.get(_normalized(line.text))
            box = line.box if word else box_on_grid(line.box, 0)
            draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill=None if word else _BLOCK)
            size = min(_LARGEST, max(_SMALLEST, line.box.height * 2 // 3))
            at = (box.left + 2, box.top + box.height / 2)
            draw.text(at, word or f"text {number}", fill=_INK, font=ImageFont.load_default(size=size), anchor="lm")
        return image


class _ScreenContent:
    """OCR and the outline finder as a masker, so that their failures and time-outs are handled alike."""

    def __init__(self, reader: LineReader, outlines: OutlineFinder) -> None:
        self._reader = reader
        self._outlines = outlines
        self.lines: Sequence[ReadLine] = ()
        self.boxes: Sequence[Box] = ()

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        self.lines = await asyncio.to_thread(self._reader.lines, frame)
        self.boxes = await asyncio.to_thread(self._outlines.outlines, frame)
        return ()


def _is_letter_like(box: Box) -> bool:
    """Return whether a box may surround a letter or digit, which is hardly wider than high. OCR misses large letters.

    Check boxes are left out for the same reason.
    """
    return box.height < _TALLEST_TEXT and box.width < 2 * box.height


def _normalized(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
