"""Compare the pixels of typed text with a screen, and find the text at other places.

A text is compared by its pixels, and by its *shape*: a mask that is white where a pixel differs from its left neighbor.
The shape stays the same in other colors, such as a dark theme or a selection. Text in another size or font has another
shape, and only OCR finds it. `safety.typed_secrets.typed_fields` uses this module.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from PIL import Image, ImageChops

from holo_tasks.core.input.gestures import Typed
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.secrets.mask_signs import signs

SAME_AROUND = 0.6
"""Share of the edges around a field that must be unchanged for the surroundings to count as the same."""
PIECE = 10
"""Columns of about one letter. This many unchanged columns in place count as a remaining piece of the text."""
SURE_SHARE, POSSIBLE_SHARE = 0.6, 0.3
"""Shares of a text's columns: from ``SURE_SHARE`` on, a find at another place is certain. From ``POSSIBLE_SHARE`` on it
is possible. A smaller part may belong to another text with some of the same letters.
"""
THREE_LETTERS = 24
"""Columns of about three letters. A find has at least that many, and this is the width of the pieces to search for."""
EDGE_ROWS, EDGE_MATCH = 4, 0.8
"""A partly covered text is found by its top or bottom edge: ``EDGE_ROWS`` consecutive rows must match. A row matches
from the share ``EDGE_MATCH`` of its pixels on, which is also the rating of such a find.
"""
BORDER = 6
"""Pixels of a field's outline and focus ring."""
CARET = 3
"""Columns of a caret."""
ALIKE = 0.9
"""Rating by `Pattern.alike` from which a row of equal characters, or a label, is the same. Most lines of text are
somewhat alike."""
STEP, TURNS, MOST = 24, 4, 2000
"""Columns between two pieces that are searched for, color changes that a piece needs, and the most places to
compare.
"""
Pixels = Image.Image
Corners = tuple[int, int, int, int]
"""Left, top, right and bottom; the last two are exclusive."""


