"""Masks the fields that secrets were typed into, for as long as they may show.

A field is masked in a frame when

* what is around it is the same as right after the typing (most of what has a shape there: labels, outlines), unless the
  field itself is as before the typing, or holds nothing but its own colour: then it was cleared;
* any piece of what was typed is still there, although its surroundings have changed (something lies over them);
* what was typed, or most of it, is anywhere else on the screen, also in several places and in other colours: the window
  was moved or scrolled, or shows the text again. From then on it is there;
* a window of its own draws it, which the X server says is there.

Each new look of a field is remembered: a password that a program is told to show is looked for as it shows then.

A field that is none of these and was not seen cleared is *lost*: it may show in another size, or in part. Then all
windows of its program are masked, until the field is found again, or cleared, or its window is closed. Where something
can read, that is asked instead (`TypedTexts`): the windows are masked only for as long as it sees the value, or the
screen does not come to rest. A field that shows the same sign for each character, as for passwords, is not taken for
lost: what is told by another screen is at most how long it is.

A field that was cleared is masked again as soon as a piece of what was typed shows: an undo brings it back.
After a person had the screen no field counts as cleared until it is seen empty: they may have typed the secret anew.
What else a person typed, and where, nobody knows.
What is compared is kept in memory, and goes nowhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as made

from PIL import Image

from holo_tasks.core.frame import LOST, Frame, Mask
from holo_tasks.core.geometry import Box
from holo_tasks.core.gestures import Typed
from holo_tasks.core.signs import signs
from holo_tasks.safety.masking.places import visible
from holo_tasks.safety.places import holds, overlap, surrounds
from holo_tasks.safety.typed_looks import (
    CARET,
    SURE,
    Look,
    Pixels,
    cleared,
    columns,
    differs,
    eighths,
    inner,
    picture_of,
    pieces_left,
    places,
    same_around,
    shape_of,
    text_box,
)

KIND = "typed"
ROOM = 8
"""A window that reaches no further than this beyond a field draws nothing else."""
LOOKS, PLACES, FIELDS = 4, 8, 16
"""How many looks and places of a field are remembered, and how many fields: beyond that the oldest that do not show."""
Move = tuple[int, int]
logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Known:
    """A field that was typed into; its places are how far it was moved, each with whether it was cleared there.

    ``away`` says that it was seen to show nowhere, ``lost`` where its program's windows are while nobody can say.
    """

    field: Typed
    looks: list[Look]
    places: dict[Move, bool]
    inside: Box | None
    hidden: bool
    away: bool = False
    lost: list[Box] = made(default_factory=list)
    doubted: bool = False
    part_seen: bool = False
    told: bool = False

    @classmethod
    def of(cls, field: Typed) -> _Known:
        look = Look(field, picture_of(field, field.after))
        return cls(field, [look], {(0, 0): False}, field.inside, field.hidden)

    def box(self, move: Move) -> Box:
        return _shifted(self.field.box, move)

    @property
    def quiet(self) -> bool:
        """Whether it is known to show nowhere."""
        return self.away or all(self.places.values())

    @property
    def drawn_alone(self) -> bool:
        """Whether a window draws nothing else, so that the field is wherever that is."""
        inside = self.field.inside
        return inside is not None and surrounds(_grown(self.field.box, ROOM), inside)

    def follow(self, inside: Box | None) -> None:
        """Take what is in the field's window to be moved with that."""
        before = self.inside
        if inside is None or before is None or inside == before:
            self.inside = inside or before
            return
        by = inside.left - before.left, inside.top - before.top
        self.places = {
            (move[0] + by[0], move[1] + by[1]) if holds(before, self.box(move).center) else move: was_cleared
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
                before = picture_of(self.field, self.field.before)
                self.hidden = bool(signs(before.crop(look.text), now.crop(look.text)))


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
            there = [(box, hit) for box in known.lost for hit in seen if overlap(box, hit)]
            # As wide as the window: where a value begins and ends would tell how long it is.
            found += [Mask(KIND, Box(box.left, hit.top, box.width, hit.height)) for box, hit in there]
            if known.lost and not there and not known.part_seen:
                known.away = frame.settled or known.doubted
                known.doubted = True
                found += [] if known.away else _windows(known)
        return found

    def unread(self) -> list[Mask]:
        """Return the windows of all fields that are lost: nothing can read them."""
        return [mask for known in self._known for mask in _windows(known)]

    def _masks(self, frame: Frame) -> list[Mask]:
        if frame.holds != self._holds:
            self._holds = frame.holds
            for known in self._known:
                known.away = known.quiet
                known.places = dict.fromkeys(known.places, False)
        screen = Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)
        seeing = _Seeing(frame, screen, self._known)
        found = [box for known in tuple(self._known) for box in seeing.look_for(known)]
        masks = [Mask(KIND, box) for box in dict.fromkeys(found)]
        return masks if self.reads else [*masks, *self.unread()]


