"""What is written on a control of a screen, for rules about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.util import find_spec

from PIL import Image

from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.playbooks.outlines import areas_of, edges_of
from holo_tasks.playbooks.papers import field_in, is_large
from holo_tasks.playbooks.reading import Reader
from holo_tasks.playbooks.sight import Line, matches
from holo_tasks.safety.policy import Rules

BESIDE, ABOVE = 48, 20
"""A text this close to a point, in pixels, belongs to what is there: the label of a check box, a link's other words."""
WIDEST, HIGHEST = 400, 80
"""How far from a point a control may reach, in pixels; its text stands in its middle, however wide it is."""
REACH = 400
"""A text area may reach so far above and below a point, in pixels, and as wide as the screen."""


def can_read() -> bool:
    """Say whether OCR is installed (the extra ``rehearsal``)."""
    return all(find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


def unread(rules: Rules) -> str:
    """Say what becomes of rules that go by what is written on the screen, where nothing can read it; else nothing."""
    if can_read() or not any(rule.text for rule in rules.confirm):
        return ""
    return (
        "The rules ask for a person's yes by what is written on the screen (confirm: text), and nothing here can read "
        "it: every action that may press something needs a person's yes. pip install 'prefect-holo[rehearsal]' lets it "
        "be read; a rule can also name kinds or programs instead of a text."
    )


class ScreenText:
    """Reads what is on the control at a point, or everything in a box; a `core.permit.TextReader`."""

    def __init__(self) -> None:
        self._reader = Reader()

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return await asyncio.to_thread(self._read, frame, where)

    async def on_target(self, frame: Frame, at: Point) -> str:
        """Return what is written on the control at a point, and nothing else."""
        return await asyncio.to_thread(self._read_control, frame, at)

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        """Return the text field at a point; None if what is there is none, or may be a button."""
        return await asyncio.to_thread(self._read_field, frame, at)

    async def labelled(self, frame: Frame, at: Point, labels: Sequence[str]) -> bool:
        """Say whether one of some labels is read beside or above the field at a point."""
        read = await asyncio.to_thread(self._read_labels, frame, at)
        return any(matches(label, text) for label in labels for text in read)

    def _read_labels(self, frame: Frame, at: Point) -> list[str]:
        part = _clipped(Box(0, at.y - HIGHEST, frame.size.width, 2 * HIGHEST + 1), frame.size)
        picture = _crop(_image(frame), part)
        box = _control(picture, Point(at.x, at.y - part.top))
        return [] if box is None else _labels(box, self._reader.read(picture).sight.lines)

    def _read_field(self, frame: Frame, at: Point) -> Box | None:
        part = _clipped(Box(0, at.y - REACH, frame.size.width, 2 * REACH + 1), frame.size)
        picture = _crop(_image(frame), part)
        box = field_in(picture, Point(at.x, at.y - part.top))
        return None if box is None else Box(box.left, part.top + box.top, box.width, box.height)

    def _read_control(self, frame: Frame, at: Point) -> str:
        screen = _image(frame)
        part = _clipped(_around(at, WIDEST, HIGHEST), frame.size)
        picture = _crop(screen, part)
        return self._texts(picture, _control(picture, Point(at.x - part.left, at.y - part.top)))

    def _read(self, frame: Frame, where: Point | Box) -> str:
        screen = _image(frame)
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
    return min(filter(is_large, around), key=lambda box: box.width * box.height, default=None)


def _labels(box: Box, lines: Sequence[Line]) -> list[str]:
    """Return what stands next to an area on its left, and right above it."""
    beside = [
        line
        for line in lines
        if box.top <= line.box.center.y < box.bottom and 0 <= box.left - line.box.right + 4 <= WIDEST
    ]
    above = [
        line
        for line in lines
        if -4 <= box.top - line.box.bottom <= 2 * line.box.height
        and line.box.left < box.right
        and box.left < line.box.right
    ]
    nearest = [max(beside, key=lambda line: line.box.right)] if beside else []
    return [line.text for line in (*nearest, *([max(above, key=lambda line: line.box.bottom)] if above else []))]


def _image(frame: Frame) -> Image.Image:
    return Image.frombuffer("RGB", (frame.size.width, frame.size.height), frame.rgb, "raw", "RGB", 0, 1)


def _crop(screen: Image.Image, part: Box) -> Image.Image:
    return screen.crop((part.left, part.top, part.right, part.bottom))


def _around(at: Point, across: int, down: int) -> Box:
    return Box(at.x - across, at.y - down, 2 * across + 1, 2 * down + 1)


def _clipped(box: Box, size: Size) -> Box:
    left, top = max(0, box.left), max(0, box.top)
    return Box(left, top, max(1, min(box.right, size.width) - left), max(1, min(box.bottom, size.height) - top))


def _touch(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom
