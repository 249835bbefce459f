"""Split a line that OCR joined of several options at the circles between them.

Some toolkits draw an option's circle so close to the text before it that no gap tells the two texts apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.colors import mask_of_other_colors, most_common
from holo_tasks.vision.screen_text import Line, plain
from holo_tasks.vision.text_row import INK, LEAST, ROOM

if TYPE_CHECKING:
    import numpy as np

    from holo_tasks.vision.colors import Color, Mask

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

LEAST_CIRCLE, UNEVEN, FILLED = 9, 2, 0.7
"""Least size of a circle or box in pixels, largest difference of its sides, and least share of its square that it
covers with what it encloses.
"""
DOT = 2
"""Most pixels of a dot of a dotted frame. Such a frame is around the option with the focus."""
BESIDE = 1.5
"""Distance before a line in which its first circle is searched, in heights of the line."""


@dataclass(frozen=True)
class _Ink:
    """A connected piece of ink: its box in a part of the picture, and its pixels."""

    box: Box
    pixels: Mask


def between_circles(pixels: Pixels, line: Line, read: Callable[[Pixels], tuple[str, float]]) -> tuple[Line, ...]:
    """Return the texts of a line between circles or boxes of one size. None without a circle between two texts.

    ``read`` returns the text of a row of pixels and the confidence. The texts together must have the letters of the
    line, so that no letter counts as a circle.
    """
    import numpy as np

    box = line.box.cut_to(Box(0, 0, pixels.shape[1], pixels.shape[0]))
    if min(box.width, box.height) < LEAST:
        return ()
    left = max(0, box.left - int(BESIDE * box.height))
    part = np.ascontiguousarray(pixels[box.top : box.bottom, left : box.right])
    ground = most_common(part)
    inks = _pieces(mask_of_other_colors(part, ground, INK))
    round_ones = [ink for ink in inks if _is_circle(ink)]
    for size in sorted({ink.box.height for ink in round_ones}, reverse=True):
        circles = [ink for ink in round_ones if abs(ink.box.height - size) <= 1]
        rows = [ink for ink in inks if ink not in circles and ink.pixels.sum() > DOT]
        spans = [*_spans(rows, [ink.box for ink in circles], box.left - left)]
        texts = [read(_row(part, span, ground)) for _, span in spans] if len(spans) > 1 else []
        words = _parts_of(line.text, [_letters(text) for text, _ in texts])
        if len(words) > 1:
            return tuple(
                Line(word, Box(left + start, box.top, span.right - start, box.height), score)
                for word, (start, span), (_, score) in zip(words, spans, texts, strict=True)
            )
    return ()


def _spans(inks: Sequence[_Ink], circles: Sequence[Box], start: int) -> Iterator[tuple[int, Box]]:
    """Yield the box of each text between circles, and where the option begins.

    That is at the circle before the text, if the first text has one. Otherwise the circles may belong to the texts
    before them. Yields nothing if a circle has no text after it. ``start`` is the column where the line begins.
    """
    ordered = sorted(circles, key=lambda box: box.left)
    before = [box for box in ordered if box.left < start]
    heads = [*((box.left, box.right) for box in (*before[-1:], *ordered[len(before) :]))]
    if not before:
        heads.insert(0, (start, start))
    found = []
    for (circle, head), (end, _) in pairwise([*heads, (10**6, 10**6)]):
        inside = [ink.box for ink in inks if head <= ink.box.center.x < end and ink.box.right > start]
        found.append((circle, head, Box.around(inside) if inside else None))
    if found[0][2] is None:
        found.pop(0)
    elif not before:
        found = [(text.left if text else 0, 0, text) for _, _, text in found]
    if all(text for _, _, text in found):
        yield from ((circle, text) for circle, _, text in found if text)


def _row(part: Pixels, span: Box, ground: Color) -> Pixels:
    """Return the pixels of a text with a margin of the background."""
    import numpy as np

    row = np.empty((span.height + 2 * ROOM, span.width + 2 * ROOM, 3), np.uint8)
    row[:] = ground
    row[ROOM:-ROOM, ROOM:-ROOM] = part[span.top : span.bottom, span.left : span.right]
    return row


def _letters(text: str) -> str:
    return plain(text).replace(" ", "")


def _parts_of(text: str, parts: Sequence[str]) -> list[str]:
    """Return a text cut into parts with these letters; an empty list if they are not its letters."""
    found, rest = [], text
    for part in parts:
        end = next((end for end in range(1, len(rest) + 1) if _letters(rest[:end]) == part), 0)
        if not part or not end:
            return []
        while end < len(rest) and not rest[end].isalnum() and not rest[end].isspace():
            end += 1  # a sign belongs to the word before it
        found.append(rest[:end].strip())
        rest = rest[end:]
    return [] if _letters(rest) else found


def _pieces(drawn: Mask) -> list[_Ink]:
    """Return the connected pieces of ink."""
    import cv2
    import numpy as np

    _, labels, stats, _ = cv2.connectedComponentsWithStats(drawn.astype(np.uint8), connectivity=8)
    found = []
    for number, (left, top, width, height) in enumerate(stats[1:, :4].tolist(), start=1):
        box = Box(left, top, width, height)
        found.append(_Ink(box, labels[top : box.bottom, left : box.right] == number))
    return found


def _is_circle(ink: _Ink) -> bool:
    """Return whether a piece of ink is as high as wide and covers its square, with what it encloses."""
    import cv2
    import numpy as np

    width, height = ink.box.width, ink.box.height
    if min(width, height) < LEAST_CIRCLE or abs(width - height) > UNEVEN:
        return False
    around = np.pad(ink.pixels.astype(np.uint8), 1)
    cv2.floodFill(around, None, (0, 0), 2)
    return bool((around != 2).sum() >= FILLED * ink.pixels.size)
