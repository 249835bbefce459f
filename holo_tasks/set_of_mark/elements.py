"""Find the things on a picture: texts, check boxes with their labels, and drawings.

OCR alone is not exact. Its boxes are too wide, it reads check boxes as letters, and it splits and joins texts. The
edges on the picture correct these errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.outline_boxes import alike, distinct
from holo_tasks.vision.outlines import (
    areas_of,
    drawings_of,
    edges_of,
    is_spot_sized,
    spots_of,
    without_insides,
    without_outlines,
)
from holo_tasks.vision.screen_text import Line, on_row

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

LINE = 2
"""Pixels by which the content of a box may extend beyond it: the width of an outline."""
_WORD_GAP = 1.05
"""The largest gap between words of one text, relative to the height of a text without descenders."""
_TALLEST_TEXT = 80

# Characters that OCR reads in place of a check box or radio button before a text.
_MISREAD_SPOT = re.compile(r"^(?:[^\w\s(\[\"'#$€£+-]\s*|[^\W\d]\s+|0\s+)(?=\w)")


Kind: TypeAlias = Literal["text", "drawing", "area", "spot"]


@dataclass(frozen=True)
class MarkCandidate:
    """A candidate for a mark. A spot is a check box, a radio button or a round icon."""

    kind: Kind
    box: Box
    text: str = ""


def things_on(pixels: Pixels, lines: Sequence[Line]) -> tuple[list[MarkCandidate], list[Box]]:
    """Return the things on a picture whose lines OCR has read, and its areas from small to large.

    An area is a box inside a closed outline, such as a button, a field or a panel.
    """
    edges = edges_of(pixels)
    areas = [area for area in areas_of(pixels, edges) if not _is_in_letter(area.box, lines)]
    edges = without_outlines(edges, (area for area in areas if not is_spot_sized(area.box)))
    edges = without_insides(edges, (area.caret for area in areas if area.caret is not None))
    spots = spots_of(edges)
    spots += [a.box for a in areas if is_spot_sized(a.box) and not any(s.encloses(a.box) for s in spots)]
    boxes = distinct(area.box for area in areas)
    texts, marked, labels = _texts_and_spots(lines, spots, boxes, edges)
    told = [*labels, *(thing.box for thing in (*texts, *marked))]
    boxes = [box for box in boxes if not any(spot.box.encloses(box, slack=LINE) for spot in marked)]
    # The remains of an outline are not a drawing.
    drawings = [
        box
        for box in drawings_of(without_insides(edges, told))
        if not any(alike(box, area) for area in boxes) and not any(spot.box.contains(box.center) for spot in marked)
    ]
    return [*texts, *marked, *(MarkCandidate("drawing", box) for box in drawings)], boxes


def _is_in_letter(area: Box, lines: Sequence[Line]) -> bool:
    """Return whether an area is the inside of a letter, or of a check box that was read as one."""
    size = max(area.width, area.height)
    return any(size <= 0.72 * line.box.height and line.box.encloses(area, slack=LINE) for line in lines)


def _texts_and_spots(
    lines: Sequence[Line], spots: list[Box], areas: list[Box], edges: Pixels
) -> tuple[list[MarkCandidate], list[MarkCandidate], list[Box]]:
    """Separate check boxes from letters, and give them the texts next to them.

    Returns the texts, the check boxes and other spots, and the boxes of the texts that became labels.
    """
    free = {spot for spot in spots if not any(line.box.contains(spot.center) for line in lines)}
    texts: list[MarkCandidate] = []
    given: dict[Box, MarkCandidate] = {}
    fitted = [_fit_to_ink(line.text, line.box, edges) for line in lines]
    usual = _usual_height(fitted)
    for piece in (piece for text in fitted for piece in _pieces(text, areas, edges, usual)):
        first = _spot_before(piece.box, spots, edges)
        if first is not None and first not in given:
            text = _MISREAD_SPOT.sub("", piece.text) if piece.box.contains(first.center) else piece.text
            given[first] = _fit_to_ink(text, _right_part(piece.box, first.right + 2), edges)
        elif here := _spots_only(piece, spots, fitted, edges):
            free.update(here)
        else:
            texts.append(piece)
    texts = _join_texts(texts, areas, usual)
    for spot in sorted(free - given.keys(), key=lambda box: (box.top, box.left)):
        own_label = _text_beside(spot, texts)
        if own_label is not None:
            texts.remove(own_label)
        given[spot] = own_label or MarkCandidate("text", spot)
    labels = [label.box for label in given.values()]
    return texts, [MarkCandidate("spot", spot, label.text) for spot, label in given.items()], labels


def _spot_before(text: Box, spots: Iterable[Box], edges: Pixels) -> Box | None:
    """Return the spot that was read as the start of a text: with no ink before it, then a gap, then ink."""
    for spot in spots:
        if not (text.top <= spot.center.y < text.bottom and spot.right > text.left >= spot.left - 4):
            continue
        gap = max(4, spot.height // 3)
        rows = slice(spot.top - 1, spot.bottom + 1)
        before = edges[rows, max(0, spot.left - 5) : max(0, spot.left - 2)]
        between = edges[rows, spot.right + 1 : spot.right + gap]
        after = edges[text.top : text.bottom, spot.right + gap : text.right]
        if not before.any() and not between.any() and after.any():
            return spot
    return None


def _spots_only(text: MarkCandidate, spots: Iterable[Box], texts: Iterable[MarkCandidate], edges: Pixels) -> list[Box]:
    """Return the spots that were read as a text, if the text consists of spots only.

    A single digit or letter counts as a spot only before another text.
    """
    here = [spot for spot in spots if text.box.contains(spot.center)]
    if not here:
        return []
    left, top = text.box.left, text.box.top
    part = edges[top : text.box.bottom, left : text.box.right]
    moved = (Box(max(0, spot.left - left), max(0, spot.top - top), spot.width, spot.height) for spot in here)
    if without_insides(part, moved, margin=2).any():
        return []
    letter = len(text.text) == 1 and text.text.isascii() and text.text.isalnum()
    return [] if letter and _text_beside(here[0], texts) is None else here


def _text_beside(spot: Box, texts: Iterable[MarkCandidate]) -> MarkCandidate | None:
    """Return the text right after a spot. OCR may have taken a part of the spot as text."""
    near = [
        text
        for text in texts
        if spot.center.x < text.box.left <= spot.right + 1.5 * max(spot.height, text.box.height)
        and text.box.top - 2 <= spot.center.y < text.box.bottom + 2
    ]
    return min(near, key=lambda text: text.box.left, default=None)


def _pieces(whole: MarkCandidate, areas: Iterable[Box], edges: Pixels, usual: float) -> list[MarkCandidate]:
    """Return a text in pieces, if OCR joined several texts of a row.

    The pieces are far apart or in different areas. Otherwise returns the text itself.
    """
    import numpy as np

    text, box = whole.text, whole.box
    columns = np.flatnonzero(edges[box.top : box.bottom, box.left : box.right].any(axis=0))
    gaps = np.flatnonzero(np.diff(columns) > _word_gap((box,), usual)) + 1
    sides = np.searchsorted(columns, [side - box.left for side in _sides_within(box, areas)])
    cuts = sorted({int(cut) for cut in (*gaps, *sides)} - {0, len(columns)})
    groups = np.split(columns, cuts)
    most = text.count(" ") + 1
    # A narrow group at either end is a part of a neighbor's letter.
    while len(groups) > most and min(np.ptp(groups[0]), np.ptp(groups[-1])) < box.height:
        groups = groups[1:] if np.ptp(groups[0]) < np.ptp(groups[-1]) else groups[:-1]
    if len(groups) == 1 and len(groups[0]) == len(columns):
        return [whole]
    ink = np.cumsum([len(group) for group in groups])
    words = _cut(text, [float(share) for share in ink[:-1] / ink[-1]])
    if len(words) != len(groups):
        if len(text) > 2:
            return [whole]
        # A row of icons.
        words = [""] * len(groups)
    found = []
    for word, group in zip(words, groups, strict=True):
        left, right = box.left + int(group[0]), box.left + int(group[-1])
        found.append(_fit_to_ink(word, Box(left, box.top, right - left + 1, box.height), edges, trim=0))
    return found


def _sides_within(text: Box, areas: Iterable[Box]) -> list[int]:
    """Return where a text crosses the left or right side of an area that it does not belong to."""
    row = text.center.y
    others = (area for area in areas if area.top <= row < area.bottom and not is_spot_sized(area))
    crossed = [area for area in others if area.height >= 0.8 * text.height and not area.encloses(text, slack=LINE)]
    return [side for area in crossed for side in (area.left, area.right) if text.left + 2 < side < text.right - 2]


def _fit_to_ink(text: str, box: Box, edges: Pixels, *, trim: int | None = None) -> MarkCandidate:
    """Return a text with the smallest box around its ink, because OCR's boxes are wider."""
    import numpy as np

    left, top = max(0, box.left), max(0, box.top)
    trim = box.height // 10 if trim is None else trim
    ink = edges[top + trim : box.bottom - trim, left : box.right].astype(bool)
    if trim:
        # A line from side to side is not the ink of a text.
        ink[:, ink.mean(axis=0) > 0.95] = False
        ink[ink.mean(axis=1) > 0.95] = False
        _without_neighbors(ink)
    # A single pixel is a remnant of a frame.
    rows, columns = np.flatnonzero(ink.sum(axis=1) > 1), np.flatnonzero(ink.sum(axis=0) > 1)
    if len(columns) and len(rows):
        left, top = left + int(columns[0]), top + trim + int(rows[0])
        box = Box(left, top, int(columns[-1] - columns[0]) + 1, int(rows[-1] - rows[0]) + 1)
    # OCR reads an icon as a single character that is not on a keyboard.
    sign = len(text) == 1 and not (text.isascii() or text in "×€£§")
    return MarkCandidate("text", box, "" if sign else text)


