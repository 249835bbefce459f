"""Read pictures with OCR, and only the parts that no earlier picture showed.

A whole screen takes seconds on a busy machine. So results are cached: pictures and pieces of text by their pixels
(`known_letters`), and the lines of a recent picture where the new one is equal. `Reader` is the main class;
`shared_reader` returns the one of this process.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.machine.memory import return_free_memory_soon
from holo_tasks.vision.changed_regions import (
    BLOCK,
    TOLERANCE,
    boxes_of,
    changed_blocks,
    field_boxes,
    flat_blocks,
    grow_regions,
)
from holo_tasks.vision.colors import bgr_of
from holo_tasks.vision.input_fields import areas_and_fields
from holo_tasks.vision.known_letters import LEAST_LETTERS, SURE, KnownLetters
from holo_tasks.vision.lazy_sequence import LazySequence
from holo_tasks.vision.ocr import Ocr
from holo_tasks.vision.parted_text import parted
from holo_tasks.vision.plain_rows import parts_around, plain_rows
from holo_tasks.vision.screen_text import Line, Sight, in_reading_order
from holo_tasks.vision.text_caret import less_its_last, may_end_in_caret, without_caret
from holo_tasks.vision.text_row import WIDE_GAP, spans_of

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

LEAST_SCORE = 0.6
"""Least confidence of a text, from 0 to 1. Texts below it are dropped."""
_RECENT_PICTURES = 12
SPARSE = 4
"""Of this many rows one is compared to choose the recent picture that is most like a new one."""
_MARGIN = 6
AROUND = 7
"""Most pixels around the letters of a row that belong to its box. Text detection adds about as many."""


@dataclass(frozen=True)
class Reading:
    """The result of reading a picture, the seconds it took, and its method.

    ``how`` is ``whole``, ``changes`` if only the changed part was read, or ``remembered`` for a cached picture.
    """

    sight: Sight
    seconds: float
    how: Literal["whole", "changes", "remembered"]


class Reader:
    """Reads pictures. Threads may share it; it serves one at a time.

    ``threads`` is the engine's thread count. More than one thread busy-waits for work, which slows down a shared
    machine.
    """

    def __init__(self, threads: int = 1) -> None:
        self._ocr = Ocr(threads)
        self._letters = KnownLetters(self._ocr)
        self._lock = threading.Lock()
        self._pictures: OrderedDict[tuple[bytes, tuple[int, int]], tuple[Pixels, Sight]] = OrderedDict()

    def read(self, picture: Image.Image) -> Reading:
        """Read a picture of any size."""
        import numpy as np

        started = time.perf_counter()
        picture = picture if picture.mode == "RGB" else picture.convert("RGB")
        shown = picture.tobytes(), picture.size
        pixels: Pixels = np.frombuffer(shown[0], np.uint8).reshape(picture.height, picture.width, 3)
        with self._lock:
            known = self._pictures.get(shown)
            if known is not None:
                self._pictures.move_to_end(shown)
                return Reading(known[1], time.perf_counter() - started, "remembered")
            sight, from_scratch = self._read_new(pixels)
            return_free_memory_soon()  # text of many widths leaves a hundred megabytes of free blocks
            self._pictures[shown] = (pixels, sight)
            if len(self._pictures) > _RECENT_PICTURES:
                self._pictures.popitem(last=False)
        return Reading(sight, time.perf_counter() - started, "whole" if from_scratch else "changes")

    def read_piece(self, pixels: Pixels) -> list[Line]:
        """Return the lines of a small piece of a picture. The piece does not enter the cache of pictures."""
        with self._lock:
            return self._read_region(pixels, Box(0, 0, pixels.shape[1], pixels.shape[0]))

    def read_row(self, pixels: Pixels) -> tuple[str, float]:
        """Return the text of a piece with one row of text, and the confidence from 0 to 1."""
        with self._lock:
            return self._letters.read(bgr_of(pixels))

    def warm_up(self) -> None:
        """Load the engine now instead of with the first picture."""
        from PIL import Image

        self.read(Image.new("RGB", (64, 64), "white"))
        with self._lock:
            self._ocr.warm_up()

    def _read_new(self, pixels: Pixels) -> tuple[Sight, bool]:
        size = Size(pixels.shape[1], pixels.shape[0])
        dirty = ~flat_blocks(pixels)
        reusable: tuple[Line, ...] = ()
        from_scratch = True
        alike = min(
            ((before, sight) for before, sight in self._pictures.values() if sight.size == size),
            key=lambda one: _difference(one[0], pixels),
            default=None,
        )
        if alike is not None:
            changed = changed_blocks(alike[0], pixels)
            if changed.sum() < 0.7 * dirty.sum():
                dirty, reusable, from_scratch = changed, tuple(alike[1].lines), False
        regions, lines = _to_read(dirty, reusable, size)
        fields = cache(lambda: _fields(pixels))
        light, colored = LazySequence(lambda: fields()[0]), LazySequence(lambda: fields()[1])
        for region in regions:
            for read in self._read_region(pixels, region):
                parts = parted(read, fields, lambda box: self._letters.read(_piece(pixels, box)), LEAST_SCORE)
                lines += [self._without_caret(pixels, line, fields) for line in parts]
        return Sight(in_reading_order(lines), size, light, colored), from_scratch

    def _without_caret(self, pixels: Pixels, line: Line, fields: Callable[[], Sequence[Sequence[Box]]]) -> Line:
        """Return a line read without the text cursor behind it.

        Returns the line itself if no cursor is found, or if the new reading is uncertain or does not fit.
        """
        if not may_end_in_caret(line.text):
            return line
        field = next((field for field in chain(*fields()) if field.contains(line.box.center)), None)
        piece = None if field is None else without_caret(pixels, line.text, line.box, field)
        if piece is None:
            return line
        text, score = self._letters.read(bgr_of(piece))
        return Line(text, line.box, score) if score >= LEAST_SCORE and less_its_last(line.text, text) else line

    def _read_region(self, pixels: Pixels, region: Box) -> list[Line]:
        part = pixels[region.top : region.bottom, region.left : region.right]
        if int(part.max()) - int(part.min()) < 24:
            return []
        part, whole = bgr_of(part), Box(0, 0, region.width, region.height)
        found, lines = plain_rows(part), list[Line]()
        others = [*found.others]
        for row in found.rows:
            text, score = self._letters.read(row.pixels)
            if score >= SURE and len(text) >= LEAST_LETTERS:
                lines.append(Line(text, row.box.grown(min(row.box.height // 2, AROUND)), score))
                part[row.box.top : row.box.bottom, row.box.left : row.box.right] = row.pixels[0, 0]
            else:
                others.append(row.box)
        lines += [line for each in parts_around(others, whole) for line in self._detected(part, each)]
        return [replace(line, box=line.box.cut_to(whole).moved(region.left, region.top)) for line in lines]

    def _detected(self, pixels: Pixels, within: Box) -> Iterator[Line]:
        """Yield the lines that text detection finds in a part of a picture."""
        part = pixels[within.top : within.bottom, within.left : within.right]
        for box in chain.from_iterable(_apart(part, found) for found in self._ocr.find(part)):
            text, score = self._letters.read(part[box.top : box.bottom, box.left : box.right])
            if text and score >= LEAST_SCORE:
                yield Line(text, box.moved(within.left, within.top), score)


def _apart(pixels: Pixels, box: Box) -> list[Box]:
    """Return the boxes of the texts that text detection found as one, such as a label and its value.

    Text detection may join two texts in a small part of a picture and part them in a large one.
    """
    spans = spans_of(pixels[box.top : box.bottom, box.left : box.right], WIDE_GAP)
    if spans is None or min(right - left for left, right in spans.columns) < spans.height:
        return [box]  # a sign is no text of its own
    around = min(spans.height // 2, AROUND)
    edges = [(max(0, left - around), min(box.width, right + around)) for left, right in spans.columns]
    return [Box(box.left + left, box.top, right - left, box.height) for left, right in edges]


def _piece(pixels: Pixels, box: Box) -> Pixels:
    """Return the pixels of a box, in OpenCV's channel order."""
    return bgr_of(pixels[box.top : box.bottom, box.left : box.right])


