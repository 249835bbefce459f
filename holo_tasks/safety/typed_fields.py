"""Masks the fields that secrets were typed into, for as long as they may show.

A field is masked in a frame when

* what is around it is the same as right after the typing (most of what has a shape there: labels, outlines), unless the
  field itself is as before the typing, or holds nothing but its own color: then it was cleared;
* any piece of what was typed is still there, although its surroundings have changed (something lies over them);
* what was typed, or most of it, is anywhere else on the screen, also in several places and in other colors: the window
  was moved or scrolled, or shows the text again. From then on it is there;
* a window of its own draws it, which the X server says is there.

Each new look of a field is remembered: a password that a program is told to show is looked for as it shows then.

A field that is none of these and was not seen cleared is *lost*: it may show in another size, or in part. Then all
windows of its program are masked, until the field is found again, or cleared, or its window is closed. Where something
can read, that is asked instead (`TypedTexts`): the windows are masked only for as long as it sees the value, or the
screen does not come to rest.

A field that shows the same sign for each character, as for passwords, is looked for by more where nothing can read, for
a program that is told to show it draws it anew, and may move it: where its label is, with the same around, it is, and
while its label is in its window without that, it is lost; where about as many of one sign are in a row, it is. With
neither in its window that shows another page, as after logging in, and no window is masked: nobody would see anything
again. A page that shows the value in the clear, in other letters than the form and without its label, is then masked
only by what can read it.

A field that was cleared is masked again as soon as a piece of what was typed shows: an undo brings it back.
After a person had the screen no field counts as cleared until it is seen empty: they may have typed the secret anew.
What else a person typed, and where, nobody knows.
What is compared is kept in memory, and goes nowhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as made
from functools import cached_property

from PIL import Image

from holo_tasks.core.frame import LOST, Frame, Mask
from holo_tasks.core.geometry import Box
from holo_tasks.core.gestures import Typed
from holo_tasks.safety.masking.places import visible
from holo_tasks.safety.typed_labels import found_labels, labels, row_of_signs
from holo_tasks.safety.typed_looks import (
    ALIKE,
    CARET,
    SURE,
    Look,
    Pattern,
    Pixels,
    as_before,
    cleared,
    columns,
    differs,
    eighths,
    inner,
    picture_of,
    pieces_left,
    same_around,
    shape_of,
    text_box,
)

KIND = "typed"
ROOM = 8
"""A window that reaches no further than this beyond a field draws nothing else."""
NEAR = 32
"""So much around a field that is drawn anew is kept."""
LOOKS, PLACES, FIELDS = 4, 8, 16
"""How many looks and places of a field are remembered, and how many fields: beyond that the oldest that do not show."""
Move = tuple[int, int]
logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Known:
    """A field that was typed into; its places are how far it was moved, each with whether it was cleared there.

    ``away`` says that it was seen to show nowhere, ``judged`` that it is taken to show nowhere by what was read, or by
    what else its window shows: that may be taken back. ``missed`` is where its program's windows are while it is not
    found, ``lost`` the same while nobody can say that it shows nowhere.
    """

    field: Typed
    looks: list[Look]
    places: dict[Move, bool]
    inside: Box | None
    hidden: bool
    labels: list[Pattern]
    away: bool = False
    judged: bool = False
    missed: list[Box] = made(default_factory=list)
    lost: list[Box] = made(default_factory=list)
    doubted: bool = False
    part_seen: bool = False
    told: bool = False

    @classmethod
    def of(cls, field: Typed) -> _Known:
        look = Look(field, picture_of(field, field.after))
        corner, around = field.box.moved(-field.around.left, -field.around.top), field.around
        near = labels(look.picture, corner, Box(0, 0, around.width, around.height))
        near = [Pattern(each.shape, each.left + around.left, each.top + around.top) for each in near]
        return cls(field, [look], {(0, 0): False}, field.inside, field.hidden, near)

    def box(self, move: Move) -> Box:
        return self.field.box.moved(*move)

    @property
    def quiet(self) -> bool:
        """Whether it is known to show nowhere."""
        return self.away or self.judged or all(self.places.values())

    @property
    def drawn_alone(self) -> bool:
        """Whether a window draws nothing else, so that the field is wherever that is."""
        inside = self.field.inside
        return inside is not None and self.field.box.grown(ROOM).encloses(inside)

    def follow(self, inside: Box | None) -> None:
        """Take what is in the field's window to be moved with that."""
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
        """Remember what the field looks like by now, unless that is known."""
        hole = inner(self.field)
        inside = now.crop(hole)
        if all(columns(differs(inside, look.picture.crop(hole))) > CARET for look in self.looks):
            look = Look(self.field, now)
            del self.looks[LOOKS - 1 :]
            self.looks.insert(1, look)
            if self.hidden and look.text is not None:
                self.hidden = look.signs > 0

    def anchor(self, field: Typed) -> None:
        """Take this to be the field from now on: it is drawn otherwise by now, with the same signs in it."""
        look = Look(field, picture_of(field, field.after))
        self.field, self.looks, self.places = field, [look], {(0, 0): False}


