"""Cut one row of text out of a small box, and find the wide gaps in a row, without text detection, which is slow.

`element_check` uses it to read the text of a control. `ocr_reader` and `joined_words` part rows at their gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.colors import mask_of_other_colors, most_common

if TYPE_CHECKING:
    import numpy as np

    from holo_tasks.vision.colors import Color

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

EDGE, BARE = 4, 24
"""Largest width of a frame in pixels, and color levels of 255 within which a background counts as blank."""
INK, FRAMED = 40, 0.6
"""Color levels by which text differs from the background, and share of a border line that makes it a frame."""
LEAST, HIGHEST = 5, 36
"""Least and largest height of a row of text, in pixels."""
ROOM = 4
WIDE_GAP = 1.2
"""Least distance of two texts on one row, such as a label and its value, in heights of their ink. Words are closer."""
WIDEST_ICON, LEAST_GAP = 36, 6
"""Largest width of an icon, and least distance of a text from the icon before it, in pixels."""


def is_empty(pixels: Pixels) -> bool:
    """Return whether the inside of a box, without its frame, is blank."""
    inner = pixels[EDGE:-EDGE, EDGE:-EDGE]
    return bool(inner.size) and int(inner.max(axis=(0, 1)).max()) - int(inner.min(axis=(0, 1)).min()) < BARE


def row_in(pixels: Pixels) -> tuple[Pixels, Box] | None:
    """Return the row of text in a box on one background color, with a margin, and its place in the box.

    Returns ``None`` if the content is higher than a row of text, or the box is empty. A frame is left out. If the text
    touches the frame, the result is ``None`` as well.
    """
    import numpy as np

    for edge in (EDGE, 0):
        inner = pixels[edge : pixels.shape[0] - edge, edge : pixels.shape[1] - edge]
        if min(inner.shape[:2]) < LEAST:
            continue
        ground = most_common(inner)
        ink = mask_of_other_colors(inner, ground, INK)
        if edge and (ink[0].any() or ink[-1].any() or ink[:, 0].any() or ink[:, -1].any()):
            continue
        if ink[0].mean() >= FRAMED or ink[-1].mean() >= FRAMED:
            return None
        rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
        if not rows.size or not LEAST <= rows[-1] + 1 - rows[0] <= HIGHEST:
            return None
        box = Box.of_corners(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
        row = np.empty((box.height + 2 * ROOM, box.width + 2 * ROOM, 3), np.uint8)
        row[:] = ground
        row[ROOM:-ROOM, ROOM:-ROOM] = inner[box.top : box.bottom, box.left : box.right]
        return row, box.moved(edge, edge)
    return None


def row_after_icon(pixels: Pixels) -> tuple[Pixels, Box] | None:
    """Return the row of text in a box without the icon before it, and its place in the box.

    Returns ``None`` unless the row begins with something about as wide as high, and a gap wider than one between words.
    """
    import numpy as np

    found = row_in(pixels)
    if found is None:
        return None
    row, place = found
    ink = mask_of_other_colors(row, (int(row[0, 0, 0]), int(row[0, 0, 1]), int(row[0, 0, 2])), INK)
    columns = np.flatnonzero(ink.any(axis=0))
    ends = np.flatnonzero(np.diff(columns) > LEAST_GAP)
    if not ends.size:
        return None
    icon, begin = int(columns[ends[0]]) + 1 - ROOM, int(columns[ends[0] + 1])
    rows = np.flatnonzero(ink[:, begin:].any(axis=1))
    height = int(rows[-1]) + 1 - int(rows[0])
    if icon > min(WIDEST_ICON, 2 * place.height) or height < LEAST or 2 * (begin - ROOM - icon) <= height:
        return None
    rest = row[max(0, int(rows[0]) - ROOM) : int(rows[-1]) + 1 + ROOM, begin - ROOM :]
    box = Box(place.left + begin - ROOM, place.top + int(rows[0]) - ROOM, place.width - (begin - ROOM), height)
    return np.ascontiguousarray(rest), box


def enlarged(pixels: Pixels, size: int) -> Pixels:
    """Return a picture in a multiple of its size. OCR reads small letters better so."""
    import numpy as np
    from PIL import Image

    if size == 1:
        return pixels
    height, width = pixels.shape[:2]
    return np.asarray(Image.fromarray(pixels).resize((width * size, height * size), Image.Resampling.LANCZOS))


@dataclass(frozen=True)
class Spans:
    """The parts of a row between gaps, as columns of its picture, with the rows of its ink and its background."""

    columns: tuple[tuple[int, int], ...]
    level: tuple[int, int]
    ground: Color

    @property
    def height(self) -> int:
        """The height of the ink in pixels."""
        return self.level[1] - self.level[0]


def spans_of(pixels: Pixels, gap: float, ink: int = INK) -> Spans | None:
    """Part a row of text where its picture has no ink over more than ``gap`` heights of the ink.

    Returns ``None`` if the row has no such gap, or is lower than text.
    """
    import numpy as np

    if min(pixels.shape[:2]) < LEAST:
        return None
    ground = most_common(pixels)
    drawn = mask_of_other_colors(pixels, ground, ink)
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    if not rows.size or (height := int(rows[-1]) + 1 - int(rows[0])) < LEAST:
        return None
    gaps = np.flatnonzero(np.diff(columns) - 1 > gap * height)
    ends = [0, *(int(each) + 1 for each in gaps), len(columns)]
    spans = tuple((int(columns[first]), int(columns[last - 1]) + 1) for first, last in pairwise(ends))
    return Spans(spans, (int(rows[0]), int(rows[-1]) + 1), ground) if len(spans) > 1 else None
