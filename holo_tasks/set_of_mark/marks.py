"""Numbered marks on what can be clicked, so that a model may name a number instead of a coordinate.

Marked are texts (by OCR), and buttons, fields, check boxes, cells and icons (by their outlines). What
holds other marked things is not marked itself; what holds one text of about its size is one mark with
that text. A check box or radio button carries the text beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.set_of_mark.elements import LINE, Thing, things_on
from holo_tasks.vision.screen_text import Line, on_row

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image

    from holo_tasks.vision.ocr_reader import Reader

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

__all__ = ["MOST_MARKS", "Mark", "find_marks", "resolve"]

MOST_MARKS = 99
_LARGEST_EMPTY = 0.25
_LARGEST_WITH_TEXT = 0.12
_LARGEST_ICON_BUTTON = 56
_COLORED = 60


@dataclass(frozen=True)
class Mark:
    """A numbered thing on a picture, in the picture's pixels; ``text`` is what stands in it or names it."""

    number: int
    box: Box
    text: str

    @property
    def point(self) -> Point:
        """Where to click: the middle of the box, a pixel inside it."""
        return self.box.center


def find_marks(picture: Image.Image, reader: Reader) -> tuple[Mark, ...]:
    """Mark what can be clicked: in reading order, from 1 to at most `MOST_MARKS`.

    When there is more to mark, plain text is left out first, then icons and colored text (links),
    then buttons, fields and check boxes; among equals the last in reading order.
    """
    import numpy as np

    return marks_on(np.asarray(picture.convert("RGB")), reader.read(picture).sight.lines)


def marks_on(pixels: Pixels, lines: Sequence[Line]) -> tuple[Mark, ...]:
    """Mark a picture whose text has been read."""
    things = _in_reading_order(_sorted_out(*things_on(pixels, lines), pixels.shape[0] * pixels.shape[1]))
    if len(things) > MOST_MARKS:
        worth = [_worth(thing, pixels) for thing in things]
        kept = sorted(range(len(things)), key=lambda n: (-worth[n], n))[:MOST_MARKS]
        things = [things[n] for n in sorted(kept)]
    size = Size(pixels.shape[1], pixels.shape[0])
    return tuple(Mark(number, _roomy(thing, size), thing.text) for number, thing in enumerate(things, 1))


def resolve(marks: Iterable[Mark], number: int) -> Point:
    """Return where to click for a number; raises `UnusableReply` if no mark has it."""
    known = {mark.number: mark for mark in marks}
    if number in known:
        return known[number].point
    there = f"the marks go from {min(known)} to {max(known)}" if known else "this picture has no marks"
    raise UnusableReply(
        f"the model named mark {number}, which is not on the picture",
        correction=f"There is no mark {number}: {there}.",
    )


def _roomy(thing: Thing, size: Size) -> Box:
    """Return the box of a mark, on the picture; that of a text or drawing leaves some air around it."""
    air = 0 if thing.kind == "area" else 2
    return thing.box.grown(air).cut_to(Box.whole(size))


def _worth(thing: Thing, pixels: Pixels) -> int:
    if thing.kind in ("area", "spot"):
        return 2
    return 1 if thing.kind == "drawing" or _is_colored(thing.box, pixels) else 0


def _is_colored(box: Box, pixels: Pixels) -> bool:
    """Say whether a text differs in color from the ground it stands on, not only in brightness."""
    import numpy as np

    part = pixels[box.top : box.bottom, box.left : box.right].reshape(-1, 3).astype(np.int16)
    ground = pixels[max(0, box.top - 2), max(0, box.left - 2)].astype(np.int16)
    ink = part[np.abs(part - ground).sum(axis=1).argmax()]
    shift = ink - ground
    return bool(shift.max() - shift.min() >= _COLORED)


def _in_reading_order(things: Iterable[Thing]) -> list[Thing]:
    """Sort rows from top to bottom; a tall thing counts where its first line would be."""
    rows: list[list[tuple[Box, Thing]]] = []
    heads = [(Box(t.box.left, t.box.top, t.box.width, min(t.box.height, 32)), t) for t in things]
    for head, thing in sorted(heads, key=lambda pair: (pair[0].center.y, pair[0].left, pair[0].top, pair[0].width)):
        if rows and on_row(rows[-1][0][0], head):
            rows[-1].append((head, thing))
        else:
            rows.append([(head, thing)])
    return [thing for row in rows for _, thing in sorted(row, key=lambda pair: (pair[0].left, pair[0].top))]