class TypedFields:
    """Remembers where secrets were typed; a `core.ports.Masker`.

    ``reads`` says that what it cannot find is given to `TypedTexts`, in the same frame.
    """

    def __init__(self, *, used_before: bool = False) -> None:
        self._known: list[_Known] = []
        self._holds = 0
        self.any = used_before
        """Whether anything was typed yet, wherever that shows: also by an earlier run, on a screen that outlives it."""
        self.reads = False

    def typed(self, fields: Sequence[Typed]) -> None:
        """Mask these from the next frame on; none where nothing shows of what was typed."""
        self.any = True
        self._known += [_Known.of(field) for field in fields]
        quiet = [known for known in self._known if known.quiet]
        for known in quiet[: max(0, len(self._known) - FIELDS)]:
            self._known.remove(known)

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        """Return the fields to paint over and, where nothing can read, the windows of those that are lost."""
        if not self._known:
            return ()
        return await asyncio.to_thread(self._masks, frame)

    def judged(self, frame: Frame, seen: Sequence[Box]) -> list[Mask]:
        """Return what to paint over of fields that are lost, by where their values were read in this frame."""
        found = []
        for known in self._known:
            there = [(box, hit) for box in known.lost for hit in seen if box.intersects(hit)]
            # As wide as the window: where a value begins and ends would tell how long it is.
            found += [Mask(KIND, Box(box.left, hit.top, box.width, hit.height)) for box, hit in there]
            if known.lost and not there and not known.part_seen:
                known.judged = frame.settled or known.doubted
                known.doubted = True
                found += [] if known.judged else _windows(known)
        return found

    def unread(self) -> list[Mask]:
        """Return the windows of all fields that are lost: nothing can read them, and what was read counts no more."""
        self.reads = False
        for known in self._known:
            known.judged = False
            known.lost = [] if known.quiet else known.missed
        return self._lost()

    def _lost(self) -> list[Mask]:
        return [mask for known in self._known for mask in _windows(known)]

    def _masks(self, frame: Frame) -> list[Mask]:
        if frame.holds != self._holds:
            self._holds = frame.holds
            for known in self._known:
                known.away = known.away or all(known.places.values())
                known.places = dict.fromkeys(known.places, False)
        screen = Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)
        seeing = _Seeing(frame, screen, self._known, reads=self.reads)
        found = [box for known in tuple(self._known) for box in seeing.look_for(known)]
        masks = [Mask(KIND, box) for box in dict.fromkeys(found)]
        return masks if self.reads else [*masks, *self._lost()]


