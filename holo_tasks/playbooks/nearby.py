"""What is written on a control of a screen, for rules about it."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

from PIL import Image

from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.playbooks.outlines import areas_of, edges_of
from holo_tasks.playbooks.reading import Reader

BESIDE, ABOVE = 48, 20
"""A text this close to a point, in pixels, belongs to what is there: the label of a check box, a link's other words."""
WIDEST, HIGHEST = 400, 80
"""How far from a point a control may reach, in pixels; its text stands in its middle, however wide it is."""
SMALLEST = Size(20, 12)


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

    def _read_control(self, frame: Frame, at: Point) -> str:
        screen = Image.frombuffer("RGB", (frame.size.width, frame.size.height), frame.rgb, "raw", "RGB", 0, 1)
        part = _clipped(_around(at, WIDEST, HIGHEST), frame.size)
        picture = _crop(screen, part)
        return self._texts(picture, _control(picture, Point(at.x - part.left, at.y - part.top)))

    def _read(self, frame: Frame, where: Point | Box) -> str:
        screen = Image.frombuffer("RGB", (frame.size.width, frame.size.height), frame.rgb, "raw", "RGB", 0, 1)
        if isinstance(where, Box):
            part = _clipped(where, frame.size)
            return self._texts(_crop(screen, part), Box(0, 0, part.width, part.height))
        part = _clipped(_around(where, WIDEST, HIGHEST), frame.size)
        picture, at = _crop(screen, part), Point(where.x - part.left, where.y - part.top)
        return " ".join((self._texts(picture, _control(picture, at)), self._texts(picture, _around(at, BESIDE, ABOVE))))

    def _texts(self, picture: Image.Image, inside: Box | None) -> str:
        if inside is None:
            return ""
        lines = self._reader.read(picture).sight.lines
        return " ".join(line.text for line in lines if _touch(line.box, inside))


def _control(picture: Image.Image, at: Point) -> Box | None:
    """Return the smallest even area with an edge around it, such as a button, that a point is in."""
    import numpy as np

    pixels = np.asarray(picture)
    around = [area.box for area in areas_of(pixels, edges_of(pixels)) if _touch(area.box, Box(at.x, at.y, 1, 1))]
    large = [box for box in around if box.width >= SMALLEST.width and box.height >= SMALLEST.height]
    return min(large, key=lambda box: box.width * box.height, default=None)


def _crop(screen: Image.Image, part: Box) -> Image.Image:
    return screen.crop((part.left, part.top, part.right, part.bottom))


def _around(at: Point, across: int, down: int) -> Box:
    return Box(at.x - across, at.y - down, 2 * across + 1, 2 * down + 1)


def _clipped(box: Box, size: Size) -> Box:
    left, top = max(0, box.left), max(0, box.top)
    return Box(left, top, max(1, min(box.right, size.width) - left), max(1, min(box.bottom, size.height) - top))


def _touch(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom
