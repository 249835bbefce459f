"""Controls found in pixels alone: areas with an edge around them and one line of text in them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holo_tasks.core.elements.named_target import FARTHEST, HIGHEST, NEAREST, WIDEST, Control, Spot
from holo_tasks.core.elements.target_words import words_of
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.vision.element_check import ElementCheck, shared_check
from holo_tasks.vision.field_labels import labels_of
from holo_tasks.vision.input_fields import areas_and_fields, has_caption
from holo_tasks.vision.ocr_reader import Reader, shared_reader
from holo_tasks.vision.screen_text import Line
from holo_tasks.vision.template_match import pixels_of

if TYPE_CHECKING:
    from holo_tasks.vision.colors import Pixels

ACROSS, DOWN = WIDEST + FARTHEST, HIGHEST + FARTHEST
"""Half the size of the crop around a point. It holds any small control at the point."""
TOUCHING = 2
"""Maximal gap between the cells of a table, in pixels."""
LEAST_STEP = 6
"""Minimal difference of the backgrounds of a button and a field, in color levels."""
FIELD, CELL = "text field", "column header"
"""Roles of areas. A cell of a table may be the header of its row or of its column."""


class SpotText:
    """Reads the control at a point, and all controls of a screen; a `core.elements.named_target.ReadsSpots`."""

    def __init__(self, check: ElementCheck | None = None, reader: Reader | None = None) -> None:
        self._check = check or shared_check()
        self._reader = reader or shared_reader()

    async def spot(self, frame: Frame, at: Point) -> tuple[Spot, list[Control]] | None:
        return await asyncio.to_thread(self._spot, frame, at)

    async def controls(self, frame: Frame) -> list[Control]:
        return await asyncio.to_thread(self._controls, frame)

    async def texts(self, frame: Frame) -> list[tuple[str, Box]]:
        return [(line.text, line.box) for line in await asyncio.to_thread(self._lines, frame)]

    async def fields(self, frame: Frame, at: Point) -> list[Control]:
        return await asyncio.to_thread(self._fields, frame, at)

    def _spot(self, frame: Frame, at: Point) -> tuple[Spot, list[Control]] | None:
        areas, fields = _areas(frame, Box.near(at, ACROSS, DOWN))
        there = min((box for box in areas if box.contains(at)), key=lambda box: box.area, default=None)
        box = there or min(areas, key=lambda box: _gap(box, at), default=None)
        if box is None or (there is None and not NEAREST <= _gap(box, at) <= FARTHEST):
            return None
        text = self._check.read(frame, box)
        if not text:
            return None
        if there is None:
            return Spot("", "", Box.near(at, 0, 0), (), is_bare=True), [Control(text, "", box)]
        pixels, _ = pixels_of(frame, there)
        return Spot(text, FIELD if there in fields else "", there, (text,), is_captioned=has_caption(pixels)), []

    def _controls(self, frame: Frame) -> list[Control]:
        areas, fields = _areas(frame, Box.whole(frame.size))
        lines = self._lines(frame)
        found = []
        for line in lines:
            around = (box for box in areas if box.contains(line.box.center))
            box = min(around, key=lambda box: box.area, default=None)
            if box is not None and box not in fields and sum(box.contains(each.box.center) for each in lines) == 1:
                found.append(Control(line.text, CELL if _is_cell(box, areas) else "", box))
        return found

    def _fields(self, frame: Frame, at: Point) -> list[Control]:
        pixels, _ = pixels_of(frame)
        areas, fields = areas_and_fields(pixels)
        there = min((box for box in areas if box.contains(at)), key=lambda box: box.area, default=None)
        if there is None:
            return []
        lines, ground = self._lines(frame), _ground(pixels, there)
        times = Counter(words_of(line.text) for line in lines)
        place = {line.text: line.box for line in lines if times[words_of(line.text)] == 1}
        own = {label: place[label].gap(there) for label in labels_of(there, areas, fields, lines) if label in place}
        return [
            Control(label, FIELD, box, is_by_label=True)
            for box in fields
            if abs(_ground(pixels, box) - ground).max() >= LEAST_STEP
            for label in labels_of(box, areas, fields, lines)
            if label in place and not (label in own and own[label] <= place[label].gap(box))
        ]

    def _lines(self, frame: Frame) -> Sequence[Line]:
        from PIL import Image

        size = frame.size
        picture = Image.frombuffer("RGB", (size.width, size.height), frame.rgb, "raw", "RGB", 0, 1)
        return self._reader.read(picture).sight.lines


def _ground(pixels: Pixels, box: Box) -> Any:
    """Return the median color of an area: its background, as its text covers less than half."""
    import numpy as np

    return np.median(pixels[box.top : box.bottom, box.left : box.right].reshape(-1, 3), axis=0)


def _areas(frame: Frame, part: Box) -> tuple[list[Box], list[Box]]:
    """Return the areas in a part of a picture that are as small as a control, and the input fields among them."""
    pixels, part = pixels_of(frame, part)
    areas, fields = areas_and_fields(pixels)
    whole = [_on_screen(box, part) for box in areas if _is_small(box) and not _is_cut(box, part, frame)]
    return whole, [_on_screen(box, part) for box in fields]


def _on_screen(box: Box, part: Box) -> Box:
    return box.moved(part.left, part.top)


def _is_small(box: Box) -> bool:
    return box.width <= WIDEST and box.height <= HIGHEST


def _is_cut(box: Box, part: Box, frame: Frame) -> bool:
    """Say whether an area reaches the end of a part of the screen, and may go on beyond it."""
    screen = Box.whole(frame.size)
    return any(
        (at_end and not of_screen)
        for at_end, of_screen in (
            (box.left <= 0, part.left == screen.left),
            (box.top <= 0, part.top == screen.top),
            (box.right >= part.width, part.right == screen.right),
            (box.bottom >= part.height, part.bottom == screen.bottom),
        )
    )


def _is_cell(box: Box, areas: Sequence[Box]) -> bool:
    """Say whether an area touches another one of its row or its column, as the cells of a table do."""
    return any(
        other != box
        and 0 < _gap_between(box, other) <= TOUCHING
        and ((other.top, other.bottom) == (box.top, box.bottom) or (other.left, other.right) == (box.left, box.right))
        for other in areas
    )


def _gap_between(one: Box, other: Box) -> int:
    return 0 if one.intersects(other) else max(1, one.gap(other))


def _gap(box: Box, at: Point) -> int:
    return Box(at.x, at.y, 1, 1).gap(box)