class _Seeing:
    """One frame, looked at for all fields that are known."""

    def __init__(self, frame: Frame, screen: Pixels, known: Sequence[_Known]) -> None:
        self._frame = frame
        self._screen = screen
        self._known = known
        self._shape = shape_of(screen)
        self._lines = eighths(self._shape).tobytes()
        self._places: dict[Look, list[tuple[float, int, int]]] = {}
        self._windows = dict(frame.typed_in)

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
            return [*shown, _grown(inside, ROOM // 2)]
        known.lost, known.part_seen = [], False
        if live:
            if all(live.values()):
                known.places = dict.fromkeys(known.places, True)
            known.away, known.doubted = all(live.values()) and known.away, False
        elif known.hidden:
            known.away = True
        elif not (gone or known.quiet or known.drawn_alone):
            known.lost = self._program(known)
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
            now = self._screen.crop(_corners(_shifted(known.field.around, move)))
            here = same_around(known.field, now)
            if here and not was_cleared:
                live[move] = cleared(known.field, now)
                if not live[move]:
                    known.remember(now)
            elif any(pieces_left(look, now) for look in known.looks):
                live[move] = False
            elif here:
                live[move] = True
        return live

    def _elsewhere(self, known: _Known, live: dict[Move, bool]) -> list[Box]:
        """Note where else a field is by now; return the fields in which its text is that are others.

        A text that shows twice in one field is in one place, and one in another known field is where that is: from how
        far apart the texts, or the masks, are its length could be told.
        """
        others = []
        for look in known.looks:
            for part, across, down in self._places_of(look):
                at = text_box(look, across, down).center
                if part < SURE or any(holds(known.box(each), at) for each in live if not live[each]):
                    continue
                there = next((box for box in self._boxes_but(known) if holds(box, at)), None)
                if there is not None:
                    others.append(there)
                else:
                    within = next((each for each in live if holds(known.box(each), at)), (across, down))
                    live[within] = False
        return others

    def _parts(self, known: _Known) -> list[Box]:
        """Return where a part of a lost field may be seen."""
        return [known.box((across, down)) for look in known.looks for _, across, down in self._places_of(look)]

    def _places_of(self, look: Look) -> list[tuple[float, int, int]]:
        if look not in self._places:
            self._places[look] = places(look, self._shape, self._lines)
        return self._places[look]

    def _boxes_but(self, known: _Known) -> list[Box]:
        return [each.box(move) for each in self._known if each is not known for move in each.places]

    def _program(self, known: _Known) -> list[Box]:
        """Return where the windows of a field's program are to be seen; all of the screen if nobody knows."""
        size, windows = self._frame.size, self._frame.windows
        if windows is None or not known.field.pid:
            return [Box(0, 0, size.width, size.height)]
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


def _corners(box: Box) -> tuple[int, int, int, int]:
    return (box.left, box.top, box.right, box.bottom)


def _shifted(box: Box, by: Move) -> Box:
    return Box(box.left + by[0], box.top + by[1], box.width, box.height)


def _grown(box: Box, by: int) -> Box:
    return Box(box.left - by, box.top - by, box.width + 2 * by, box.height + 2 * by)
