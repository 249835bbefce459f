"""Find the box of a part of an OCR line, by the gaps between its words on the frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.safety.masking.lines import ReadLine

if TYPE_CHECKING:
    import numpy as np

ACROSS, DOWN = 16, 8
"""Pixels of the grid that mask edges are moved to, so that a mask hardly reveals the size of the hidden text."""
_MIN_GAP_RATIO = 1.35
"""Ratio of the narrowest gap between words to the widest gap within words. Below it, words cannot be separated."""
_MAX_WIDTH_RATIO = 2.0
"""Factor by which a word's width may differ from the width expected for its number of characters."""


@dataclass(frozen=True)
class Extent:
    """A word of a line: its range in the text, and its columns on the screen."""

    start: int
    end: int
    left: int
    right: int


def part_of(frame: Frame, line: ReadLine, start: int, end: int) -> Box:
    """Return the box of the words that a range of a line touches.

    Returns the line's box if its words cannot be separated.
    """
    text = line.text
    if not text[:start].strip() and not text[end:].strip():
        return line.box
    extents = extents_of(frame, line)
    touched = [n for n, word in enumerate(extents) if word.start < end and start < word.end]
    if not touched:
        return line.box
    first, last = touched[0], touched[-1]
    left = (extents[first - 1].right + extents[first].left) // 2 if first else line.box.left
    right = -(-(extents[last].right + extents[last + 1].left) // 2) if last + 1 < len(extents) else line.box.right
    return Box(left, line.box.top, right - left, line.box.height)


def extents_of(frame: Frame, line: ReadLine) -> list[Extent]:
    """Return the words of a line with their columns, or an empty list if the gaps on the frame do not fit the words."""
    words, place = [], 0
    for word in line.text.split():
        place = line.text.index(word, place)
        words.append((place, place + len(word)))
        place += len(word)
    runs = _drawn_runs(frame, line.box)
    if len(words) < 2 or len(runs) < len(words):
        return []
    gaps = sorted((after[0] - before[1] for before, after in pairwise(runs)), reverse=True)
    narrowest = gaps[len(words) - 2]
    if len(gaps) > len(words) - 1 and narrowest < _MIN_GAP_RATIO * gaps[len(words) - 1] + 1:
        return []
    pieces = [list(runs[0])]
    for run in runs[1:]:
        if run[0] - pieces[-1][1] >= narrowest:
            pieces.append(list(run))
        else:
            pieces[-1][1] = run[1]
    if len(pieces) != len(words):
        return []
    per_letter = sum(right - left for left, right in pieces) / sum(end - start for start, end in words)
    found = []
    for (start, end), (left, right) in zip(words, pieces, strict=True):
        usual = per_letter * (end - start)
        if not usual / _MAX_WIDTH_RATIO - 4 <= right - left <= usual * _MAX_WIDTH_RATIO + 4:
            return []
        found.append(Extent(start, end, line.box.left + left, line.box.left + right))
    return found


def box_on_grid(box: Box, padding: int) -> Box:
    """Return the box enlarged by ``padding``, with its edges moved outwards to the grid."""
    left, top = (box.left - padding) // ACROSS * ACROSS, (box.top - padding) // DOWN * DOWN
    right = -(-(box.right + padding) // ACROSS) * ACROSS
    bottom = -(-(box.bottom + padding) // DOWN) * DOWN
    return Box.of_corners(left, top, right, bottom)


def _drawn_runs(frame: Frame, box: Box) -> Sequence[tuple[int, int]]:
    """Return the runs of columns with drawn pixels, relative to the box's left edge."""
    import numpy as np

    pixels: np.ndarray[Any, np.dtype[np.uint8]] = np.frombuffer(frame.rgb, np.uint8)
    piece = pixels.reshape(frame.size.height, frame.size.width, 3)[box.top : box.bottom, box.left : box.right]
    ground = np.median(piece.reshape(-1, 3), axis=0)
    apart = np.abs(piece.astype(np.int16) - ground).max(axis=2)
    inked = (apart > max(12, 0.3 * float(apart.max(initial=0)))).any(axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], inked.astype(np.int8), [0]))))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]
