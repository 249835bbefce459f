"""Split a line that OCR joined of several controls, such as the options of a row of radio buttons.

OCR joins texts on one row and leaves out the circles between them. The picture has these circles (`option_circles`),
or gaps that are wider than between words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.ocr_reader import shared_reader
from holo_tasks.vision.option_circles import between_circles
from holo_tasks.vision.screen_text import Line
from holo_tasks.vision.text_row import ROOM, WIDE_GAP, Spans, spans_of

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

GAP = 0.5
"""Least distance of a circle from a text, in heights of the text."""
WIDEST_SIGN = 1.3
"""Largest width of a circle or a box, in heights of the text."""
CIRCLES = frozenset("oO0©®○●◉◎•☐☑☒□■口")
"""Readings of a circle or a box."""


def pieces_of(pixels: Pixels, line: Line) -> tuple[Line, ...]:
    """Return the texts of a line between circles, boxes or wide gaps, each with its place. None if the line is whole.

    ``pixels`` are those of the whole picture.
    """
    gaps, circles = _between_gaps(pixels, line), between_circles(pixels, line, shared_reader().read_row)
    return circles if len(circles) > len(gaps) else gaps


def _between_gaps(pixels: Pixels, line: Line) -> tuple[Line, ...]:
    """Return the texts of a line between wide gaps, and between signs with gaps around them."""
    import numpy as np

    box = line.box.cut_to(Box(0, 0, pixels.shape[1], pixels.shape[0]))
    part = np.ascontiguousarray(pixels[box.top : box.bottom, box.left : box.right])
    spans = spans_of(part, GAP)
    if spans is None:
        return ()
    read = [_Span(left, right, *_read(part, (left, right), spans)) for left, right in spans.columns]
    corner, height = box.moved(0, spans.level[0]), spans.height
    return tuple(
        Line(piece.text, Box(corner.left + piece.left, corner.top, piece.right - piece.left, height), piece.score)
        for piece in _joined(read, line.text.split(), height)
    )


@dataclass(frozen=True)
class _Span:
    """A part of a line between two columns of pixels, and the text that OCR reads there."""

    left: int
    right: int
    text: str
    score: float


def _joined(spans: Sequence[_Span], words: Sequence[str], height: int) -> list[_Span]:
    """Return the texts between signs and wide gaps; none if there is only one without a sign.

    A sign is a part that OCR left out of the line's ``words``. It belongs to the text after it if the line begins with
    one.
    """
    are_signs = [_is_sign(span, words, height) for span in spans]
    found: list[_Span] = []
    before: _Span | None = None
    for place, span in enumerate(spans):
        if are_signs[place]:
            before = None
            continue
        is_next = before is not None and span.left - before.right <= WIDE_GAP * height
        left = spans[place - 1].left if place and are_signs[0] and are_signs[place - 1] else span.left
        if is_next:
            last = found.pop()
            span = _Span(last.left, span.right, f"{last.text} {span.text}", min(last.score, span.score))
        else:
            span = replace(span, left=left)
        found.append(span)
        before = span
    read = sum(len(piece.text.split()) for piece in found)
    if read < sum(word not in CIRCLES for word in words):
        return []  # a sign was a word, such as the & in a name
    return found if len(found) > 1 or any(are_signs) else []


def _is_sign(span: _Span, words: Sequence[str], height: int) -> bool:
    """Return whether a part of a line is a circle or a box, and no word of the line."""
    text = span.text.strip()
    if span.right - span.left > WIDEST_SIGN * height or sum(map(str.isalnum, text)) > 1:
        return False
    return text not in words or (text in CIRCLES and words.count(text) > 1)


def _read(part: Pixels, columns: tuple[int, int], spans: Spans) -> tuple[str, float]:
    """Return the text between two columns of a picture, and the confidence from 0 to 1."""
    import numpy as np

    row = np.empty((spans.height + 2 * ROOM, columns[1] - columns[0] + 2 * ROOM, 3), np.uint8)
    row[:] = spans.ground
    row[ROOM:-ROOM, ROOM:-ROOM] = part[slice(*spans.level), slice(*columns)]
    return shared_reader().read_row(row)
