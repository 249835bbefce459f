"""Mask the fields that secrets were typed into, as long as they may show the secret.

`TypedFields` masks a field in a frame in any of these cases:

* The surroundings of the field are the same as right after the typing: most edges there, such as labels and outlines.
  The field is then not masked if it looks as before the typing, or is empty. It counts as cleared.
* A piece of the typed text is still in its place, although the surroundings have changed because something covers them.
* Most of the typed text is elsewhere on the screen, possibly in several places or other colors. The window was moved or
  scrolled, or shows the text twice. The field is tracked at the new place from then on.
* A window of its own draws the field, and the X server reports that the window is on the screen.

Each new appearance of a field is remembered. A password that the program reveals is then looked for as it appears in
the clear.

A field with none of these signs that was not seen cleared is *lost*: it may show in another size, or in part. All
windows of its program are masked until the field is found or cleared, or its window is closed. With OCR installed,
`TypedTexts` looks for the value instead. The windows are then masked only while OCR finds the value, or while the
screen does not settle.

A password field shows the same character for each typed one. A program that reveals the password draws the field anew
and may move it. Without OCR the field is therefore tracked by its label or by a row of equal characters. It is at its
label if the surroundings match. It is lost while the label is there without the surroundings. It is also found at a row
of about as many equal characters. If its window shows neither label nor row, it shows another page, such as the one
after a login, and no window is masked. Otherwise the screen would stay masked for good. Only OCR finds a page that then
shows the password in the clear, in another font and without the label.

A cleared field is masked again when a piece of the typed text appears, because an undo brings it back. After a person
had control of the screen, no field counts as cleared until it is seen empty, because the person may have typed the
secret again. Other text that a person typed is not tracked.

The pixels for these comparisons stay in memory; they are never stored or sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as made
from functools import cached_property

from PIL import Image

from holo_tasks.core.input.gestures import Typed
from holo_tasks.core.screen.frame import LOST, Frame, Mask
from holo_tasks.core.screen.geometry import Box
from holo_tasks.safety.masking.places import visible
from holo_tasks.safety.typed_secrets.typed_field_labels import found_labels, labels, row_of_equal_characters
from holo_tasks.safety.typed_secrets.typed_field_pixels import (
    ALIKE,
    CARET,
    SURE_SHARE,
    FieldAppearance,
    Pattern,
    Pixels,
    as_before,
    columns,
    differs,
    eighths,
    inner,
    is_cleared,
    picture_of,
    pieces_left,
    same_around,
    shape_of,
    text_box,
)

KIND = "typed"
FIELD_MARGIN = 8
"""Pixels. A window that extends no further than this beyond a field contains nothing but the field."""
AROUND_MARGIN = 32
"""Pixels around a redrawn field that are kept for later comparisons."""
LOOKS, PLACES, FIELDS = 4, 8, 16
"""Limits on the appearances and the places of a field, and on the number of fields. Beyond them the oldest that do not
show are dropped.
"""
Move = tuple[int, int]
"""Offset in pixels from where the field was typed into: to the right, and down."""
logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _TrackedField:
    """A field that a secret was typed into.

    ``places`` maps each offset at which the field was seen to whether it was cleared there. ``seen_nowhere`` is true if
    the field was seen to show nowhere. ``judged`` is true if OCR or the rest of its window indicates that it shows
    nowhere; this may be revoked. ``missed`` are the boxes of its program's windows while the field is not found.
    ``lost`` are the same boxes while the field may still show. ``warned`` is true once the warning about a lost field
    was logged.
    """

    field: Typed
    looks: list[FieldAppearance]
    places: dict[Move, bool]
    inside: Box | None
    hidden: bool
    labels: list[Pattern]
    seen_nowhere: bool = False
    judged: bool = False
    missed: list[Box] = made(default_factory=list)
    lost: list[Box] = made(default_factory=list)
    doubted: bool = False
    part_seen: bool = False
    warned: bool = False

    @classmethod
    def of(cls, field: Typed) -> _TrackedField:
        """Return the record of a field right after the typing."""
        look = FieldAppearance(field, picture_of(field, field.after))
        corner, around = field.box.moved(-field.around.left, -field.around.top), field.around
        near = labels(look.picture, corner, Box(0, 0, around.width, around.height))
        near = [Pattern(each.shape, each.left + around.left, each.top + around.top) for each in near]
        return cls(field, [look], {(0, 0): False}, field.inside, field.hidden, near)

    def box(self, move: Move) -> Box:
        return self.field.box.moved(*move)

    @property
    def shows_nowhere(self) -> bool:
        """Whether the field is known to show nowhere."""
        return self.seen_nowhere or self.judged or all(self.places.values())

    @property
    def drawn_alone(self) -> bool:
        """Whether a window draws nothing but this field, so that the field is wherever the window is."""
        inside = self.field.inside
        return inside is not None and self.field.box.grown(FIELD_MARGIN).encloses(inside)

    def follow(self, inside: Box | None) -> None:
        """Move the places inside the field's window by as much as the window was moved.

        ``inside`` is the window's new box.
        """
        before = self.inside
        if inside is None or before is None or inside == before:
            self.inside = inside or before
            return
        by = inside.left - before.left, inside.top - before.top
        self.places = {
            (move[0] + by[0], move[1] + by[1]) if before.contains(self.box(move).center) else move: was_cleared
            for move, was_cleared in self.places.items()
        }
        self.inside = inside

    def remember(self, now: Pixels) -> None:
        """Add the field's current appearance, unless it is known."""
        hole = inner(self.field)
        inside = now.crop(hole)
        if all(columns(differs(inside, look.picture.crop(hole))) > CARET for look in self.looks):
            look = FieldAppearance(self.field, now)
            del self.looks[LOOKS - 1 :]
            self.looks.insert(1, look)
            if self.hidden and look.text is not None:
                self.hidden = look.signs > 0

    def anchor(self, field: Typed) -> None:
        """Replace the field by its redrawn form, which holds the same characters."""
        look = FieldAppearance(field, picture_of(field, field.after))
        self.field, self.looks, self.places = field, [look], {(0, 0): False}


