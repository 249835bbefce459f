"""Learn which areas of a screen repaint themselves, such as clocks and videos.

`RepaintWatch` is the main class. It runs in a thread, over its own X connection, and compares repainted areas with
their pixels before. These pixels stay in the process that owns the screen.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from PIL import Image, ImageChops

from holo_tasks.core.repaints.repaint_exemptions import LARGEST
from holo_tasks.core.repaints.repaint_rhythm import TILE, RepaintHistory, RepaintingArea, Tile, around, squares
from holo_tasks.core.repaints.repaint_shapes import PlaceShapes
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.likeness import mask_at_least
from holo_tasks.desktop.capture.repaints import Repaints
from holo_tasks.desktop.capture.settle import Repaint
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

NAP_S, REST_FACTOR, MOST_S, BUSY_S = 0.1, 9, 0.4, 0.35
"""The pause after a sample is ``REST_FACTOR`` times its computing time, but from ``NAP_S`` to ``MOST_S`` seconds. So a
video costs a tenth of a core. After a gesture a sample waits ``BUSY_S``, because the capture for the model comes
first."""
LEAST_CHANGE = 32
"""Smallest difference in brightness (0 to 255) that counts as a change."""
MOST_WIDTH, MOST_HEIGHT = 256, 64
"""A repaint of at most this width and height in pixels counts as one thing, including its unchanged parts."""
MOST_SIZE_RATIO = 4
"""Repaints at one place count as repaints of one thing if their areas differ by at most this factor."""
MOST_PLACES, QUEUED = 8, 256
"""Most places that are compared separately, and most repaints in the queue whose boxes are kept separately."""
QUIET_S, UNSETTLED_S = 1.0, 2.0
"""Time after a capture from which repaints no longer count as effects of a gesture. The second value is for a screen
that had not settled, where effects may come later."""
CONFIRM_S, CONFIRM_NAP_S = 1.25, 0.05
"""How long a first capture waits for repaints of an earlier process's areas, and the pause between two checks."""


