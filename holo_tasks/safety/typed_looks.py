"""What a text that was typed looks like, and where on a screen the like of it is: by pixels, none of which are kept on.

A text is compared as it was drawn, and by its *shape*: where along each row a pixel differs from the one beside it.
That stays the same in other colors, as in a dark theme or a selection. Where it is drawn anew in another size or font,
only reading finds it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from PIL import Image, ImageChops

from holo_tasks.core.geometry import Box
from holo_tasks.core.gestures import Typed
from holo_tasks.core.mask_signs import signs

SAME_AROUND = 0.6
"""So much of what has a shape around a field has to be the same."""
PIECE = 10
"""So many columns of a text, all the same where it was, are no accident: about a letter."""
SURE, DOUBTFUL, LETTERS = 0.6, 0.3, 24
"""Elsewhere it takes this part of a text; less than that, and about three letters, may be any other text with a few of
the same letters."""
ROWS, ROWS_OF = 4, 0.8
"""Or so many rows that show this part of it: its upper or lower end, under something that lies over it."""
BORDER = 6
"""The outline of a field, and what was added around it."""
CARET = 3
"""Columns that a caret takes."""
ALIKE = 0.9
"""So much of a row of signs, or of a label, has to be the same: most lines of text are somewhat like it."""
STEP, TURNS, MOST = 24, 4, 2000
"""Every so many columns a row is looked for that changes so often; no more places than this are looked at closer."""
Pixels = Image.Image
Corners = tuple[int, int, int, int]


@dataclass(eq=False)
class Pattern:
    """A shape to look for, all of its columns, and where on the screen its corner was."""

    shape: Pixels
    left: int
    top: int

    @cached_property
    def rows(self) -> tuple[tuple[int, int, bytes], ...]:
        """Pieces of its rows to look for, in `eighths`, with their columns and rows."""
        width, height = self.shape.size
        if width < PIECE:
            return ()
        size = min(LETTERS, width)
        lines = [self.shape.crop((0, y, width, y + 1)) for y in range(height)]
        drawn, coded = [line.tobytes() for line in lines], [eighths(line).tobytes() for line in lines]
        found = []
        for left in sorted({*range(0, width - size + 1, STEP), width - size}):
            for top in range(0, height, ROWS):
                pieces = [(_turns(drawn[y][left : left + size]), y) for y in range(top, min(height, top + ROWS))]
                turns, y = max(pieces)
                if turns >= TURNS:
                    found.append((left, y, coded[y][left : left + size - 7]))
        return tuple(found)

    def alike(self, screen: Pixels, across: int, down: int) -> float:
        """Return how much of its edges are there, less what else is, where it was moved so far."""
        left, top = self.left + across, self.top + down
        there = screen.crop((left, top, left + self.shape.width, top + self.shape.height))
        return 1 - _count(ImageChops.difference(self.shape, there)) / max(1, _count(self.shape))

    def found(self, screen: Pixels, lines: bytes) -> list[tuple[float, int, int]]:
        """Return how far from where it was it is seen, the surest place first, each after how much of it is seen.

        The screen is a shape, ``lines`` are its `eighths`.
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
            part = _part(self.shape, screen.crop((left, top, left + across, top + down)))
            if part >= DOUBTFUL:
                found.append((part, left - self.left, top - self.top))
        return sorted(found, key=lambda each: -each[0])


def places(lines: bytes, piece: bytes) -> Iterator[int]:
    """Find a piece wherever it is, from the left.

    It is looked for by its longest part without a zero: most of a screen is zeros, which are then leapt over.
    """
    core = max(piece.split(b"\0"), key=len)
    before = piece.index(core)
    at = before - 1
    while (at := lines.find(core, at + 1)) >= 0:
        if lines.startswith(piece, at - before):
            yield at - before