@dataclass(eq=False)
class Pattern:
    """A shape to search for, and its original position on the screen."""

    shape: Pixels
    left: int
    top: int

    @cached_property
    def rows(self) -> tuple[tuple[int, int, bytes], ...]:
        """Pieces of the shape's rows, encoded by `eighths`, with their column and row."""
        width, height = self.shape.size
        if width < PIECE:
            return ()
        size = min(THREE_LETTERS, width)
        lines = [self.shape.crop((0, y, width, y + 1)) for y in range(height)]
        drawn, coded = [line.tobytes() for line in lines], [eighths(line).tobytes() for line in lines]
        found = []
        for left in sorted({*range(0, width - size + 1, STEP), width - size}):
            for top in range(0, height, EDGE_ROWS):
                pieces = [
                    (_color_changes(drawn[y][left : left + size]), y) for y in range(top, min(height, top + EDGE_ROWS))
                ]
                changes, y = max(pieces)
                if changes >= TURNS:
                    found.append((left, y, coded[y][left : left + size - 7]))
        return tuple(found)

    def alike(self, screen: Pixels, across: int, down: int) -> float:
        """Rate the screen at an offset: 1 minus the number of differing pixels per white pixel of the shape."""
        left, top = self.left + across, self.top + down
        there = screen.crop((left, top, left + self.shape.width, top + self.shape.height))
        return 1 - _white_pixels(ImageChops.difference(self.shape, there)) / max(1, _white_pixels(self.shape))

    def found(self, screen: Pixels, lines: bytes) -> list[tuple[float, int, int]]:
        """Return matches as share, offset to the right and offset down, best first.

        ``screen`` is a shape, and ``lines`` are its `eighths` as bytes.
        """
        width, (across, down) = screen.width, self.shape.size
        corners: dict[tuple[int, int], None] = {}
        for column, row, piece in self.rows:
            for at in places(lines, piece):
                if len(corners) >= MOST:
                    break
                if at % width + len(piece) <= width:
                    corners[at % width - column, at // width - row] = None
        found = []
        for left, top in corners:
            part = _matching_share(self.shape, screen.crop((left, top, left + across, top + down)))
            if part >= POSSIBLE_SHARE:
                found.append((part, left - self.left, top - self.top))
        return sorted(found, key=lambda each: -each[0])


def places(lines: bytes, piece: bytes) -> Iterator[int]:
    """Yield the positions of a piece from the left.

    The search uses the longest part of the piece without zeros, because most of a screen is zeros.
    """
    core = max(piece.split(b"\0"), key=len)
    before = piece.index(core)
    at = before - 1
    while (at := lines.find(core, at + 1)) >= 0:
        if lines.startswith(piece, at - before):
            yield at - before


@dataclass(eq=False)
class FieldAppearance:
    """One appearance of a field: its picture, and the text as the difference from before the typing."""

    field: Typed
    picture: Pixels

    @cached_property
    def text(self) -> Corners | None:
        """Corners of the text in the picture, or ``None`` if the field holds no text."""
        written = differs(self.picture, picture_of(self.field, self.field.before))
        hole = inner(self.field)
        # The focus ring around a field is not text.
        border = min(BORDER, (hole[2] - hole[0]) // 4, (hole[3] - hole[1]) // 4)
        middle = (hole[0] + border, hole[1] + border, hole[2] - border, hole[3] - border)
        for corners in (middle, hole):
            found = written.crop(corners).getbbox()
            if found is not None:
                return (corners[0] + found[0], corners[1] + found[1], corners[0] + found[2], corners[1] + found[3])
        return None

    @cached_property
    def signs(self) -> int:
        """Number of mask characters, such as dots, that a password field shows; 0 if it shows other text."""
        if self.text is None:
            return 0
        return signs(picture_of(self.field, self.field.before).crop(self.text), self.picture.crop(self.text))

    @cached_property
    def pattern(self) -> Pattern | None:
        """The shape of the text, or ``None`` if the field holds no text."""
        if self.text is None:
            return None
        around = self.field.around
        return Pattern(shape_of(self.picture).crop(self.text), around.left + self.text[0], around.top + self.text[1])


def picture_of(field: Typed, pixels: bytes) -> Pixels:
    """Return pixels of a field and its surroundings as an image."""
    return Image.frombytes("RGB", (field.around.width, field.around.height), pixels)


def inner(field: Typed) -> Corners:
    """Return the corners of the field within the picture of its surroundings."""
    left, top = field.box.left - field.around.left, field.box.top - field.around.top
    return (left, top, left + field.box.width, top + field.box.height)


def same_around(field: Typed, now: Pixels) -> bool:
    """Return whether the surroundings of a field are the same as right after the typing, by their edges.

    Only pixels at edges are compared. One-colored areas would say little: a neighboring field of another size covers
    most of the surroundings with the same color.
    """
    after = picture_of(field, field.after)
    down = differs(after, ImageChops.offset(after, 0, 1))
    down.paste(0, (0, 0, down.width, 1))
    shape = ImageChops.lighter(shape_of(after), down)
    changed = differs(after, now)
    hole = inner(field)
    for mask in (shape, changed):
        mask.paste(0, hole)
    there, gone = _white_pixels(shape), _white_pixels(ImageChops.darker(shape, changed))
    # Without edges, any change means another screen.
    return gone <= (1 - SAME_AROUND) * there if there else _white_pixels(changed) == 0


def is_cleared(field: Typed, now: Pixels) -> bool:
    """Return whether a field looks as before the typing, or is empty, ignoring a caret."""
    if as_before(field, now):
        return True
    hole = inner(field)
    inside = now.crop(hole)
    border = min(BORDER, inside.width // 4, inside.height // 4)
    middle = inside.crop((border, border, inside.width - border, inside.height - border))
    return columns(differs(middle, Image.new("RGB", middle.size, _background(middle)))) <= CARET


def as_before(field: Typed, now: Pixels) -> bool:
    """Return whether a field looks as before the typing, ignoring a caret."""
    hole = inner(field)
    return columns(differs(now.crop(hole), picture_of(field, field.before).crop(hole))) <= CARET


def pieces_left(look: FieldAppearance, now: Pixels) -> bool:
    """Return whether a piece of the text is unchanged in its place."""
    text = look.text
    if text is None:
        return False
    changed = differs(look.picture, now)
    written = differs(look.picture, picture_of(look.field, look.field.before))
    for left in range(text[0], max(text[0] + 1, text[2] - PIECE + 1)):
        piece = (left, text[1], min(left + PIECE, text[2]), text[3])
        if written.crop(piece).getbbox() is not None and changed.crop(piece).getbbox() is None:
            return True
    return False


def text_box(look: FieldAppearance, across: int, down: int) -> Box:
    """Return the box of a text on the screen after it was moved by an offset."""
    left, top, right, bottom = look.text or (0, 0, 0, 0)
    around = look.field.around
    return Box(around.left + left + across, around.top + top + down, right - left, bottom - top)


def shape_of(picture: Pixels) -> Pixels:
    """Return a mask that is white where a pixel differs from its left neighbor."""
    found = differs(picture, ImageChops.offset(picture, 1, 0))
    found.paste(0, (0, 0, 1, found.height))
    return found


def eighths(shape: Pixels) -> Pixels:
    """Encode each pixel of a shape and its seven right neighbors in one byte. Pieces are found much faster that way."""
    # Double the width of the packed run each time: 1, 2, 4, then 8 pixels.
    found = shape.point(lambda value: value & 1)
    for wide in (1, 2, 4):
        found = ImageChops.add(found, ImageChops.offset(found.point(lambda value, up=wide: value << up), -wide, 0))
    return found


def differs(one: Pixels, other: Pixels) -> Pixels:
    """Return a mask that is white where two pictures differ."""
    red, green, blue = ImageChops.difference(one, other).split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue).point(lambda value: 255 if value else 0)


def columns(mask: Pixels) -> int:
    """Return the number of columns from the first to the last white pixel."""
    found = mask.getbbox()
    return found[2] - found[0] if found else 0


def _matching_share(shape: Pixels, there: Pixels) -> float:
    """Return the share of a text's columns that match in their full height. Returns 0 for too small a match.

    If too few columns match, but `EDGE_ROWS` consecutive rows do, only an edge of the text is visible. The result is
    then `EDGE_MATCH`.
    """
    changed = ImageChops.difference(shape, there)
    width, height = shape.size
    different, _ = changed.getprojection()
    inked, _ = shape.getprojection()
    same = [x for run in _runs(different) if len(run) >= min(PIECE, width) for x in run]
    least = min(THREE_LETTERS, 0.8 * width)
    if len(same) >= least and 2 * sum(1 for x in same if inked[x]) >= least:
        return len(same) / width
    parts = changed.resize((1, height), Image.Resampling.BOX).tobytes()
    for rows in _runs([part > 255 * (1 - EDGE_MATCH) for part in parts]):
        if len(rows) >= EDGE_ROWS:
            drawn, _ = shape.crop((0, rows[0], width, rows[-1] + 1)).getprojection()
            if width >= THREE_LETTERS and 2 * sum(map(bool, drawn)) >= width:
                return EDGE_MATCH
    return 0.0


def _runs(different: Sequence[int]) -> list[list[int]]:
    """Return the runs of consecutive indexes at which nothing differs."""
    runs: list[list[int]] = [[]]
    for x, differ in enumerate(different):
        if differ:
            runs.append([])
        else:
            runs[-1].append(x)
    return runs


def _color_changes(piece: bytes) -> int:
    """Return the number of color changes in a piece."""
    return sum(one != other for one, other in itertools.pairwise(piece))


def _white_pixels(mask: Pixels) -> int:
    return mask.histogram()[255]


def _background(picture: Pixels) -> tuple[int, int, int]:
    counted: list[tuple[int, tuple[int, int, int]]] = picture.getcolors(picture.width * picture.height) or []  # type: ignore[assignment]
    return max(counted)[1]
