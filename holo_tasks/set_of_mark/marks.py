"""Choose the clickable things of a picture and number them, so that a model may name a number and no coordinate.

Texts found by OCR get marks. Buttons, fields, check boxes, cells and icons get marks by their outlines. An area with
other marked things is not marked itself. An area with a single text of about its size becomes one mark with that text.
A check box or radio button has the text next to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.set_of_mark.elements import LINE, MarkCandidate, things_on
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
    """A numbered thing, in pixels of the picture. ``text`` is its own text or its label."""

    number: int
    box: Box
    text: str

    @property
    def point(self) -> Point:
        """The point to click: the center of the box."""
        return self.box.center


def find_marks(picture: Image.Image, reader: Reader) -> tuple[Mark, ...]:
    """Return marks for the clickable things of a picture, in reading order, from 1 to at most `MOST_MARKS`.

    If there are too many things, plain text is left out first. Icons and colored text, such as links, follow.
    Buttons, fields and check boxes are left out last. Within a group, the last ones in reading order are left out
    first.
    """
    import numpy as np

    return marks_on(np.asarray(picture.convert("RGB")), reader.read(picture).sight.lines)


def marks_on(pixels: Pixels, lines: Sequence[Line]) -> tuple[Mark, ...]:
    """Return the marks of a picture whose text has been read."""
    things = _in_reading_order(_without_containers(*things_on(pixels, lines), pixels.shape[0] * pixels.shape[1]))
    if len(things) > MOST_MARKS:
        worth = [_priority(thing, pixels) for thing in things]
        kept = sorted(range(len(things)), key=lambda n: (-worth[n], n))[:MOST_MARKS]
        things = [things[n] for n in sorted(kept)]
    size = Size(pixels.shape[1], pixels.shape[0])
    return tuple(Mark(number, _with_margin(thing, size), thing.text) for number, thing in enumerate(things, 1))


def resolve(marks: Iterable[Mark], number: int) -> Point:
    """Return the point to click for a number. Raises `UnusableReply` if no mark has it."""
    known = {mark.number: mark for mark in marks}
    if number in known:
        return known[number].point
    there = f"the marks go from {min(known)} to {max(known)}" if known else "this picture has no marks"
    raise UnusableReply(
        f"the model named mark {number}, which is not on the picture",
        correction=f"There is no mark {number}: {there}.",
    )


def _with_margin(thing: MarkCandidate, size: Size) -> Box:
    """Return the box of a mark, within the picture. Texts and drawings get a margin of two pixels."""
    air = 0 if thing.kind == "area" else 2
    return thing.box.grown(air).cut_to(Box.whole(size))


def _priority(thing: MarkCandidate, pixels: Pixels) -> int:
    if thing.kind in ("area", "spot"):
        return 2
    return 1 if thing.kind == "drawing" or _is_colored(thing.box, pixels) else 0


def _is_colored(box: Box, pixels: Pixels) -> bool:
    """Return whether a text differs from its background in color, not only in brightness."""
    import numpy as np

    part = pixels[box.top : box.bottom, box.left : box.right].reshape(-1, 3).astype(np.int16)
    ground = pixels[max(0, box.top - 2), max(0, box.left - 2)].astype(np.int16)
    ink = part[np.abs(part - ground).sum(axis=1).argmax()]
    shift = ink - ground
    return bool(shift.max() - shift.min() >= _COLORED)


def _in_reading_order(things: Iterable[MarkCandidate]) -> list[MarkCandidate]:
    """Return things by rows from top to bottom. A tall thing belongs to the row of its first line."""
    rows: list[list[tuple[Box, MarkCandidate]]] = []
    heads = [(Box(t.box.left, t.box.top, t.box.width, min(t.box.height, 32)), t) for t in things]
    for head, thing in sorted(heads, key=lambda pair: (pair[0].center.y, pair[0].left, pair[0].top, pair[0].width)):
        if rows and on_row(rows[-1][0][0], head):
            rows[-1].append((head, thing))
        else:
            rows.append([(head, thing)])
    return [thing for row in rows for _, thing in sorted(row, key=lambda pair: (pair[0].left, pair[0].top))]


def _without_containers(things: list[MarkCandidate], areas: list[Box], picture: int) -> list[MarkCandidate]:
    """Decide for each area, the smallest first, whether the area or its content gets a mark."""
    kept = [thing for thing in things if thing.kind != "drawing"]
    for drawing in (thing for thing in things if thing.kind == "drawing"):
        # A drawing around another thing is its frame.
        if not any(drawing.box.encloses(thing.box, slack=LINE) for thing in kept):
            kept.append(drawing)
    for area in areas:
        inside = [thing for thing in kept if area.encloses(thing.box, slack=LINE)]
        verdict = _as_mark(area, inside, picture)
        if verdict is not None:
            text, swallowed = verdict
            kept = [thing for thing in kept if thing not in swallowed]
            kept.append(MarkCandidate("area", area, text))
    return kept


def _as_mark(area: Box, inside: list[MarkCandidate], picture: int) -> tuple[str, list[MarkCandidate]] | None:
    """Return the text of an area, and the things that it replaces.

    Returns ``None`` if the area is only a container of other things.
    """
    share = area.width * area.height / picture
    if not inside:
        return ("", []) if share <= _LARGEST_EMPTY else None
    small = max(area.width, area.height) <= _LARGEST_ICON_BUTTON
    drawings = [t for t in inside if t.kind == "drawing" or (t.kind == "spot" and not t.text and small)]
    texts = [thing for thing in inside if thing.kind == "text"]
    if len(drawings) + len(texts) < len(inside) or share > _LARGEST_WITH_TEXT:
        return None
    if not texts:
        return _as_mark_with_drawings(area, drawings)
    if not _is_one_text(area, texts):
        return None
    label = Box.around(thing.box for thing in texts)
    if area.height > 8 * max(thing.box.height for thing in texts) and not _is_centered(label, area):
        return None
    # An icon close to the text belongs to it. One further away has another purpose.
    reach = max(16, label.height)
    near = [thing for thing in drawings if thing.box.gap(label) <= reach]
    if len(drawings) - len(near) > 2:
        return None
    return " ".join(thing.text for thing in _in_reading_order(texts)), [*texts, *near]


def _as_mark_with_drawings(area: Box, drawings: list[MarkCandidate]) -> tuple[str, list[MarkCandidate]] | None:
    picture = Box.around(thing.box for thing in drawings)
    if _are_close(drawings):
        if _is_centered(picture, area) and area.width <= 3 * picture.width + 40:
            return "", drawings
        # The bullets of a password, or an icon at the start of a field.
        if picture.left - area.left <= area.height and _smallest(drawings) <= 0.5 * area.height:
            return "", drawings
    # One drawing is the icon at the end of a field, as in a drop-down list. Several are a tool bar.
    return ("", []) if len(drawings) == 1 else None


def _is_one_text(area: Box, texts: list[MarkCandidate]) -> bool:
    """Return whether the texts in an area are one label: a row without wide gaps, or a few centered lines."""
    if len(texts) == 1:
        return True
    if all(on_row(texts[0].box, thing.box) for thing in texts):
        ordered = sorted((thing.box for thing in texts), key=lambda box: box.left)
        widest = max(after.left - before.right for before, after in pairwise(ordered))
        return widest <= (1.5 if len(texts) == 2 else 0.6) * max(box.height for box in ordered)
    label = Box.around(thing.box for thing in texts)
    centered = all(abs(thing.box.center.x - area.center.x) <= 4 for thing in texts)
    return (centered and area.height <= 2 * label.height and len(texts) <= 3) or _is_wrapped(area, texts)


def _is_wrapped(area: Box, texts: list[MarkCandidate]) -> bool:
    """Return whether texts are lines of one paragraph.

    Then the first word of a line did not fit into the line before.
    """
    lines = sorted(texts, key=lambda thing: thing.box.top)
    margin = max(4, min(thing.box.left for thing in lines) - area.left)
    for above, below in pairwise(lines):
        word = below.text.split(" ")[0]
        needed = below.box.width * (len(word) + 1) / max(1, len(below.text))
        apart = below.box.top - above.box.bottom
        if above.box.right + needed + margin < area.right or not -above.box.height <= 2 * apart <= 2 * above.box.height:
            return False
        # Menu entries are short too, but they start with a capital letter.
        if word[:1].isupper() and above.text.count(" ") < 3:
            return False
    return True


def _smallest(things: Iterable[MarkCandidate]) -> int:
    return min(thing.box.height for thing in things)


def _are_close(things: list[MarkCandidate]) -> bool:
    boxes = sorted((thing.box for thing in things), key=lambda box: box.left)
    return all(after.left - before.right <= 8 for before, after in pairwise(boxes))


def _is_centered(inner: Box, outer: Box) -> bool:
    """Return whether a box is near the center of another box."""
    across, down = abs(inner.center.x - outer.center.x), abs(inner.center.y - outer.center.y)
    return across <= max(3, outer.width // 12) and down <= max(3, outer.height // 6)
