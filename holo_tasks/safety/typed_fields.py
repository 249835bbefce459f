"""Masks the fields that secrets were typed into, for as long as they show.

A field is masked in a frame when

* what is around it is the same as right after the typing (most of what has a shape there: labels, outlines), unless the
  field itself is as before the typing, or holds nothing but its own colour: then it was cleared;
* any piece of what was typed is still there, although its surroundings have changed (something lies over them);
* the typed pixels are anywhere else on the screen, also in several places: the window was moved or scrolled, or shows
  the text again. From then on it is there.

Otherwise another screen is shown. It is not masked, but the field is remembered: when it comes back, so does the mask.
A field that was cleared is masked again as soon as a piece of what was typed shows: an undo brings it back.
After a person had the screen no field counts as cleared until it is seen empty: they may have typed the secret anew.
What else a person typed, and where, nobody knows.
What is compared is kept in memory, and goes nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PIL import Image, ImageChops

from holo_tasks.core.frame import Frame, Mask
from holo_tasks.core.geometry import Box, Size
from holo_tasks.core.gestures import Typed
from holo_tasks.safety.places import surrounds

KIND = "typed"
SAME_AROUND = 0.6
"""So much of what has a shape around a field has to be the same."""
PIECE = 10
"""So many columns of a text, all the same, are no accident: about a letter."""
BORDER = 6
"""The outline of a field, and what was added around it."""
CARET = 3
"""Columns that a caret takes."""
Pixels = Image.Image


class TypedFields:
    """Remembers where secrets were typed; a `core.ports.Masker`."""

    def __init__(self) -> None:
        self._fields: dict[Typed, bool] = {}
        """With whether it was cleared."""
        self._holds = 0

    def typed(self, fields: Sequence[Typed]) -> None:
        """Mask these from the next frame on."""
        self._fields |= dict.fromkeys(fields, False)

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        """Return the fields to paint over."""
        if not self._fields:
            return ()
        if frame.holds != self._holds:
            self._holds = frame.holds
            self._fields = dict.fromkeys(self._fields, False)
        screen = Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)
        kept: dict[Typed, bool] = {}
        found: list[Box] = []
        for field, was_cleared in self._fields.items():
            if not _fits(field, frame.size):  # the screen was made smaller: nothing can be compared
                kept[field] = was_cleared
                found.append(field.box)
                continue
            now = screen.crop(_corners(field.around))
            here = _same_around(field, now)
            shown = _places(field, frame, here)
            found += [each.box for each in shown]
            if here and not was_cleared:
                kept[field] = not shown and _cleared(field, now)
                if not kept[field]:
                    found.append(field.box)
            elif shown:
                kept |= dict.fromkeys((each if _fits(each, frame.size) else field for each in shown), False)
            else:
                left = _pieces_left(field, now)
                kept[field] = was_cleared and not left
                if left:
                    found.append(field.box)
        self._fields = kept
        return [Mask(KIND, box) for box in dict.fromkeys(found)]


def _same_around(field: Typed, now: Pixels) -> bool:
    """Say whether the screen around a field is the one it was typed on, by what has a shape there."""
    after = _picture(field, field.after)
    paper = _paper(after)
    shape = _differs(after, Image.new("RGB", after.size, paper))
    changed = _differs(after, now)
    hole = _inner(field)
    for mask in (shape, changed):
        mask.paste(0, hole)
    there, gone = _count(shape), _count(ImageChops.darker(shape, changed))
    # With nothing around it, any change is another screen.
    return gone <= (1 - SAME_AROUND) * there if there else _count(changed) == 0


def _cleared(field: Typed, now: Pixels) -> bool:
    """Say whether a field is as before the typing, or empty but for a caret."""
    hole = _inner(field)
    inside, before = now.crop(hole), _picture(field, field.before).crop(hole)
    if _columns(_differs(inside, before)) <= CARET:
        return True
    border = min(BORDER, inside.width // 4, inside.height // 4)
    middle = inside.crop((border, border, inside.width - border, inside.height - border))
    return _columns(_differs(middle, Image.new("RGB", middle.size, _paper(middle)))) <= CARET


def _pieces_left(field: Typed, now: Pixels) -> bool:
    """Say whether a piece of what was typed is where it was."""
    after, ink = _ink(field)
    if ink is None:
        return False
    changed, written = _differs(after, now), _differs(after, _picture(field, field.before))
    for left in range(ink[0], max(ink[0] + 1, ink[2] - PIECE + 1)):
        piece = (left, ink[1], min(left + PIECE, ink[2]), ink[3])
        if written.crop(piece).getbbox() is not None and changed.crop(piece).getbbox() is None:
            return True
    return False


def _places(field: Typed, frame: Frame, here: bool) -> list[Typed]:
    """Return the field wherever all that was typed shows by now, pixel by pixel; ``here`` says that it is where it was.

    A text that shows twice in one field is in one place: from how far apart they are its length could be told.
    """
    after, ink = _ink(field)
    if ink is None or ink[2] - ink[0] < PIECE:
        return []
    text = after.crop(ink)
    rows = [text.crop((0, y, text.width, y + 1)).tobytes() for y in range(text.height)]
    first = max(range(len(rows)), key=lambda y: len(set(rows[y])))
    stride, at, found = 3 * frame.size.width, -1, []
    while (at := frame.rgb.find(rows[first], at + 1)) >= 0:
        top, left = at // stride - first, at % stride // 3
        starts = [(top + y) * stride + 3 * left for y in range(text.height)]
        if at % 3 or top < 0 or left + text.width > frame.size.width:
            continue
        if all(frame.rgb[start : start + len(row)] == row for start, row in zip(starts, rows, strict=True)):
            across = left - (field.around.left + ink[0])
            down = top - (field.around.top + ink[1])
            seen = Box(left, top, text.width, text.height)
            if here and surrounds(field.box, seen):
                found.append(field)
            elif not any(surrounds(each.box, seen) for each in found):
                moved = _shifted(field.box, across, down), _shifted(field.around, across, down)
                found.append(replace(field, box=moved[0], around=moved[1]))
    return found


def _ink(field: Typed) -> tuple[Pixels, tuple[int, int, int, int] | None]:
    """Return the picture from after the typing, and where in it the text is."""
    after = _picture(field, field.after)
    written = _differs(after, _picture(field, field.before))
    outside = written.copy()
    outside.paste(0, _inner(field))
    return after, ImageChops.subtract(written, outside).getbbox()


def _picture(field: Typed, pixels: bytes) -> Pixels:
    return Image.frombytes("RGB", (field.around.width, field.around.height), pixels)


def _inner(field: Typed) -> tuple[int, int, int, int]:
    """Return where the field is in the pictures of what is around it."""
    left, top = field.box.left - field.around.left, field.box.top - field.around.top
    return (left, top, left + field.box.width, top + field.box.height)


def _differs(one: Pixels, other: Pixels) -> Pixels:
    """Return white where two pictures differ, black where they do not."""
    red, green, blue = ImageChops.difference(one, other).split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue).point(lambda value: 255 if value else 0)


def _count(mask: Pixels) -> int:
    return mask.histogram()[255]


def _columns(mask: Pixels) -> int:
    """Return how many columns are between the first and the last white pixel."""
    found = mask.getbbox()
    return found[2] - found[0] if found else 0


def _paper(picture: Pixels) -> tuple[int, int, int]:
    counted: list[tuple[int, tuple[int, int, int]]] = picture.getcolors(picture.width * picture.height) or []  # type: ignore[assignment]
    return max(counted)[1]


def _corners(box: Box) -> tuple[int, int, int, int]:
    return (box.left, box.top, box.right, box.bottom)


def _shifted(box: Box, across: int, down: int) -> Box:
    return Box(box.left + across, box.top + down, box.width, box.height)


def _fits(field: Typed, size: Size) -> bool:
    around = field.around
    return around.left >= 0 and around.top >= 0 and around.right <= size.width and around.bottom <= size.height