class TypedFields:
    """Tracks the fields that secrets were typed into; a `core.ports.Masker`.

    ``reads`` is true if `TypedTexts` decides about lost fields, by OCR in the same frame.
    """

    def __init__(self, *, used_before: bool = False) -> None:
        self._known: list[_TrackedField] = []
        self._holds = 0
        self.any = used_before
        """Whether a secret was typed on this screen, by this run or by an earlier one on the same screen."""
        self.reads = False

    def typed(self, fields: Sequence[Typed]) -> None:
        """Track the fields of one typing. ``fields`` is empty if the typed text shows nowhere."""
        self.any = True
        self._known += [_TrackedField.of(field) for field in fields]
        droppable = [known for known in self._known if known.shows_nowhere]
        for known in droppable[: max(0, len(self._known) - FIELDS)]:
            self._known.remove(known)

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        """Return masks for the fields that show. Without OCR, also return masks for the windows of lost fields."""
        if not self._known:
            return ()
        return await asyncio.to_thread(self._masks, frame)

    def judged(self, frame: Frame, seen: Sequence[Box]) -> list[Mask]:
        """Return the masks of lost fields. ``seen`` are the boxes in which OCR read secret values in this frame."""
        found = []
        for known in self._known:
            there = [(box, hit) for box in known.lost for hit in seen if box.intersects(hit)]
            # The mask is as wide as the window, so that it does not reveal the length of the value.
            found += [Mask(KIND, Box(box.left, hit.top, box.width, hit.height)) for box, hit in there]
            if known.lost and not there and not known.part_seen:
                known.judged = frame.settled or known.doubted
                known.doubted = True
                found += [] if known.judged else _windows(known)
        return found

    def unread(self) -> list[Mask]:
        """Return the windows of all lost fields, because OCR failed. Earlier decisions by OCR are revoked."""
        self.reads = False
        for known in self._known:
            known.judged = False
            known.lost = [] if known.shows_nowhere else known.missed
        return self._lost()

    def _lost(self) -> list[Mask]:
        return [mask for known in self._known for mask in _windows(known)]

    def _masks(self, frame: Frame) -> list[Mask]:
        if frame.holds != self._holds:
            self._holds = frame.holds
            for known in self._known:
                known.seen_nowhere = known.seen_nowhere or all(known.places.values())
                known.places = dict.fromkeys(known.places, False)
        screen = Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)
        search = _FrameSearch(frame, screen, self._known, reads=self.reads)
        found = [box for known in tuple(self._known) for box in search.look_for(known)]
        masks = [Mask(KIND, box) for box in dict.fromkeys(found)]
        return masks if self.reads else [*masks, *self._lost()]


