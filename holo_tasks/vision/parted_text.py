"""Part a text that OCR read over the edge of a field into the label before the field and the text in it.

Some toolkits draw a label close to its field, and text detection then returns one box for both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.screen_text import Line, on_row

LEAST = 8
"""Least width of a label before the edge, in pixels."""
RIM = 3
"""Pixels at each side of the edge that belong to it."""
_MAY_CROSS = re.compile(r"\w\s*:\s*\S|\w\s*[^\w\s.,:;?!()%\"'…€$*+-]+$")
"""A colon inside a text, or a sign at its end that OCR reads for the edge of a field."""


def parted(
    line: Line, fields: Callable[[], Iterable[Iterable[Box]]], read: Callable[[Box], tuple[str, float]], least: float
) -> Iterator[Line]:
    """Yield the line itself, or its part before the edge of a field and its part in the field, each read anew.

    ``read`` returns the text of a part and the confidence. The line stays whole if its label is read with less than
    ``least``. A part without letters and digits is left out.
    """
    field = _crossed(line, fields) if _MAY_CROSS.search(line.text) else None
    if field is None:
        yield line
        return
    box = line.box
    before = Box(box.left, box.top, field.left - RIM - box.left, box.height)
    inside = Box(field.left + RIM, box.top, box.right - field.left - RIM, box.height).intersection(field)
    label, sure = read(before)
    if sure < least or not any(map(str.isalpha, label)):
        yield line
        return
    yield Line(label, before, sure)
    if inside is not None and inside.width >= LEAST:
        text, score = read(inside)
        if score >= least and any(map(str.isalnum, text)):
            yield Line(text, inside, score)


def _crossed(line: Line, fields: Callable[[], Iterable[Iterable[Box]]]) -> Box | None:
    """Return the field whose left edge a text lies over; ``None`` without one, and for several."""
    box = line.box
    found = [
        field
        for some in fields()
        for field in some
        if box.left + LEAST + RIM <= field.left < box.right and on_row(box, field) and box.right <= field.right
    ]
    return found[0] if len(found) == 1 else None
