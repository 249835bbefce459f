"""The last pictures that were taken, and whether the screen still is as in one of them where input is about to go.

Raw pixels are compared, in the process that owns the screen: of what is different nothing leaves it but that it is.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from PIL import Image

from holo_tasks.core.errors import ScreenChanged
from holo_tasks.core.flicker import shown, unread
from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.gestures import Click, Gesture, Write
from holo_tasks.core.recheck import (
    CARET_TALL,
    Aim,
    Arrangement,
    Pane,
    Restless,
    Sighting,
    aim,
    areas,
    moved,
    rows,
    stirred_in,
)
from holo_tasks.core.repaint_exemptions import Calm
from holo_tasks.core.repaint_rhythm import Stir
from holo_tasks.core.repaint_shapes import Doubts
from holo_tasks.desktop.gate import Gate
from holo_tasks.desktop.screen import Picture, Screen
from holo_tasks.desktop.xlink import Refused, XLink

MOST_BYTES, FEWEST = 16 * 1024 * 1024, 4
"""How much is kept of pictures, and how many of them in any case."""
AT_HAND = 1
"""So many, the newest, are not packed: input is decided on by the last one, and others are looked at seldom."""
PACKED_AFTER_S = 0.15
"""It takes a core for a while, which those have a use for who make a request of the picture."""
PATIENCE_S, NAP_S = 1.5, 0.05
"""For a screen to look again as it did: a blinking caret is there only half of the time."""
HOLD_S = 3.0
"""In all for a place that is about to prove that it repaints itself; with no such place there is no such wait."""
VIEWABLE = 2


class Watch(Protocol):
    """The places that repaint themselves, as `repaint_watch.RepaintWatch` learns them."""

    def acts(self) -> None:
        """Note that from now on repaints may be effects of input."""

    def steady(self, since_s: float) -> tuple[Stir, ...]:
        """Return the places that are known to repaint themselves, from before a moment until now."""

    def promising(self, since_s: float) -> tuple[Stir, ...]:
        """Return these places, and those that a few more repaints would add to them."""


class Remembered:
    """Pictures by their numbers, which travel with the frames; the same picture has the same number."""

    def __init__(self, link: XLink, screen: Screen, gate: Gate, watch: Watch) -> None:
        self._link = link
        self._screen = screen
        self._gate = gate
        self._watch = watch
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self.arranged_s = 0.0
        """When `arrange` was called last (`time.monotonic`)."""
        self._last = 0
        self._windows = Arrangement()
        self._clicked: tuple[Point, int] | None = None
        self._under: dict[Point | None, int] = {}

    def arrange(self) -> None:
        """Look at the windows, right before a picture is taken: one that comes up between is in the picture alone."""
        self.arranged_s = time.monotonic()
        self._windows = arrangement(self._link)

    def keep(self, picture: Picture) -> int:
        """Remember a picture that was taken after `arrange`; return its number."""
        taken = _Kept(picture, self._windows, self.arranged_s)
        # The same screen again is no reason to forget another: somebody may be asked for a long time about that one.
        for number, known in reversed(self._kept.items()):
            if known.shows_the_same(taken):
                self._kept.move_to_end(number)
                return number
        self._last += 1
        self._kept[self._last] = taken
        if large := [known for known in list(self._kept.values())[:-AT_HAND] if not known.packed]:
            # Nobody waits for this: by then the model is asked.
            packing = threading.Timer(PACKED_AFTER_S, _pack, (large,))
            packing.daemon = True
            packing.start()
        while len(self._kept) > FEWEST and sum(known.bytes for known in self._kept.values()) > MOST_BYTES:
            self._kept.popitem(last=False)
        return self._last

    def acted(self, gesture: Gesture) -> None:
        """Note where was clicked last: what is typed later may be meant for it."""
        if isinstance(gesture, Click | Write) and gesture.at is not None:
            self._clicked = gesture.at, top_at(self._link, gesture.at)

    def compare(self, number: int, gesture: Gesture, held: Sequence[Box] = ()) -> None:
        """Return when the screen is as in that picture where a gesture goes, and in the boxes of ``held``.

        Raises `ScreenChanged` if it does not become so for a while. Until this returns, nobody acts.
        """
        if (where := aim(gesture)) is not None:
            self._compare(number, where, held)
        self._watch.acts()

    def _compare(self, number: int, where: Aim, held: Sequence[Box]) -> None:
        windows = self._arranged(where)
        if not where.points and self._clicked is not None and self._clicked[1] == windows.focus:
            where = Aim(clicked=self._clicked[0])
        about = "click" if where.points else "type"
        if (kept := self._kept.get(number)) is None:
            raise ScreenChanged(f"The screen was looked at too long ago to {about} by it; nothing was done.")
        before = kept.sighting()
        now = self._sighting(where, windows)
        if why := self._await(before, kept.seen_s, now, where, held):
            raise ScreenChanged(f"The screen changed where you were about to {about}: {why}. Nothing was done.")

    def _await(self, before: Sighting, seen_s: float, now: Sighting, where: Aim, held: Sequence[Box] = ()) -> str:
        """Wait for a screen to be as before, but for what is repainted by itself; say what else is different."""
        until, doubts = time.monotonic() + PATIENCE_S, Doubts(before)
        looks: list[Mapping[Box, Image.Image]] = []
        while why := self._moved(before, seen_s, now, where, doubts) or self._exchanged(before, seen_s, held):
            if time.monotonic() >= until:
                why = self._moved(before, seen_s, now, where, doubts, _unread(before, looks))
                why = why or self._exchanged(before, seen_s, held)
                return self._await_rhythm(before, seen_s, where, held, doubts) if why else ""
            self._gate.sleep(NAP_S)
            last, now = now, self._sighting(where, self._arranged(where))
            if last.windows != now.windows or last.pixels.size != now.pixels.size:
                looks.clear()
            looks.append({area: shown(now, area) for area in areas(now, where)} if where.points else {})
        return why

    def _await_rhythm(self, before: Sighting, seen_s: float, where: Aim, held: Sequence[Box], doubts: Doubts) -> str:
        """Wait on while all that is different may be about to prove that it repaints itself; say what is different."""
        until = time.monotonic() + HOLD_S - PATIENCE_S
        while True:
            now = self._sighting(where, self._arranged(where))
            why = self._moved(before, seen_s, now, where, doubts) or self._exchanged(before, seen_s, held)
            if not why or time.monotonic() >= until:
                return why
            calm, stirs = Calm(before, where), self._watch.promising(seen_s)
            hopeful = not moved(before, calm.calmed(now, stirs), where)
            if not hopeful or self._exchanged(before, seen_s, held, stirs):
                return why
            self._gate.sleep(NAP_S)

    def _exchanged(
        self, before: Sighting, seen_s: float, held: Sequence[Box], stirs: Iterable[Stir] | None = None
    ) -> str:
        """Say whether one of some boxes looks different, but for ``stirs`` or else what is repainted by itself."""
        if not held:
            return ""
        around = Box.around(held).cut_to(Box.whole(self._screen.size))
        first, last = max(0, around.top - CARET_TALL), min(self._screen.size.height, around.bottom + CARET_TALL)
        now = Sighting(self._screen.strip(first, last), before.windows)
        if not stirred_in(before, now, held):
            return ""
        steady = [stir.box for stir in (self._watch.steady(seen_s) if stirs is None else stirs)]
        return "what item it is about looks different" if stirred_in(before, now, held, steady) else ""

    def _moved(
        self,
        before: Sighting,
        seen_s: float,
        now: Sighting,
        where: Aim,
        doubts: Doubts,
        restless: Restless | None = None,
    ) -> str:
        """Say what is different, but for what is repainted by itself or, among restless columns, is not read."""
        if not moved(before, now, where):
            return ""
        stirs, calm = doubts.allayed(now, self._watch.steady(seen_s)), Calm(before, where)
        if why := moved(before, calm.calmed(now, stirs), where, restless):
            return why
        # To find that out took a moment: what is pressed is looked at once more.
        now = self._sighting(where, self._arranged(where))
        return moved(before, calm.calmed(now, stirs), where, restless)

    def same_window(self, at: Point | None) -> None:
        """Raise `ScreenChanged` unless the window there, or with the keyboard, is the one of the last comparison."""
        if at in self._under and top_at(self._link, at) != self._under[at]:
            where = "has the keyboard" if at is None else "is there"
            raise ScreenChanged(f"The screen changed at the last moment: another window {where}. Nothing was done.")

    def _arranged(self, where: Aim) -> Arrangement:
        """Look at the windows, first at those that the input would reach: what comes up between is noticed."""
        under: dict[Point | None, int] = {point: top_at(self._link, point) for point in where.points}
        windows = arrangement(self._link)
        self._under = under or {None: windows.focus}
        return windows

    def _sighting(self, where: Aim, windows: Arrangement) -> Sighting:
        """Look at the rows that matter, after the windows: what comes up between is in the picture."""
        return Sighting(self._screen.strip(*rows(windows, self._screen.size, where)), windows)


class _Kept:
    """A picture, and how the windows lay: packed, a picture of a program takes a hundredth of the memory."""

    def __init__(self, picture: Picture, windows: Arrangement, seen_s: float) -> None:
        self.windows = windows
        self.seen_s = seen_s
        self._size = picture.size
        self._check = zlib.crc32(picture.bgrx)
        self._state: tuple[bytes | bytearray, bool] = (picture.bgrx, False)
        """The pixels, and whether they are packed: one value, for another thread packs them."""

    @property
    def bytes(self) -> int:
        return len(self._state[0])

    @property
    def packed(self) -> bool:
        return self._state[1]

    def sighting(self) -> Sighting:
        pixels, packed = self._state
        return Sighting(Picture(self._size, zlib.decompress(pixels) if packed else pixels), self.windows)

    def shows_the_same(self, other: _Kept) -> bool:
        alike = (self.windows, self._size, self._check) == (other.windows, other._size, other._check)
        return alike and self.sighting() == other.sighting()

    def pack(self) -> None:
        pixels, packed = self._state
        if not packed:  # two threads may be at it
            self._state = zlib.compress(pixels, 1), True


def _pack(pictures: list[_Kept]) -> None:
    for picture in pictures:
        picture.pack()


def _unread(before: Sighting, looks: Sequence[Mapping[Box, Image.Image]]) -> Restless:
    return {
        area: frozenset(area.left + x for x in unread(shown(before, area), [look[area] for look in looks]))
        for area in (looks[-1] if looks else ())
    }


def arrangement(link: XLink) -> Arrangement:
    """Return the windows directly on the root that can be hit, the lowest first, in one wait for all of them."""
    core = link.conn.core
    asked = [
        (window, core.GetWindowAttributes(window), core.GetGeometry(window))
        for window in core.QueryTree(link.root).reply().children
    ]
    panes = []
    for window, attributes, geometry in asked:
        try:
            shown, place = attributes.reply().map_state == VIEWABLE, geometry.reply()
        except Refused:
            continue
        if shown:
            border = 2 * place.border_width
            panes.append(Pane(window, Box(place.x, place.y, place.width + border, place.height + border)))
    return Arrangement(tuple(panes), top_at(link, None))


def top_at(link: XLink, at: Point | None) -> int:
    """Return the window directly on the root that gets a press at a point or, without one, the keys; 0 for none."""
    core = link.conn.core
    try:
        if at is not None:
            return int(core.TranslateCoordinates(link.root, link.root, at.x, at.y).reply().child)
        window = int(core.GetInputFocus().reply().focus)
        while window > 1:  # neither nothing nor whatever is under the pointer
            tree = core.QueryTree(window).reply()
            if tree.parent in (link.root, 0):
                return window
            window = int(tree.parent)
    except Refused:
        return 0
    return window