class _FrameSearch:
    """One frame, and the search in it for all known fields."""

    def __init__(self, frame: Frame, screen: Pixels, known: Sequence[_TrackedField], *, reads: bool) -> None:
        self._frame = frame
        self._reads = reads
        self._screen = screen
        self._known = known
        self._places: dict[FieldAppearance, list[tuple[float, int, int]]] = {}
        self._windows = dict(frame.typed_in)

    @cached_property
    def _shape(self) -> Pixels:
        return shape_of(self._screen)

    @cached_property
    def _lines(self) -> bytes:
        return eighths(self._shape).tobytes()

    def look_for(self, known: _TrackedField) -> list[Box]:
        """Return the boxes where a field shows, and update its record."""
        gone = self._windows.get(known.field.window, known.field.box) is None
        inside = self._windows.get(known.field.window)
        known.follow(inside)
        live = {} if gone else self._in_place(known)
        found = self._elsewhere(known, live)
        shown = [known.box(move) for move, was_cleared in live.items() if not was_cleared] + found
        known.places = {**{move: was for move, was in known.places.items() if move not in live}, **live}
        if known.drawn_alone and inside is not None and not live and not known.shows_nowhere:
            return [*shown, inside.grown(FIELD_MARGIN // 2)]
        known.missed, known.lost, known.part_seen = [], [], False
        if not (live or gone or known.seen_nowhere or all(known.places.values()) or known.drawn_alone):
            known.missed = self._program(known)
            if known.hidden and not self._reads:
                live, known.judged = self._by_label(known)
                shown += [known.box(move) for move in live]
        if live:
            if all(live.values()):
                known.places = dict.fromkeys(known.places, True)
            else:
                known.seen_nowhere = known.judged = False
            known.places = {**known.places, **live}
            known.doubted = False
        elif known.missed and not known.judged:
            known.lost = known.missed
            parts = self._parts(known)
            known.part_seen = bool(parts)
            shown += parts
        while len(known.places) > PLACES:
            del known.places[next(move for move in known.places if move not in live)]
        return shown

    def _in_place(self, known: _TrackedField) -> dict[Move, bool]:
        """Return the known offsets at which the field still is, each with whether the field is cleared there."""
        live = {}
        for move, was_cleared in known.places.items():
            now = self._screen.crop(known.field.around.moved(*move).corners)
            here = same_around(known.field, now)
            if here and not was_cleared:
                live[move] = is_cleared(known.field, now)
                if not live[move]:
                    self._remember(known, move, now)
            elif any(pieces_left(look, now) for look in known.looks):
                live[move] = False
            elif here:
                live[move] = True
        return live

    def _remember(self, known: _TrackedField, move: Move, now: Pixels) -> None:
        known.remember(now)
        inside = known.inside or Box(0, 0, *self._screen.size)
        near = labels(self._screen, known.box(move), inside)
        known.labels = [Pattern(each.shape, each.left - move[0], each.top - move[1]) for each in near] or known.labels

    def _by_label(self, known: _TrackedField) -> tuple[dict[Move, bool], bool]:
        """Find a password field by its label or its row of equal characters.

        Returns the offsets found, and whether the field shows nowhere. An empty field at the label does not count as
        found.
        """
        inside = known.inside or Box(0, 0, *self._screen.size)
        moves = found_labels(known.labels, self._shape, self._lines, inside)
        live, strange = {}, False
        for move in moves:
            now = self._screen.crop(known.field.around.moved(*move).corners)
            if not same_around(known.field, now):
                strange = strange or not as_before(known.field, now)
            elif not is_cleared(known.field, now):
                live[move] = False
                known.remember(now)
        if moves:
            return live, not (live or strange)
        look = max(known.looks, key=lambda each: each.signs)
        row = row_of_equal_characters(self._screen, inside, look.signs) if look.signs else None
        if row is None:
            return {}, True
        known.anchor(_redrawn_at(look, self._screen, row, inside))
        known.labels = labels(self._screen, known.field.box, inside)
        return {(0, 0): False}, False

    def _elsewhere(self, known: _TrackedField, live: dict[Move, bool]) -> list[Box]:
        """Add new places of the field's text to ``live``; return the boxes of other fields that hold the text.

        If the text occurs twice in one field, the field has one place. If it occurs in another known field, that field
        is masked. Masks around each occurrence would reveal the length of the text.
        """
        others = []
        for look in known.looks:
            for part, across, down in self._places_of(look):
                at = text_box(look, across, down).center
                if part < SURE_SHARE or any(known.box(each).contains(at) for each in live if not live[each]):
                    continue
                there = next((box for box in self._boxes_but(known) if box.contains(at)), None)
                if there is not None:
                    others.append(there)
                else:
                    within = next((each for each in live if known.box(each).contains(at)), (across, down))
                    live[within] = False
        return others

    def _parts(self, known: _TrackedField) -> list[Box]:
        """Return the boxes at which a part of a lost field may show."""
        return [known.box((across, down)) for look in known.looks for _, across, down in self._places_of(look)]

    def _places_of(self, look: FieldAppearance) -> list[tuple[float, int, int]]:
        if look not in self._places:
            pattern = look.pattern
            found = pattern.found(self._shape, self._lines) if pattern is not None else []
            if pattern is not None and look.signs:
                found = [each for each in found if pattern.alike(self._shape, *each[1:]) >= ALIKE]
            self._places[look] = found
        return self._places[look]

    def _boxes_but(self, known: _TrackedField) -> list[Box]:
        return [each.box(move) for each in self._known if each is not known for move in each.places]

    def _program(self, known: _TrackedField) -> list[Box]:
        """Return the visible parts of the windows of the field's program.

        Returns the whole screen if the desktop cannot list its windows, or the field's process is unknown. A window
        without a known process counts.
        """
        size, windows = self._frame.size, self._frame.windows
        if windows is None or not known.field.pid:
            return [Box.whole(size)]
        found = []
        for place, window in enumerate(windows):
            if not window.owners or {owner.pid for owner in window.owners} & {0, known.field.pid}:
                found += visible(window.box, [above.box for above in windows[place + 1 :] if above.solid])
        return found


def _windows(known: _TrackedField) -> list[Mask]:
    if known.lost and not known.warned:
        known.warned = True
        logger.warning(
            "The field that a secret was typed into is not on the screen any more, and its window may still show the "
            "secret. The whole window is masked until the field is seen again or cleared, or the window is closed. "
            "With OCR (pip install 'prefect-holo[redaction]') only text that is read as the secret is masked."
        )
    return [Mask(LOST, box) for box in known.lost]


def _redrawn_at(look: FieldAppearance, screen: Pixels, row: Box, inside: Box) -> Typed:
    """Return the field at a row of equal characters, where the program draws it in another size.

    The box is as wide as the window.
    """
    field, was = look.field, text_box(look, 0, 0)
    size = row.width / max(1, was.width)
    above, height = round(size * (was.center.y - field.box.top)), round(size * field.box.height)
    top = min(row.top, row.center.y - above) - FIELD_MARGIN // 2
    bottom = max(row.bottom, row.center.y - above + height) + FIELD_MARGIN // 2
    box = Box(inside.left, top, inside.width, bottom - top).cut_to(inside)
    around = box.grown(AROUND_MARGIN).cut_to(inside)
    after = screen.crop(around.corners)
    before, paper = after.copy(), screen.getpixel((max(0, row.left - 1), row.top))
    before.paste(paper, row.grown(2).moved(-around.left, -around.top).corners)  # type: ignore[arg-type]
    return replace(field, box=box, around=around, before=before.tobytes(), after=after.tobytes())
