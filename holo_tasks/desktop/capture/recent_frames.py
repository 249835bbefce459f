"""Keep the last pictures of a screen, and compare the screen with a kept picture right before input.

`RecentFrames` is the main class. It compares raw pixels in the process that owns the screen. Only the fact that
something differs leaves that process.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Protocol

from PIL import Image

from holo_tasks.core.errors import ScreenChanged
from holo_tasks.core.input.gestures import Click, Gesture, Write
from holo_tasks.core.repaints.repaint_exemptions import RepaintExemptions
from holo_tasks.core.repaints.repaint_rhythm import RepaintingArea
from holo_tasks.core.repaints.repaint_shapes import ShapeChanges
from holo_tasks.core.screen.flicker import grayscale_area, unreadable_columns
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.likeness import edges, show_different_letters
from holo_tasks.core.screen.recheck import (
    CARET_TALL,
    InputTarget,
    Pixels,
    Restless,
    Sighting,
    StackedWindow,
    Strip,
    WindowStack,
    aim,
    areas,
    change_at_target,
    has_changed,
    part,
    rows,
)
from holo_tasks.desktop.capture.screen import Picture, Screen
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

MOST_BYTES, FEWEST = 16 * 1024 * 1024, 4
"""Most bytes of stored pictures, and the number of pictures that are kept even above it."""
AT_HAND = 1
"""Number of the newest pictures that stay uncompressed: input is decided on the last one, others are rarely used."""
PACKED_AFTER_S = 0.15
"""Delay before pictures are compressed. That takes a core for a while, which the encoder of the picture needs first."""
PATIENCE_S, NAP_S = 1.5, 0.05
"""Longest wait until a screen looks as before, and the pause between looks. A blinking caret shows half of the time."""
HOLD_S = 3.0
"""Longest wait in total while a place may soon count as self-repainting. Without such a place ``PATIENCE_S`` holds."""
OTHER_ITEM = "the text that names the item looks different"
"""The reason for withholding input after another item came to that place."""
SPARSE = 4
"""Of this many rows, one is in the checksum of a picture."""


class RepaintingAreas(Protocol):
    """The self-repainting areas of a screen, as `repaint_watch.RepaintWatch` learns them."""

    def acts(self) -> None:
        """Record that from now on repaints may be effects of input."""

    def steady(self, since_s: float) -> tuple[RepaintingArea, ...]:
        """Return the areas that are known to have repainted themselves from before ``since_s`` until now."""

    def likely_steady(self, since_s: float) -> tuple[RepaintingArea, ...]:
        """Return the areas of `steady`, and those that would join them after a few more repaints."""


class RecentFrames:
    """The last pictures of a screen by their numbers, which frames carry. Equal pictures share a number."""

    def __init__(self, link: XConnection, screen: Screen, gate: Gate, watch: RepaintingAreas) -> None:
        self._link = link
        self._screen = screen
        self._gate = gate
        self._watch = watch
        self._kept: OrderedDict[int, _StoredPicture] = OrderedDict()
        self.arranged_s = 0.0
        """When `arrange` was called last (`time.monotonic`)."""
        self._last = 0
        self._windows = WindowStack()
        self._clicked: tuple[Point, int] | None = None
        self._under: dict[Point | None, int] = {}

    def arrange(self) -> None:
        """Record the windows right before a picture is taken.

        A window that appears in between is then in the picture but not in the record, so a comparison notices it.
        """
        self.arranged_s = time.monotonic()
        self._windows = arrangement(self._link)

    def keep(self, picture: Picture) -> int:
        """Store a picture that was taken after `arrange`; return its number."""
        taken = _StoredPicture(picture, self._windows, self.arranged_s)
        # An equal picture is not stored again, so it displaces no other: a person may take long to answer about that.
        for number, known in reversed(self._kept.items()):
            if known.shows_the_same(taken):
                self._kept.move_to_end(number)
                return number
        self._last += 1
        self._kept[self._last] = taken
        if large := [known for known in list(self._kept.values())[:-AT_HAND] if not known.packed]:
            # Compressed in a thread of its own, while the model is asked.
            packing = threading.Timer(PACKED_AFTER_S, _pack, (large,))
            packing.daemon = True
            packing.start()
        while len(self._kept) > FEWEST and sum(known.bytes for known in self._kept.values()) > MOST_BYTES:
            self._kept.popitem(last=False)
        return self._last

    def acted(self, gesture: Gesture) -> None:
        """Record the place and window of the last click, because later typing may be meant for it."""
        if isinstance(gesture, Click | Write) and gesture.at is not None:
            self._clicked = gesture.at, top_at(self._link, gesture.at)

    def compare(self, number: int, gesture: Gesture, held: Sequence[Box] = ()) -> None:
        """Wait until the screen equals picture ``number`` where a gesture goes, and in the boxes of ``held``.

        Raises `ScreenChanged` if it stays different for too long. No input may be sent before this returns.
        """
        if (where := aim(gesture)) is not None:
            self._compare(number, where, held)
        self._watch.acts()

    def compare_item(self, number: int, held: Sequence[Box]) -> None:
        """Raise `ScreenChanged` if other letters than in picture ``number`` are in one of the boxes of ``held``.

        Colors and lines do not count, because a program may highlight the row of the pointer. Neither do boxes under a
        window that was not there, such as a menu or a tooltip.
        """
        if (kept := self._kept.get(number)) is None:
            return
        windows, before = arrangement(self._link), kept.windows
        held = [box for box in held if windows.under(box.center) == before.under(box.center)]
        if held and _other_letters(kept.sighting().pixels, self._capture_held(held), held):
            raise ScreenChanged(f"The screen changed when the pointer arrived: {OTHER_ITEM}. Nothing was pressed.")

    def _compare(self, number: int, where: InputTarget, held: Sequence[Box]) -> None:
        windows = self._read_windows(where)
        if not where.points and self._clicked is not None and self._clicked[1] == windows.focus:
            where = InputTarget(clicked=self._clicked[0])
        about = "click" if where.points else "type"
        if (kept := self._kept.get(number)) is None:
            raise ScreenChanged(f"The frame of this decision is too old to {about} by it. Nothing was done.")
        before = kept.sighting()
        # A list that is sorted to and fro shows the item there again, but the target may come from the time between.
        if held and _other_letters(before.pixels, self._capture_held(held), held):
            raise ScreenChanged(f"The screen changed where you were about to {about}: {OTHER_ITEM}. Nothing was done.")
        now = self._capture_rows(where, windows)
        if why := self._wait_until_same(before, kept.seen_s, now, where, held):
            raise ScreenChanged(f"The screen changed where you were about to {about}: {why}. Nothing was done.")

    def _wait_until_same(
        self, before: Sighting, seen_s: float, now: Sighting, where: InputTarget, held: Sequence[Box] = ()
    ) -> str:
        """Wait until a screen is as before, apart from self-repainting areas; return the difference that stays."""
        until, doubts = time.monotonic() + PATIENCE_S, ShapeChanges(before)
        looks: list[Mapping[Box, Image.Image]] = []
        while why := self._difference_at_aim(before, seen_s, now, where, doubts) or self._difference_in_held(
            before, seen_s, held
        ):
            if time.monotonic() >= until:
                why = self._difference_at_aim(before, seen_s, now, where, doubts, _unreadable_columns(before, looks))
                why = why or self._difference_in_held(before, seen_s, held)
                return self._await_rhythm(before, seen_s, where, held, doubts) if why else ""
            self._gate.sleep(NAP_S)
            last, now = now, self._capture_rows(where, self._read_windows(where))
            if last.windows != now.windows or last.pixels.size != now.pixels.size:
                looks.clear()
            looks.append({area: grayscale_area(now, area) for area in areas(now, where)} if where.points else {})
        return why

    def _await_rhythm(
        self, before: Sighting, seen_s: float, where: InputTarget, held: Sequence[Box], doubts: ShapeChanges
    ) -> str:
        """Go on waiting while every difference may soon count as self-repainting; return the difference that stays."""
        until = time.monotonic() + HOLD_S - PATIENCE_S
        while True:
            now = self._capture_rows(where, self._read_windows(where))
            why = self._difference_at_aim(before, seen_s, now, where, doubts) or self._difference_in_held(
                before, seen_s, held
            )
            if not why or time.monotonic() >= until:
                return why
            exemptions, areas = RepaintExemptions(before, where), self._watch.likely_steady(seen_s)
            hopeful = not change_at_target(before, exemptions.without_repaints(now, areas), where)
            if not hopeful or self._difference_in_held(before, seen_s, held, areas):
                return why
            self._gate.sleep(NAP_S)

    def _difference_in_held(
        self, before: Sighting, seen_s: float, held: Sequence[Box], areas: Iterable[RepaintingArea] | None = None
    ) -> str:
        """Return a reason if one of the ``held`` boxes looks different, apart from self-repainting areas.

        ``areas`` are those areas; by default the known ones. Returns an empty string if the boxes are equal.
        """
        if not held:
            return ""
        now = Sighting(self._capture_held(held), before.windows)
        if not has_changed(before, now, held):
            return ""
        steady = [area.box for area in (self._watch.steady(seen_s) if areas is None else areas)]
        return OTHER_ITEM if has_changed(before, now, held, steady) else ""

    def _capture_held(self, held: Sequence[Box]) -> Strip:
        """Capture the rows around boxes."""
        around = Box.around(held).cut_to(Box.whole(self._screen.size))
        first, last = max(0, around.top - CARET_TALL), min(self._screen.size.height, around.bottom + CARET_TALL)
        return self._screen.strip(first, last)

    def _difference_at_aim(
        self,
        before: Sighting,
        seen_s: float,
        now: Sighting,
        where: InputTarget,
        doubts: ShapeChanges,
        restless: Restless | None = None,
    ) -> str:
        """Return the difference between two looks, or an empty string.

        Self-repainting areas do not count, and neither do unreadable parts in ``restless`` columns.
        """
        if not change_at_target(before, now, where):
            return ""
        areas, exemptions = doubts.with_same_shape(now, self._watch.steady(seen_s)), RepaintExemptions(before, where)
        if why := change_at_target(before, exemptions.without_repaints(now, areas), where, restless):
            return why
        # Finding the self-repainting areas took a moment, so the screen is captured once more.
        now = self._capture_rows(where, self._read_windows(where))
        return change_at_target(before, exemptions.without_repaints(now, areas), where, restless)

    def same_window(self, at: Point | None) -> None:
        """Raise `ScreenChanged` unless the window there, or with the keyboard, is the one of the last comparison."""
        if at in self._under and top_at(self._link, at) != self._under[at]:
            where = "has the keyboard" if at is None else "is there"
            raise ScreenChanged(f"The screen changed at the last moment: another window {where}. Nothing was done.")

    def _read_windows(self, where: InputTarget) -> WindowStack:
        """Return the windows, and record first those that the input would reach.

        `same_window` compares with these, so it notices a window that appears in between.
        """
        under: dict[Point | None, int] = {point: top_at(self._link, point) for point in where.points}
        windows = arrangement(self._link)
        self._under = under or {None: windows.focus}
        return windows

    def _capture_rows(self, where: InputTarget, windows: WindowStack) -> Sighting:
        """Capture the rows that matter, after the windows were read: a window that appears is then in the picture."""
        return Sighting(self._screen.strip(*rows(windows, self._screen.size, where)), windows)


def _other_letters(before: Pixels, now: Pixels, boxes: Sequence[Box]) -> bool:
    """Return whether one of these boxes has other letters, whatever their colors."""
    if before.size != now.size:
        return True
    cut = [area for box in boxes if (area := box.cut_to(Box.whole(now.size))).area]
    return any(show_different_letters(edges(part(before, area)), edges(part(now, area))) for area in cut)


class _StoredPicture:
    """A stored picture with the arrangement of its windows.

    Compressed, a picture of a program takes a hundredth of the memory.
    """

    def __init__(self, picture: Picture, windows: WindowStack, seen_s: float) -> None:
        self.windows = windows
        self.seen_s = seen_s
        self._size = picture.size
        self._check = _checksum(picture)
        self._state: tuple[bytes | bytearray, tuple[int, ...]] = (picture.bgrx, ())
        """The pixels, or their different rows compressed and how often each comes in a row.

        It is one tuple, because another thread replaces it.
        """

    @property
    def bytes(self) -> int:
        return len(self._state[0])

    @property
    def packed(self) -> bool:
        return bool(self._state[1])

    def sighting(self) -> Sighting:
        pixels, times = self._state
        if times:
            rows = zip(_rows(zlib.decompress(pixels), self._size.width), times, strict=True)
            pixels = b"".join(row * count for row, count in rows)
        return Sighting(Picture(self._size, pixels), self.windows)

    def shows_the_same(self, other: _StoredPicture) -> bool:
        alike = (self.windows, self._size, self._check) == (other.windows, other._size, other._check)
        return alike and self.sighting() == other.sighting()

    def pack(self) -> None:
        pixels, times = self._state
        if not times:  # two threads may run this
            # Most rows of a program equal the row above, and comparing takes less CPU time than compressing.
            equal = [(row, sum(1 for _ in same)) for row, same in groupby(_rows(pixels, self._size.width))]
            self._state = zlib.compress(b"".join(row for row, _ in equal), 1), tuple(count for _, count in equal)


def _rows(bgrx: bytes | bytearray, width: int) -> Iterator[bytes | bytearray]:
    """Yield the rows of a picture with four bytes a pixel."""
    return (bgrx[at : at + 4 * width] for at in range(0, len(bgrx), 4 * width))


def _checksum(picture: Picture) -> int:
    """Return a checksum of some rows. Pictures with equal checksums are compared pixel by pixel.

    The rows are so close that each letter and each text cursor touches one.
    """
    pixels, line, found = memoryview(picture.bgrx), 4 * picture.size.width, 0
    for at in range(0, len(pixels), SPARSE * line):
        found = zlib.crc32(pixels[at : at + line], found)
    return found


def _pack(pictures: list[_StoredPicture]) -> None:
    for picture in pictures:
        picture.pack()


def _unreadable_columns(before: Sighting, looks: Sequence[Mapping[Box, Image.Image]]) -> Restless:
    return {
        area: frozenset(
            area.left + x for x in unreadable_columns(grayscale_area(before, area), [look[area] for look in looks])
        )
        for area in (looks[-1] if looks else ())
    }


def arrangement(link: XConnection) -> WindowStack:
    """Return the visible children of the root window, lowest first, and the one with the focus."""
    panes = tuple(StackedWindow(child.window, child.box) for child in link.root_children())
    return WindowStack(panes, top_at(link, None))


def top_at(link: XConnection, at: Point | None) -> int:
    """Return the child of the root window that gets a press at a point or, without one, the keys; zero for none."""
    core = link.conn.core
    try:
        if at is not None:
            return int(core.TranslateCoordinates(link.root, link.root, at.x, at.y).reply().child)
        window = int(core.GetInputFocus().reply().focus)
        while window > 1:  # 0 means no focus, and 1 (PointerRoot) the window under the pointer
            tree = core.QueryTree(window).reply()
            if tree.parent in (link.root, 0):
                return window
            window = int(tree.parent)
    except Refused:
        return 0
    return window