@dataclass(eq=False)
class Look:
    """A field as it was seen once, and the text in it: what is different from before the typing."""

    field: Typed
    picture: Pixels

    @cached_property
    def text(self) -> Corners | None:
        """Where the text is in the picture, None if there is none."""
        written = differs(self.picture, picture_of(self.field, self.field.before))
        hole = inner(self.field)
        # A ring around the field that has the keyboard is no text.
        border = min(BORDER, (hole[2] - hole[0]) // 4, (hole[3] - hole[1]) // 4)
        middle = (hole[0] + border, hole[1] + border, hole[2] - border, hole[3] - border)
        for corners in (middle, hole):
            found = written.crop(corners).getbbox()
            if found is not None:
                return (corners[0] + found[0], corners[1] + found[1], corners[0] + found[2], corners[1] + found[3])
        return None

    @cached_property
    def signs(self) -> int:
        """How many signs it shows, all the same, 0 where it shows something else."""
        if self.text is None:
            return 0
        return signs(picture_of(self.field, self.field.before).crop(self.text), self.picture.crop(self.text))

    @cached_property
    def pattern(self) -> Pattern | None:
        """The shape of the text, None if there is none."""
        if self.text is None:
            return None
        around = self.field.around
        return Pattern(shape_of(self.picture).crop(self.text), around.left + self.text[0], around.top + self.text[1])


def picture_of(field: Typed, pixels: bytes) -> Pixels:
    """Return one of the pictures of what is around a field."""
    return Image.frombytes("RGB", (field.around.width, field.around.height), pixels)


def inner(field: Typed) -> Corners:
    """Return where the field is in the pictures of what is around it."""
    left, top = field.box.left - field.around.left, field.box.top - field.around.top
    return (left, top, left + field.box.width, top + field.box.height)


def same_around(field: Typed, now: Pixels) -> bool:
    """Say whether the screen around a field is the one it was typed on, by the edges there.

    Not by areas: another field beside it is most of what is there, and is nearly the same in another size.
    """
    after = picture_of(field, field.after)
    down = differs(after, ImageChops.offset(after, 0, 1))
    down.paste(0, (0, 0, down.width, 1))
    shape = ImageChops.lighter(shape_of(after), down)
    changed = differs(after, now)
    hole = inner(field)
    for mask in (shape, changed):
        mask.paste(0, hole)
    there, gone = _count(shape), _count(ImageChops.darker(shape, changed))
    # With nothing around it, any change is another screen.
    return gone <= (1 - SAME_AROUND) * there if there else _count(changed) == 0


def cleared(field: Typed, now: Pixels) -> bool:
    """Say whether a field is as before the typing, or empty but for a caret."""
    if as_before(field, now):
        return True
    hole = inner(field)
    inside = now.crop(hole)
    border = min(BORDER, inside.width // 4, inside.height // 4)
    middle = inside.crop((border, border, inside.width - border, inside.height - border))
    return columns(differs(middle, Image.new("RGB", middle.size, _paper(middle)))) <= CARET


def as_before(field: Typed, now: Pixels) -> bool:
    """Say whether a field looks as it did before the typing, but for a caret."""
    hole = inner(field)
    return columns(differs(now.crop(hole), picture_of(field, field.before).crop(hole))) <= CARET


def pieces_left(look: Look, now: Pixels) -> bool:
    """Say whether a piece of a text is where it was."""
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


def text_box(look: Look, across: int, down: int) -> Box:
    """Return where on the screen a text is that was moved so far."""
    left, top, right, bottom = look.text or (0, 0, 0, 0)
    around = look.field.around
    return Box(around.left + left + across, around.top + top + down, right - left, bottom - top)


def shape_of(picture: Pixels) -> Pixels:
    """Return white where a pixel differs from the one to its left."""
    found = differs(picture, ImageChops.offset(picture, 1, 0))
    found.paste(0, (0, 0, 1, found.height))
    return found


def eighths(shape: Pixels) -> Pixels:
    """Return a shape with each pixel and the seven to its right in one value: pieces of it are found much faster."""
    # One pixel, then two, four and eight of them: each sum is the one before beside itself, as far on as it is wide.
    found = shape.point(lambda value: value & 1)
    for wide in (1, 2, 4):
        found = ImageChops.add(found, ImageChops.offset(found.point(lambda value, up=wide: value << up), -wide, 0))
    return found


def differs(one: Pixels, other: Pixels) -> Pixels:
    """Return white where two pictures differ, black where they do not."""
    red, green, blue = ImageChops.difference(one, other).split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue).point(lambda value: 255 if value else 0)


def columns(mask: Pixels) -> int:
    """Return how many columns are between the first and the last white pixel."""
    found = mask.getbbox()
    return found[2] - found[0] if found else 0


def _part(shape: Pixels, there: Pixels) -> float:
    """Return how much of a text is seen, of its width: some of its columns or, of nearly all, some of its rows."""
    changed = ImageChops.difference(shape, there)
    width, height = shape.size
    different, _ = changed.getprojection()
    inked, _ = shape.getprojection()
    same = [x for run in _runs(different) if len(run) >= min(PIECE, width) for x in run]
    least = min(LETTERS, 0.8 * width)
    if len(same) >= least and 2 * sum(1 for x in same if inked[x]) >= least:
        return len(same) / width
    parts = changed.resize((1, height), Image.Resampling.BOX).tobytes()
    for rows in _runs([part > 255 * (1 - ROWS_OF) for part in parts]):
        if len(rows) >= ROWS:
            drawn, _ = shape.crop((0, rows[0], width, rows[-1] + 1)).getprojection()
            if width >= LETTERS and 2 * sum(map(bool, drawn)) >= width:
                return ROWS_OF
    return 0.0


def _runs(different: Sequence[int]) -> list[list[int]]:
    """Return the runs of columns, or rows, that are the same."""
    runs: list[list[int]] = [[]]
    for x, differ in enumerate(different):
        if differ:
            runs.append([])
        else:
            runs[-1].append(x)
    return runs


def _turns(piece: bytes) -> int:
    return sum(one != other for one, other in itertools.pairwise(piece))


def _count(mask: Pixels) -> int:
    return mask.histogram()[255]


def _paper(picture: Pixels) -> tuple[int, int, int]:
    counted: list[tuple[int, tuple[int, int, int]]] = picture.getcolors(picture.width * picture.height) or []  # type: ignore[assignment]
    return max(counted)[1]