class RepaintWatch:
    """The self-repainting areas of one screen, which a thread learns."""

    def __init__(self, repaints: Repaints, link: XConnection, away: Callable[[], bool]) -> None:
        """Start the thread if ``repaints`` come from X DAMAGE.

        ``away`` returns whether a person has the screen, which then must not be captured.
        """
        self._repaints = repaints
        self._link = link
        self._away = away
        self._news = threading.Condition()
        self._drawn: list[Repaint] = []
        self._moved = False
        self._turn = threading.Lock()
        self._known: Image.Image | None = None
        self._rhythms, self._shapes = RepaintHistory(), PlaceShapes()
        self._acted_s, self._looked_s = -math.inf, math.inf
        self._alone_from_s = math.inf
        self._confirm_until_s = -math.inf
        self.keep: Callable[[], None] = lambda: None
        """Stores the learned areas for a later process, at the end of this one."""
        self._lost = not repaints.exact
        if repaints.exact:
            repaints.also, repaints.rearranged = self._note, self.moves
            threading.Thread(target=self._watch, name="stirs", daemon=True).start()

    def acts(self) -> None:
        """Record that from now on repaints may be effects of our input."""
        self._acted_s, self._looked_s, self._alone_from_s = time.monotonic(), math.inf, math.inf

    def looked(self, at_s: float, *, settled: bool) -> None:
        """Record that the screen was captured at ``at_s`` after the last input.

        Soon after that, repaints no longer count as effects of the input.
        """
        if self._alone_from_s == math.inf:
            self._looked_s, self._alone_from_s = at_s, time.monotonic() + (QUIET_S if settled else UNSETTLED_S)

    def moves(self) -> None:
        """Forget all learned areas at the next sample, because windows moved."""
        self._moved = True

    def known(self, since_s: float) -> tuple[RepaintingArea, ...]:
        """Return the areas of `steady` as learned at the last sample, without a new sample."""
        with self._turn:
            return () if self._lost else self._rhythms.steady(since_s, time.monotonic())

    def steady(self, since_s: float) -> tuple[RepaintingArea, ...]:
        """Return the areas that have repainted themselves from before ``since_s`` (`time.monotonic`) until now."""
        with self._turn:
            if not self._catch_up():
                return ()
            return self._described(self._rhythms.steady(since_s, time.monotonic()))

    def likely_steady(self, since_s: float) -> tuple[RepaintingArea, ...]:
        """Return the areas of `steady`, and those that would join them after a few more repaints."""
        with self._turn:
            if not self._catch_up():
                return ()
            return self._described(self._rhythms.likely_steady(since_s, time.monotonic()))

    def expect(self, places: Iterable[tuple[Box, float]]) -> None:
        """Expect repaints at areas that an earlier process learned on this screen, each with its pace in seconds.

        The screen is captured now, so that the first repaint can be compared with the pixels before it.
        """
        with self._turn:
            screen = Box.whole(self._link.size())
            if self._lost or self._away() or not (inside := [one for one in places if screen.encloses(one[0])]):
                return
            self._known = self._taken(screen)
            self._rhythms.expect(inside, now_s := time.monotonic())
            self._confirm_until_s = now_s + CONFIRM_S

    def confirm(self, sleep: Callable[[float], None]) -> None:
        """Wait before a first capture until the areas of an earlier process have repainted, for ``CONFIRM_S`` at most.

        A repaint that comes only after the capture does not prove that the area repainted itself before it.
        """
        while time.monotonic() < self._confirm_until_s:
            with self._turn:
                if not (self._catch_up() and self._rhythms.awaited(time.monotonic())):
                    break
            sleep(CONFIRM_NAP_S)
        self._confirm_until_s = -math.inf

    def learned(self) -> list[tuple[Box, float]]:
        """Return the areas that keep repainting themselves, with their paces in seconds, for a later process."""
        with self._turn:
            return self._rhythms.learned(time.monotonic()) if self._catch_up() else []

    def _described(self, areas: Iterable[RepaintingArea]) -> tuple[RepaintingArea, ...]:
        return tuple(replace(area, varied=self._shapes.vary(area.box)) for area in areas)

    def _note(self, area: Box) -> None:
        with self._news:
            self._drawn.append(Repaint(time.monotonic_ns(), area))
            if len(self._drawn) > QUEUED:
                self._drawn = [Repaint(self._drawn[-1].at_ns, Box.around([one.box for one in self._drawn]))]
            self._news.notify()

    def _watch(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._drawn)
            if self._alone_from_s == math.inf:
                time.sleep(BUSY_S)
            began = time.thread_time()
            with self._turn:
                if not self._catch_up():
                    return
            time.sleep(min(MOST_S, max(NAP_S, REST_FACTOR * (time.thread_time() - began))))

    def _catch_up(self) -> bool:
        """Sample the repaints since the last call; return false if the watch cannot learn any more."""
        if self._lost:
            return False
        with self._news:
            drawn, self._drawn = self._drawn, []
        if self._moved:
            self._moved = False
            self._rhythms.forget()
            self._shapes.forget()
        try:
            self._sample(drawn)
        except Refused:  # the screen was resized
            self._forget_picture()
        except Exception:  # including a lost X server: without learned areas the whole screen is compared
            self._lost = True
        return not self._lost

    def _sample(self, drawn: Sequence[Repaint]) -> None:
        if self._away():
            self._forget_picture()
            return
        if not drawn:
            return
        size = self._link.size()
        if self._known is None or self._known.size != (size.width, size.height):
            self._forget_picture()
            self._known = Image.new("L", (size.width, size.height))  # so all counts as changed once
        screen = Box.whole(size)
        for place in _places([_to_whole_tiles(one.box, screen) for one in drawn]):
            tiles = self._changed_tiles(place, self._known)
            if len(tiles) * TILE * TILE > LARGEST * screen.area:
                self._rhythms.forget()
            elif tiles:
                self._learn(tiles, [one for one in drawn if place.intersects(one.box)])
        if self._away():  # a person may have got the screen meanwhile
            self._forget_picture()

    def _forget_picture(self) -> None:
        self._known = None
        self._rhythms.forget()

    def _changed_tiles(self, box: Box, known: Image.Image) -> set[Tile]:
        """Capture a place; return its tiles whose brightness changed."""
        if box.width <= 0 or box.height <= 0:
            return set()
        now = self._taken(box)
        place = box.left, box.top, box.right, box.bottom
        strong = mask_at_least(ImageChops.difference(now, known.crop(place)), LEAST_CHANGE)
        known.paste(now, place)
        squares = strong.reduce(TILE)
        first, top, across = box.left // TILE, box.top // TILE, squares.width
        marks = enumerate(squares.tobytes())
        return {(first + number % across, top + number // across) for number, changed in marks if changed}

    def _learn(self, tiles: set[Tile], drawn: Sequence[Repaint]) -> None:
        """Record the changed tiles of a place, the tiles that were drawn together with them, and the times."""
        self._rhythms.forget_outgrown(tiles)
        things = [squares(one.box) for one in drawn if one.box.width <= MOST_WIDTH and one.box.height <= MOST_HEIGHT]
        for own, times_ns in _grouped_by_repaint(tiles.union(*(thing for thing in things if thing & tiles)), drawn):
            first_s, last_s = times_ns[0] / 1e9, times_ns[-1] / 1e9
            ours = self._acted_s <= first_s and last_s < self._looked_s
            alone, untouched = first_s >= self._alone_from_s, self._acted_s == -math.inf
            self._rhythms.drawn(own, first_s, last_s, alone=alone, ours=ours, untouched=untouched)
            if self._known is not None:
                box = around(own)
                self._shapes.note(box, self._known.crop(box.corners))

    def _taken(self, box: Box) -> Image.Image:
        size = box.width, box.height
        # The bytes are read as RGB although blue comes first: the brightness need not be exact, and this saves a copy.
        return Image.frombuffer("RGBX", size, self._link.pixels(box), "raw", "RGBX", 0, 1).convert("L")


def _to_whole_tiles(box: Box, screen: Box) -> Box:
    """Return a box grown to whole tiles, cut to the screen."""
    left, top = max(0, box.left // TILE * TILE), max(0, box.top // TILE * TILE)
    right, bottom = min(screen.right, -(-box.right // TILE) * TILE), min(screen.bottom, -(-box.bottom // TILE) * TILE)
    return Box(left, top, max(0, right - left), max(0, bottom - top))


def _places(boxes: Sequence[Box]) -> list[Box]:
    """Join overlapping boxes, so that two clocks in two corners stay two places.

    Returns one box around all if more than ``MOST_PLACES`` remain.
    """
    found: list[Box] = []
    for box in boxes:
        grown = box
        while touched := [other for other in found if grown.intersects(other)]:
            found = [other for other in found if other not in touched]
            grown = Box.around([grown, *touched])
        found.append(grown)
    return found if len(found) <= MOST_PLACES else [Box.around(found)]


def _grouped_by_repaint(tiles: set[Tile], drawn: Sequence[Repaint]) -> list[tuple[set[Tile], list[int]]]:
    """Group tiles by the smallest repaint around them.

    Returns each group with the times, in nanoseconds, of repaints of similar size at that place.
    """
    left, found = set(tiles), []
    for one in sorted(drawn, key=lambda one: one.box.area):
        if left and (own := _tiles_of(left, one.box)):
            left -= own
            most = MOST_SIZE_RATIO * one.box.area
            alike = [other.at_ns for other in drawn if other.box.area <= most and one.box.intersects(other.box)]
            found.append((own, alike))
    return sorted(found, key=lambda part: part[1][-1])


def _tiles_of(tiles: set[Tile], box: Box) -> set[Tile]:
    """Return the tiles that a box touches."""
    left, top = box.left // TILE, box.top // TILE
    right, bottom = -(-box.right // TILE), -(-box.bottom // TILE)
    return {(x, y) for x, y in tiles if left <= x < right and top <= y < bottom}
