"""OCR of the one field that a text was typed into: a small crop, for programs without an accessibility tree."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from PIL import Image

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.verdicts import changed_box
from holo_tasks.core.secrets.mask_signs import signs
from holo_tasks.loop.services import FieldText
from holo_tasks.vision.colors import mask_of_other_colors, most_common
from holo_tasks.vision.input_fields import field_in
from holo_tasks.vision.ocr_reader import Reader, shared_reader
from holo_tasks.vision.selected_end import selected_end

if TYPE_CHECKING:
    import numpy as np

REACH = 120
"""How far above and below the change the field is looked for, in pixels."""
TALLEST = 60
"""What changed over more pixels in height is more than a text in a field of one line."""
RIM, CARET, LIKE = 4, 3, 12
EDGES = " |[]"
"""OCR reads the text caret and the edges of a field as these."""
OUTLINE = 6
"""Pixels around a field in which its outline may be drawn."""
SURE = 0.85
"""A text that OCR reads with less confidence, from 0 to 1, does not count."""


class FieldReader:
    """Reads fields; a `loop.services.ReadsField`. OCR is loaded at the first field that it is needed for."""

    def __init__(self, reader: Reader | None = None) -> None:
        self._reader = reader

    async def __call__(self, before: Frame, after: Frame, at: Point | None) -> FieldText | None:
        return await asyncio.to_thread(self._read, before, after, at)

    async def text_in(self, frame: Frame, box: Box) -> str:
        part = box.clipped(frame.size)
        return "" if part is None else await asyncio.to_thread(self._text_of, _pixels(_picture(frame.crop(part))))

    async def cell(self, before: Frame, after: Frame, sheet: Box) -> FieldText | None:
        return await asyncio.to_thread(self._read_cell, before, after, sheet)

    def _read_cell(self, before: Frame, after: Frame, sheet: Box) -> FieldText | None:
        """Read where the sheet has changed: the cell with its new text, and the frame of the current cell."""
        inside = sheet.clipped(after.size) if before.size == after.size else None
        part = None if inside is None else changed_box(before.crop(inside), after.crop(inside))
        if inside is None or part is None or part.height > TALLEST:
            return None
        place = part.moved(inside.left, inside.top)
        reader = self._reader or shared_reader()
        old, new = (reader.read_piece(_pixels(_picture(frame.crop(place)))) for frame in (before, after))
        found = [
            line for line in new if not any(line.text == each.text and line.box.intersects(each.box) for each in old)
        ]
        if len(found) != 1 or found[0].score < SURE:
            return None
        was_empty = not any(each.box.intersects(found[0].box) for each in old)
        return FieldText(found[0].text.strip(EDGES), was_empty, found[0].box.right >= place.width - 1)

    def _read(self, before: Frame, after: Frame, at: Point | None) -> FieldText | None:
        changed = changed_box(before, after)
        if before.size != after.size or changed is None:
            return None
        if at is None:
            then, now = _pixels(_picture(before.crop(changed))), _pixels(_picture(after.crop(changed)))
            if (end := selected_end(then, now)) is not None:
                piece = now[end.top : end.bottom, end.left : end.right]
                return FieldText(self._text_of(piece), was_empty=True, is_full=False, is_completed=True)
            if changed.height > TALLEST:
                return None
        found_at, at = at, at or changed.center
        part = Box(0, at.y - REACH, after.size.width, 2 * REACH).clipped(after.size)
        if part is None or not part.contains(at):
            return None
        old_part, new_part = _picture(before.crop(part)), _picture(after.crop(part))
        place = Point(at.x, at.y - part.top)
        # Before, the field was empty: nothing in it looks like an edge, as the text caret behind a text does.
        box = field_in(old_part, place) or field_in(new_part, place)
        if box is None or box.height > TALLEST:
            return None
        if found_at is None and changed.left < box.left - OUTLINE:
            return None  # the text begins further left: the left edge may be the end of a selection
        corners = (box.left, box.top, box.right, box.bottom)
        old, new = _ink(old_part.crop(corners)), _ink(new_part.crop(corners))
        if old is None or new is None or signs(old_part.crop(corners), new_part.crop(corners)):
            return None  # too small to be read, or the same sign for each character, as for a password
        text = self._text_of(_pixels(new_part.crop(corners)))
        return FieldText(text, _is_blank(old), bool(new[:, -RIM:].any()))

    def _text_of(self, piece: np.ndarray[Any, np.dtype[np.uint8]]) -> str:
        """Return the text on a piece of a picture; empty if OCR is not sure."""
        lines = (self._reader or shared_reader()).read_piece(piece)
        return " ".join(line.text for line in lines).strip(EDGES) if all(one.score >= SURE for one in lines) else ""


def _picture(frame: Frame) -> Image.Image:
    return Image.frombuffer("RGB", (frame.size.width, frame.size.height), frame.rgb, "raw", "RGB", 0, 1)


def _pixels(picture: Image.Image) -> np.ndarray[Any, np.dtype[np.uint8]]:
    import numpy as np

    return np.asarray(picture)


def _ink(picture: Image.Image) -> Any:
    """Return where a field has another color than its paper, without its rim; ``None`` if the field is too small."""
    inside = _pixels(picture)[RIM // 2 : -RIM // 2, RIM:-RIM]
    return mask_of_other_colors(inside, most_common(inside), LIKE) if min(inside.shape[:2]) > 2 * RIM else None


def _is_blank(ink: Any) -> bool:
    """Say whether a field shows nothing but a text caret."""
    columns = ink.any(axis=0).nonzero()[0]
    return bool(columns.size == 0 or columns[-1] - columns[0] < CARET)