def _difference(before: Pixels, after: Pixels) -> int:
    """Return a measure of how much two pictures differ: the number of color levels in some rows that do."""
    import cv2
    import numpy as np

    return int(np.count_nonzero(np.asarray(cv2.absdiff(before[::SPARSE], after[::SPARSE])) >= TOLERANCE))


def _fields(pixels: Pixels) -> tuple[tuple[Box, ...], tuple[Box, ...]]:
    """Return the light fields of a picture, and other areas that are certainly fields.

    A light box much larger than a certain field inside it is a page, and is left out. So is one with another control
    beside that field, such as a column of buttons that touches it.
    """
    areas, sure = areas_and_fields(pixels)
    light = tuple(box for box in field_boxes(pixels) if not any(_is_around(box, field, areas) for field in sure))
    return light, tuple(field for field in sure if not any(field.intersects(other) for other in light))


def _is_around(box: Box, field: Box, areas: Sequence[Box]) -> bool:
    """Return whether a light box contains more than a certain field in it."""
    if not box.encloses(field):
        return False
    beside = (area for area in areas if box.encloses(area) and not area.intersects(field))
    return 2 * field.area < box.area or next(beside, None) is not None


def _to_read(dirty: Any, reusable: tuple[Line, ...], size: Size) -> tuple[list[Box], list[Line]]:
    """Return the regions to read again, and the cached lines outside them."""
    regions = boxes_of(dirty, size)
    while True:
        touched = [line for line in reusable if any(_near(line.box, region) for region in regions)]
        reusable = tuple(line for line in reusable if line not in touched)
        # A line is read as a whole or not at all.
        regions = grow_regions(regions, [line.box for line in touched], size, margin=_MARGIN)
        if not any(_near(line.box, region) for line in reusable for region in regions):
            return regions, list(reusable)


def _near(one: Box, other: Box, margin: int = BLOCK // 2) -> bool:
    return (
        one.left < other.right + margin
        and other.left < one.right + margin
        and one.top < other.bottom + 2
        and other.top < one.bottom + 2
    )


@cache
def shared_reader() -> Reader:
    """Return the reader of this process, whose cache all callers share."""
    return Reader()
