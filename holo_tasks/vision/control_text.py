"""What is written on a control of a screen, for rules about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

from PIL import Image

from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.vision.field_labels import labels_of
from holo_tasks.vision.input_fields import areas_and_fields, field_in, is_large
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.outlines import areas_of, edges_of
from holo_tasks.vision.screen_text import matches

BESIDE, ABOVE = 48, 20
"""A text this close to a point, in pixels, belongs to what is there: the label of a check box, a link's other words."""
WIDEST, HIGHEST = 400, 80
"""How far from a field its label may be, in pixels; and what reaches no farther is a button rather than a page."""
REACH = 400
"""A text area may reach so far above and below a point, in pixels, and as wide as the screen."""
MOST_LINES = 12
"""What has more lines of text is a page or a terminal: of that, the lines near to a point are what is there."""
_OFF_SCREEN = Box(0, 0, 1, 1)
"""What is looked at where nothing of a box is on the screen."""
_CONTROL = 64
"""What is as wide, in pixels, on something higher than a button, is a control of its own, no hole of a letter."""


@cache
def can_read() -> bool:
    """Say whether OCR is installed (the extra ``rehearsal``)."""
    return all(find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


class ScreenText:
    """Reads what is on the control at a point, or everything in a box; a `core.permit.TextReader`."""

    def __init__(self) -> None:
        self._reader = Reader()

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return await asyncio.to_thread(self._read, frame, where)

    async def on_target(self, frame: Frame, at: Point) -> str:
        """Return what is written on the control at a point, and nothing else."""
        return await asyncio.to_thread(self._read_control, frame, at)

    async def unread_at(self, frame: Frame, at: Point) -> bool:
        """Say whether at a point is a button, as far as anybody can say, with a sign on it that is no text."""
        return await asyncio.to_thread(self._is_unread, frame, at)

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        """Return the text field at a point; None if what is there is none, or may be a button."""
        return await asyncio.to_thread(self._read_field, frame, at)

    async def labelled(self, frame: Frame, at: Point, labels: Sequence[str]) -> Box | None:
        """Return the text field at a point if it is called by one of some labels; None if not, or nobody can say."""
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
        box = _pressed(screen, at)
        return "" if box is None else self._texts(screen, [box], at)

    def _is_unread(self, frame: Frame, at: Point) -> bool:
        screen = _image(frame)
        box = _pressed(screen, at)
        if box is None or box.width > WIDEST or box.height > HIGHEST or self._read_field(frame, at) is not None:
            return False
        return not self._texts(screen, [box], at).strip()

    def _read(self, frame: Frame, where: Point | Box) -> str:
        screen = _image(frame)
        if isinstance(where, Box):
            return self._texts(screen, [where])
        box = _pressed(screen, where)
        return self._texts(screen, [*([] if box is None else [box]), Box.near(where, BESIDE, ABOVE)], where)

    def _texts(self, screen: Image.Image, boxes: Sequence[Box], at: Point | None = None) -> str:
        """Return what is written in some boxes that lie together: all lines that touch one, or that are near a point
        if they are many.
        """
        whole, margin = Box.around(boxes), HIGHEST if at else 0
        wide, high = whole.width + 2 * margin, whole.height + 2 * margin
        part = Box(whole.left - margin, whole.top - margin, wide, high).clipped(Size(*screen.size)) or _OFF_SCREEN
        lines = self._reader.read(_crop(screen, part)).sight.lines
        inside = [box.moved(-part.left, -part.top) for box in boxes]
        found = [line for box in inside for line in lines if line.box.intersects(box)]
        if at is not None and len(found) > MOST_LINES:
            found = [line for line in found if abs(line.box.center.y + part.top - at.y) <= HIGHEST]
        return " ".join(line.text for line in found)


def _pressed(screen: Image.Image, at: Point) -> Box | None:
    """Return what is pressed at a point: the smallest even area with an edge around it, however wide or high.

    The ground that other controls lie on is nothing to press, if it is higher than a row of buttons.
    """
    every = _areas(screen)
    box = _smallest(every, at)
    if box is None:
        return None
    on_it = (other for other in every if other is not box and box.encloses(other) and other.width >= _CONTROL)
    half = box.width * box.height // 2  # an area that takes up more is the same control, inside its frame
    if box.height > 2 * HIGHEST and any(other.width * other.height < half for other in on_it):
        return None
    return box


def _control(picture: Image.Image, at: Point) -> Box | None:
    """Return the smallest even area with an edge around it, such as a button, that a point is in."""
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