class _Seeing:
    """One frame, looked at for all fields that are known."""

    def __init__(self, frame: Frame, screen: Pixels, known: Sequence[_Known], *, reads: bool) -> None:
        self._frame = frame
        self._reads = reads
        self._screen = screen
        self._known = known
        self._places: dict[Look, list[tuple[float, int, int]]] = {}
        self._windows = dict(frame.typed_in)

    @cached_property
    def _shape(self) -> Pixels:
        return shape_of(self._screen)

    @cached_property
    def _lines(self) -> bytes:
        return eighths(self._shape).tobytes()

    def look_for(self, known: _Known) -> list[Box]:
        """Return where a field shows, and note what was learned of it."""
        gone = self._windows.get(known.field.window, known.field.box) is None
        inside = self._windows.get(known.field.window)
        known.follow(inside)
        live = {} if gone else self._in_place(known)
        found = self._elsewhere(known, live)
        shown = [known.box(move) for move, was_cleared in live.items() if not was_cleared] + found
        known.places = {**{move: was for move, was in known.places.items() if move not in live}, **live}
        if known.drawn_alone and inside is not None and not live and not known.quiet:
            return [*shown, inside.grown(ROOM // 2)]
        known.missed, known.lost, known.part_seen = [], [], False
        if not (live or gone or known.away or all(known.places.values()) or known.drawn_alone):
            known.missed = self._program(known)
            if known.hidden and not self._reads:
                live, known.judged = self._by_label(known)
                shown += [known.box(move) for move in live]
        if live:
            if all(live.values()):
                known.places = dict.fromkeys(known.places, True)
            else:
                known.away = known.judged = False
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

    def _in_place(self, known: _Known) -> dict[Move, bool]:
        """Return where a field is that it was before, with whether it is cleared there."""
        live = {}
        for move, was_cleared in known.places.items():
            now = self._screen.crop(known.field.around.moved(*move).corners)
            here = same_around(known.field, now)
            if here and not was_cleared:
                live[move] = cleared(known.field, now)
                if not live[move]:
                    self._remember(known, move, now)
            elif any(pieces_left(look, now) for look in known.looks):
                live[move] = False
            elif here:
                live[move] = True
        return live

    def _remember(self, known: _Known, move: Move, now: Pixels) -> None:
        known.remember(now)
        inside = known.inside or Box(0, 0, *self._screen.size)
        near = labels(self._screen, known.box(move), inside)
        known.labels = [Pattern(each.shape, each.left - move[0], each.top - move[1]) for each in near] or known.labels

    def _by_label(self, known: _Known) -> tuple[dict[Move, bool], bool]:
        """Return where a field is that shows signs, by its label or its signs, and whether it is nowhere.

        An empty one beside a label says no more than that it is not there.
        """
        inside = known.inside or Box(0, 0, *self._screen.size)
        moves = found_labels(known.labels, self._shape, self._lines, inside)
        live, strange = {}, False
        for move in moves:
            now = self._screen.crop(known.field.around.moved(*move).corners)
            if not same_around(known.field, now):
                strange = strange or not as_before(known.field, now)
            elif not cleared(known.field, now):
                live[move] = False
                known.remember(now)
        if moves:
            return live, not (live or strange)
        look = max(known.looks, key=lambda each: each.signs)
        row = row_of_signs(self._screen, inside, look.signs) if look.signs else None
        if row is None:
            return {}, True
        known.anchor(_drawn_anew(look, self._screen, row, inside))
        known.labels = labels(self._screen, known.field.box, inside)
        return {(0, 0): False}, False

    def _elsewhere(self, known: _Known, live: dict[Move, bool]) -> list[Box]:
        """Note where else a field is by now; return the fields in which its text is that are others.

        A text that shows twice in one field is in one place, and one in another known field is where that is: from how
        far apart the texts, or the masks, are its length could be told.
        """
        others = []
        for look in known.looks:
            for part, across, down in self._places_of(look):
                at = text_box(look, across, down).center
                if part < SURE or any(known.box(each).contains(at) for each in live if not live[each]):
                    continue
                there = next((box for box in self._boxes_but(known) if box.contains(at)), None)
                if there is not None:
                    others.append(there)
                else:
                    within = next((each for each in live if known.box(each).contains(at)), (across, down))
                    live[within] = False
        return others

    def _parts(self, known: _Known) -> list[Box]:
        """Return where a part of a lost field may be seen."""
        return [known.box((across, down)) for look in known.looks for _, across, down in self._places_of(look)]

    def _places_of(self, look: Look) -> list[tuple[float, int, int]]:
        if look not in self._places:
            pattern = look.pattern
            found = pattern.found(self._shape, self._lines) if pattern is not None else []
            if pattern is not None and look.signs:
                found = [each for each in found if pattern.alike(self._shape, *each[1:]) >= ALIKE]
            self._places[look] = found
        return self._places[look]

    def _boxes_but(self, known: _Known) -> list[Box]:
        return [each.box(move) for each in self._known if each is not known for move in each.places]

    def _program(self, known: _Known) -> list[Box]:
        """Return where the windows of a field's program are to be seen; all of the screen if nobody knows."""
        size, windows = self._frame.size, self._frame.windows
        if windows is None or not known.field.pid:
            return [Box.whole(size)]
        found = []
        for place, window in enumerate(windows):
            if not window.owners or {owner.pid for owner in window.owners} & {0, known.field.pid}:
                found += visible(window.box, [above.box for above in windows[place + 1 :] if above.solid])
        return found


def _windows(known: _Known) -> list[Mask]:
    if known.lost and not known.told:
        known.told = True
        logger.warning(
            "A secret was typed into a window that shows something else by now, and may show the secret, too: all of "
            "it is masked until the field is seen again or cleared, or its window is closed. Where OCR is installed "
            "(pip install 'prefect-holo[redaction]') only what is read as the secret is masked."
        )
    return [Mask(LOST, box) for box in known.lost]


def _drawn_anew(look: Look, screen: Pixels, row: Box, inside: Box) -> Typed:
    """Return a field whose signs are in this row by now, in another size; it is as wide as its window."""
    field, was = look.field, text_box(look, 0, 0)
    size = row.width / max(1, was.width)
    above, height = round(size * (was.center.y - field.box.top)), round(size * field.box.height)
    top = min(row.top, row.center.y - above) - ROOM // 2
    bottom = max(row.bottom, row.center.y - above + height) + ROOM // 2
    box = Box(inside.left, top, inside.width, bottom - top).cut_to(inside)
    around = box.grown(NEAR).cut_to(inside)
    after = screen.crop(around.corners)
    before, paper = after.copy(), screen.getpixel((max(0, row.left - 1), row.top))
    before.paste(paper, row.grown(2).moved(-around.left, -around.top).corners)  # type: ignore[arg-type]
    return replace(field, box=box, around=around, before=before.tobytes(), after=after.tobytes())