def _without_neighbors(ink: Any) -> None:
    """Clear the ink of neighboring lines: rows at the top or bottom that end at an empty row."""
    reach = max(1, len(ink) // 4)
    for rim in (ink[:reach], ink[::-1][:reach]):
        empty = ~rim.any(axis=1)
        if empty.any() and not empty[0]:
            rim[: empty.argmax()] = False


def _cut(text: str, shares: list[float]) -> list[str]:
    """Split a text at the spaces nearest to some shares of its length.

    Returns the whole text if a share has no space near it.
    """
    spaces = [n for n, letter in enumerate(text) if letter == " "]
    cuts: list[int] = []
    for share in shares:
        near = [n for n in spaces if abs(n - share * len(text)) <= max(3, 0.1 * len(text)) and n not in cuts]
        if not near:
            return [text]
        cuts.append(min(near, key=lambda n: abs(n - share * len(text))))
    return [text[start:end].strip() for start, end in pairwise([0, *sorted(cuts), len(text)])]


def _usual_height(texts: Iterable[MarkCandidate]) -> float:
    """Return the usual height of texts without descenders."""
    heights = sorted(text.box.height for text in texts)
    return float(heights[len(heights) // 4]) if heights else 0.0


def _join_texts(texts: Iterable[MarkCandidate], areas: Sequence[Box], usual: float) -> list[MarkCandidate]:
    """Join neighboring texts of a row whose gap is not wider than between words, because OCR splits texts."""
    found: list[MarkCandidate] = []
    for text in sorted(texts, key=lambda thing: (thing.box.left, thing.box.top)):
        for n, before in enumerate(found):
            if abs(text.box.top - before.box.top) > _TALLEST_TEXT:
                continue
            gap = text.box.left - before.box.right
            most = _word_gap((text.box, before.box), usual)
            alike = -most <= gap < most - 1 and on_row(before.box, text.box) and _is_like(text.box, before.box)
            if alike and all(
                area.encloses(text.box, slack=LINE) == area.encloses(before.box, slack=LINE) for area in areas
            ):
                found[n] = MarkCandidate(
                    "text", Box.around((before.box, text.box)), f"{before.text} {text.text}".strip()
                )
                break
        else:
            found.append(text)
    return found


def _word_gap(texts: Iterable[Box], usual: float) -> float:
    """Return the largest gap between words of one text. Letters with descenders make texts higher."""
    return max(10.0, _WORD_GAP * max(usual, *(0.8 * box.height for box in texts)))


def _is_like(one: Box, other: Box) -> bool:
    """Return whether two texts may have the same font size."""
    return max(one.height, other.height) <= 2 * min(one.height, other.height)


def _right_part(box: Box, left: int) -> Box:
    return Box(left, box.top, max(1, box.right - left), box.height)
