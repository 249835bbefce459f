"""Find the label of a field that a secret was typed into, and rows of equal characters such as bullets.

`safety.typed_secrets.typed_fields` uses both to track a password field without OCR. When a program reveals a password,
it draws the text anew and may move the field, so the text itself cannot be matched.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from PIL import Image

from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.secrets.mask_signs import signs
from holo_tasks.safety.typed_secrets.typed_field_pixels import ALIKE, PIECE, Pattern, Pixels, shape_of

BESIDE, ABOVE = 160, 48
"""Pixels between a field and its label at most: to the left, and above."""
ACROSS, DOWN = 8, 4
"""Pixels between two edges of the same label at most: horizontally, and vertically."""
TALL = 48
"""Pixels. A taller shape is not a line of text."""
UNEVEN = 1
"""Pixels by which the distance of two equal characters may differ within a row."""
PITCHES = (3, 48)
"""Smallest and largest distance between two equal characters of a row, in pixels."""
SPARE = 2
"""Tolerance in the number of characters of a row. The first and last may be mistaken for a caret."""


def labels(screen: Pixels, field: Box, inside: Box) -> list[Pattern]:
    """Return the shapes nearest to a field on its left and above it, which are usually its label.

    Otherwise return all shapes around the field.
    """
    left, top = max(inside.left, field.left - BESIDE), max(inside.top, field.top - ABOVE)
    right, bottom = min(inside.right, field.right + BESIDE), min(inside.bottom, field.bottom + ABOVE)
    if right <= left or bottom <= top:
        return []
    shape = shape_of(screen.crop((left, top, right, bottom)))
    shape.paste(0, (field.left - left, field.top - top, field.right - left, field.bottom - top))
    found = [(Box(left + x, top + y, w, h), shape.crop((x, y, x + w, y + h))) for x, y, w, h in _clusters(shape)]
    left_texts = [each for each in found if each[0].right <= field.left and _on_same_line(each[0], field)]
    above = [each for each in found if each[0].bottom <= field.top]
    nearest = [max(left_texts, key=lambda each: each[0].right)] if left_texts else []
    nearest += [max(above, key=lambda each: (each[0].bottom, -each[0].left))] if above else []
    return [Pattern(drawn, box.left, box.top) for box, drawn in nearest or found]


def found_labels(known: Sequence[Pattern], screen: Pixels, lines: bytes, inside: Box) -> list[tuple[int, int]]:
    """Return the offsets at which a field's labels are seen in its window ``inside``.

    For each label only the best matches count. A weaker match is another text with some of the same words.
    """
    found: dict[tuple[int, int], None] = {}
    for label in known:
        seen = []
        for _, across, down in label.found(screen, lines):
            alike = label.alike(screen, across, down)
            if alike >= ALIKE and inside.contains(Point(label.left + across, label.top + down)):
                seen.append((alike, (across, down)))
        best = max(seen)[0] if seen else 0
        found |= {move: None for alike, move in seen if alike == best}
    return list(found)


def row_of_equal_characters(screen: Pixels, inside: Box, count: int) -> Box | None:
    """Return the box of a row of about ``count`` equal characters, or ``None``."""
    picture = screen.crop((inside.left, inside.top, inside.right, inside.bottom))
    shape = shape_of(picture)
    width, pixels = shape.width, shape.tobytes()
    least = max(4, count - SPARE)
    rows: list[Box] = []
    for y in range(shape.height):
        for left, right in _even_runs(pixels[y * width : (y + 1) * width], least):
            above = next((each for each in rows if each.bottom == y and left < each.right and each.left < right), None)
            if above is None:
                rows.append(Box(left, y, right - left, 1))
                continue
            rows.remove(above)
            start, end = min(above.left, left), max(above.right, right)
            rows.append(Box.of_corners(start, above.top, end, y + 1))
    for row in rows:
        # The top and bottom of the characters may have too few edges to be found above.
        top, bottom = max(0, row.top - row.height), min(picture.height, row.bottom + row.height)
        drawn = picture.crop((max(0, row.left - 1), top, min(width, row.right + PITCHES[1] // 2), bottom))
        paper = Image.new("RGB", drawn.size, drawn.getpixel((0, 0)))
        if abs(signs(paper, drawn) - count) <= SPARE:
            return Box(inside.left + row.left, inside.top + top, row.width, bottom - top)
    return None


def _even_runs(line: bytes, least: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a row of pixels with at least ``least`` edges at even distances."""
    starts = [each.start() for each in re.finditer(rb"\xff+", line)]
    for edges in (1, 2, 3):
        apart = [other - one for one, other in zip(starts, starts[edges:], strict=False)]
        first = 0
        for at in range(1, len(apart) + 1):
            if at < len(apart) and abs(apart[at] - apart[first]) <= UNEVEN:
                continue
            if at - first >= (least - 1) * edges and PITCHES[0] <= apart[first] <= PITCHES[1]:
                yield starts[first], starts[at - 1 + edges]
            first = at


def _clusters(shape: Pixels) -> list[tuple[int, int, int, int]]:
    """Return the boxes of possible lines of text in a shape, as left, top, width and height."""
    cells = shape.reduce((ACROSS, DOWN))
    left = {(x, y) for y in range(cells.height) for x in range(cells.width) if cells.getpixel((x, y))}
    found = []
    while left:
        queue = [left.pop()]
        group = list(queue)
        while queue:
            x, y = queue.pop()
            near = {(x + i, y + j) for i, j in itertools.product((-1, 0, 1), repeat=2)} & left
            left -= near
            queue += near
            group += near
        xs, ys = [x * ACROSS for x, _ in group], [y * DOWN for _, y in group]
        corners = (min(xs), min(ys), max(xs) + ACROSS, max(ys) + DOWN)
        x, y, right, bottom = shape.crop(corners).getbbox() or (0, 0, 0, 0)
        if right - x >= PIECE and 4 <= bottom - y <= TALL:
            found.append((corners[0] + x, corners[1] + y, right - x, bottom - y))
    return found


def _on_same_line(one: Box, other: Box) -> bool:
    return one.top < other.bottom and other.top < one.bottom