def _sorted_out(things: list[Thing], areas: list[Box], picture: int) -> list[Thing]:
    """Decide for every area, the smallest first, whether it is a mark or what it holds is."""
    kept = [thing for thing in things if thing.kind != "drawing"]
    for drawing in (thing for thing in things if thing.kind == "drawing"):
        # A drawing around something else is its frame.
        if not any(drawing.box.encloses(thing.box, slack=LINE) for thing in kept):
            kept.append(drawing)
    for area in areas:
        inside = [thing for thing in kept if area.encloses(thing.box, slack=LINE)]
        verdict = _verdict(area, inside, picture)
        if verdict is not None:
            text, swallowed = verdict
            kept = [thing for thing in kept if thing not in swallowed]
            kept.append(Thing("area", area, text))
    return kept


def _verdict(area: Box, inside: list[Thing], picture: int) -> tuple[str, list[Thing]] | None:
    """Return an area's text and what it stands for, or None if it only holds other things."""
    share = area.width * area.height / picture
    if not inside:
        return ("", []) if share <= _LARGEST_EMPTY else None
    small = max(area.width, area.height) <= _LARGEST_ICON_BUTTON
    drawings = [t for t in inside if t.kind == "drawing" or (t.kind == "spot" and not t.text and small)]
    texts = [thing for thing in inside if thing.kind == "text"]
    if len(drawings) + len(texts) < len(inside) or share > _LARGEST_WITH_TEXT:
        return None
    if not texts:
        return _verdict_on_drawings(area, drawings)
    if not _is_one_text(area, texts):
        return None
    label = Box.around(thing.box for thing in texts)
    if area.height > 8 * max(thing.box.height for thing in texts) and not _is_centered(label, area):
        return None
    # An icon beside or above the text belongs to it; one further away has a purpose of its own.
    reach = max(16, label.height)
    near = [thing for thing in drawings if thing.box.gap(label) <= reach]
    if len(drawings) - len(near) > 2:
        return None
    return " ".join(thing.text for thing in _in_reading_order(texts)), [*texts, *near]


def _verdict_on_drawings(area: Box, drawings: list[Thing]) -> tuple[str, list[Thing]] | None:
    picture = Box.around(thing.box for thing in drawings)
    if _are_close(drawings):
        if _is_centered(picture, area) and area.width <= 3 * picture.width + 40:
            return "", drawings
        # The bullets of a password, or a sign at the beginning of a field.
        if picture.left - area.left <= area.height and _smallest(drawings) <= 0.5 * area.height:
            return "", drawings
    # A field with a small sign at its end, as for a list that drops down; else a tool bar.
    return ("", []) if len(drawings) == 1 else None


def _is_one_text(area: Box, texts: list[Thing]) -> bool:
    """Say whether texts in an area are one label: a row without wide gaps, or a few centered lines."""
    if len(texts) == 1:
        return True
    if all(on_row(texts[0].box, thing.box) for thing in texts):
        ordered = sorted((thing.box for thing in texts), key=lambda box: box.left)
        widest = max(after.left - before.right for before, after in pairwise(ordered))
        return widest <= (1.5 if len(texts) == 2 else 0.6) * max(box.height for box in ordered)
    label = Box.around(thing.box for thing in texts)
    centered = all(abs(thing.box.center.x - area.center.x) <= 4 for thing in texts)
    return (centered and area.height <= 2 * label.height and len(texts) <= 3) or _is_wrapped(area, texts)


def _is_wrapped(area: Box, texts: list[Thing]) -> bool:
    """Say whether texts are the lines of one paragraph: the first word of each had no room before it."""
    lines = sorted(texts, key=lambda thing: thing.box.top)
    margin = max(4, min(thing.box.left for thing in lines) - area.left)
    for above, below in pairwise(lines):
        word = below.text.split(" ")[0]
        needed = below.box.width * (len(word) + 1) / max(1, len(below.text))
        apart = below.box.top - above.box.bottom
        if above.box.right + needed + margin < area.right or not -above.box.height <= 2 * apart <= 2 * above.box.height:
            return False
        # The entries of a menu are short, too, and begin in capitals.
        if word[:1].isupper() and above.text.count(" ") < 3:
            return False
    return True


def _smallest(things: Iterable[Thing]) -> int:
    return min(thing.box.height for thing in things)


def _are_close(things: list[Thing]) -> bool:
    boxes = sorted((thing.box for thing in things), key=lambda box: box.left)
    return all(after.left - before.right <= 8 for before, after in pairwise(boxes))


def _is_centered(inner: Box, outer: Box) -> bool:
    """Say whether a box is about in the middle of another."""
    across, down = abs(inner.center.x - outer.center.x), abs(inner.center.y - outer.center.y)
    return across <= max(3, outer.width // 12) and down <= max(3, outer.height // 6)
