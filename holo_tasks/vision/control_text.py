"""Read the text on a control of the screen, for permission rules about text.

`ScreenText` implements `core.input.permit.TextReader`. `can_read` says whether OCR is installed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

from PIL import Image

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.vision.field_labels import labels_of
from holo_tasks.vision.input_fields import areas_and_fields, field_in, is_large
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.outlines import areas_of, edges_of
from holo_tasks.vision.screen_text import matches

BESIDE, ABOVE = 48, 20
"""Pixels left and right, and above and below a point, within which a text belongs to the control there. Examples are
the label of a check box and further words of a link.
"""
WIDEST, HIGHEST = 400, 80
"""Largest distance of a label from its field, in pixels. An area within these limits counts as a button, not as
a page.
"""
REACH = 400
"""Pixels above and below a point that are searched for a field. The search covers the whole width of the screen."""
MOST_LINES = 12
"""An area with more lines than this is a page or a terminal. Then only lines near the point count."""
SLACK = 8
"""Pixels by which OCR reports a line too large on each side."""
_OFF_SCREEN = Box(0, 0, 1, 1)
"""Region that is read when a box lies outside the screen."""
_CONTROL = 64
"""Pixels. An inner area this wide on a tall area is a control of its own, not the hole of a letter."""


@cache
def can_read() -> bool:
    """Return whether OCR is installed (the extra ``rehearsal``)."""
    return all(find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


class ScreenText:
    """Reads the text on the control at a point, or all text in a box."""

    def __init__(self) -> None:
        self._reader = Reader()

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return await asyncio.to_thread(self._read, frame, where)

    async def on_target(self, frame: Frame, at: Point) -> str:
        """Return only the text on the control at a point.

        Texts with a smaller outline of their own, such as those of buttons on a panel, belong to other controls.
        """
        return await asyncio.to_thread(self._read_control, frame, at)

    async def unread_at(self, frame: Frame, at: Point) -> bool:
        """Return whether a button at a point shows no readable text, only a symbol."""
        return await asyncio.to_thread(self._is_unread, frame, at)

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        """Return the input field at a point, or ``None`` if the point is outside fields or on a possible button."""
        return await asyncio.to_thread(self._read_field, frame, at)

    async def labelled(self, frame: Frame, at: Point, labels: Sequence[str]) -> Box | None:
        """Return the input field at a point if one of ``labels`` is its label, else ``None``.

        It also returns ``None`` if the label cannot be determined.
        """
        return await asyncio.to_thread(self._read_labelled, frame, at, labels)

    def _read_labelled(self, frame: Frame, at: Point, labels: Sequence[str]) -> Box | None:
        field = self._read_field(frame, at)
        if field is None:
            return None
        part = (
            Box(0, field.top - HIGHEST, frame.size.width, field.height + 2 * HIGHEST).clipped(frame.size) or _OFF_SCREEN
        )
        picture = _crop(_image(frame), part)
        inside = Box(field.left, field.top - part.top, field.width, field.height)
        read = labels_of(inside, *areas_and_fields(picture), self._reader.read(picture).sight.lines)
        return field if any(matches(label, text) for label in labels for text in read) else None

    def _read_field(self, frame: Frame, at: Point) -> Box | None:
        part = Box(0, at.y - REACH, frame.size.width, 2 * REACH + 1).clipped(frame.size) or _OFF_SCREEN
        picture = _crop(_image(frame), part)
        box = field_in(picture, Point(at.x, at.y - part.top))
        return None if box is None else Box(box.left, part.top + box.top, box.width, box.height)

    def _read_control(self, frame: Frame, at: Point) -> str:
        screen = _image(frame)
        areas = _areas(screen)
        box = _control_at(areas, at)
        if box is None:
            return ""
        inside = (area for area in areas if box.encloses(area) and not area.contains(at))
        others = [area for area in inside if 2 * area.area < box.area]  # a larger one is the control inside its frame
        return self._texts(screen, [box], at, others if box.height > HIGHEST else ())

    def _is_unread(self, frame: Frame, at: Point) -> bool:
        screen = _image(frame)
        box = _control_at(_areas(screen), at)
        if box is None or box.width > WIDEST or box.height > HIGHEST or self._read_field(frame, at) is not None:
            return False
        return not self._texts(screen, [box], at).strip()

    def _read(self, frame: Frame, where: Point | Box) -> str:
        screen = _image(frame)
        if isinstance(where, Box):
            return self._texts(screen, [where])
        box = _control_at(_areas(screen), where)
        return self._texts(screen, [*([] if box is None else [box]), Box.near(where, BESIDE, ABOVE)], where)

    def _texts(
        self, screen: Image.Image, boxes: Sequence[Box], at: Point | None = None, others: Sequence[Box] = ()
    ) -> str:
        """Return the lines that touch one of the boxes as one text; if they are many, only those near ``at``.

        Lines in the boxes of ``others`` are left out.
        """
        whole, margin = Box.around(boxes), HIGHEST if at else 0
        wide, high = whole.width + 2 * margin, whole.height + 2 * margin
        part = Box(whole.left - margin, whole.top - margin, wide, high).clipped(Size(*screen.size)) or _OFF_SCREEN
        lines = self._reader.read(_crop(screen, part)).sight.lines
        inside = [box.moved(-part.left, -part.top) for box in boxes]
        found = [line for box in inside for line in lines if line.box.intersects(box)]
        if at is not None and len(found) > MOST_LINES:
            found = [line for line in found if abs(line.box.center.y + part.top - at.y) <= HIGHEST]
        outlines = [box.moved(-part.left, -part.top) for box in others]
        return " ".join(line.text for line in found if not any(box.encloses(line.box, slack=SLACK) for box in outlines))


def _control_at(areas: Sequence[Box], at: Point) -> Box | None:
    """Return the control that a press at a point would hit: the smallest even area with an edge, of any size.

    A background taller than a row of buttons with other controls on it is not a control: then return ``None``.
    """
    box = _smallest(areas, at)
    if box is None:
        return None
    on_it = (other for other in areas if other is not box and box.encloses(other) and other.width >= _CONTROL)
    half = box.width * box.height // 2  # a larger inner area is the same control, inside its frame
    if box.height > 2 * HIGHEST and any(other.width * other.height < half for other in on_it):
        return None
    return box


def _control(picture: Image.Image, at: Point) -> Box | None:
    """Return the smallest even area with an edge, such as a button, that contains a point."""
    return _smallest(_areas(picture), at)


def _areas(picture: Image.Image) -> list[Box]:
    import numpy as np

    pixels = np.asarray(picture)
    return [area.box for area in areas_of(pixels, edges_of(pixels)) if is_large(area.box)]


def _smallest(boxes: Sequence[Box], at: Point) -> Box | None:
    there = (box for box in boxes if box.contains(at))
    return min(there, key=lambda box: box.width * box.height, default=None)


def _image(frame: Frame) -> Image.Image:
    return Image.frombuffer("RGB", (frame.size.width, frame.size.height), frame.rgb, "raw", "RGB", 0, 1)


def _crop(screen: Image.Image, part: Box) -> Image.Image:
    return screen.crop((part.left, part.top, part.right, part.bottom))
