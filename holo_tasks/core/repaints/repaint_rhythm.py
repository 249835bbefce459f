"""Learn which regions of a screen keep repainting themselves: a clock, a spinner, a caret, a banner, a video.

A region is learned only while the agent sends no input, and counts only as long as it keeps its pace and place.
Otherwise it is forgotten. A repaint after a silence, out of turn, or together with a larger area has another cause.

A region that an earlier process saw repainting needs fewer repaints, but never none; see `RepaintHistory.expect`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from holo_tasks.core.screen.geometry import Box

TILE = 8
"""Repaints are tracked in square tiles of this many pixels, counted from the corner of the screen."""
TIMES, ALONE = 4, 2
"""Repaints at one pace, and repaints among them without input by the agent, after which a tile counts as learned."""
SLOWEST_S, SWIFT_S, SAME_S = 1.6, 0.25, 0.05
"""Limits in seconds: the slowest pace that is learned, the pace too fast to be read, and the gap of a single repaint.

A slower region is a refreshed list or a slide show. Repaints at most ``SAME_S`` apart count as one.
"""
EARLY, LATE, LEAST_S = 0.5, 2.0, 0.4
"""A repaint must come between ``EARLY`` and ``LATE`` times the pace after the last one.

The pace counts as at least ``LEAST_S`` seconds, because a busy machine may draw nothing for a moment.
"""
LAG_S = 0.2
"""Largest delay in seconds between a repaint and its notification."""
SOON, TARDY = 0.7, 1.4
"""Bounds of the first gap at a place from an earlier process, as multiples of the earlier pace."""
FULL = 0.5
"""Least share of a box that must repaint. Otherwise the box has something else in it."""
NEAR = 2
"""Tiles up to this many columns and rows apart belong together: one tile may lie between them."""
MOST = 8192
"""Most tiles that are tracked: a quarter of a large screen."""

Tile = tuple[int, int]


class TileHistory(NamedTuple):
    """The repaint history of a tile: its last repaint, its pace, and its repaint count, in total and without input.

    ``since_s`` is the time from which it counts as learned. ``began_s`` is the time from which its pace is proven, once
    it is learned. ``known_s`` is the pace that an earlier process learned at its place, or 0.
    """

    last_s: float
    pace_s: float = 0.0
    times: int = 1
    alone: int = 0
    since_s: float = math.inf
    began_s: float = math.inf
    known_s: float = 0.0

    @classmethod
    def known(cls, last_s: float, pace_s: float, *, alone: bool) -> TileHistory:
        """Return the history after a first repaint at a place that an earlier process knows."""
        return cls(last_s, alone=alone, began_s=last_s, known_s=pace_s)

    def next(self, first_s: float, last_s: float, *, alone: bool, ours: bool) -> TileHistory:
        """Return the history after more repaints; it starts anew if they break the pace.

        Repaints that the agent may have caused (``ours``), such as those of a pressed window, are ignored if they come
        too early.
        """
        gap_s = first_s - self.last_s
        if last_s - self.last_s < SAME_S or (ours and gap_s < EARLY * max(self.pace_s, LEAST_S) and self.pace_s):
            return self
        if gap_s > SLOWEST_S or not self._in_turn(gap_s):
            return TileHistory(last_s, alone=alone)
        gap_s = max(gap_s, SAME_S)
        pace_s = (3 * self.pace_s + gap_s) / 4 if self.pace_s else gap_s
        times, by_itself = min(self.times + 1, TIMES), min(self.alone + alone, ALONE)
        # A fast region is learned soon enough anyway, and a single change may be drawn in several repaints.
        slow = min(self.known_s or pace_s, pace_s) >= LEAST_S
        learned = by_itself == ALONE and (times == TIMES or (self.known_s > 0 and slow))
        began_s = min(self.began_s, last_s)
        proven_s = began_s if slow else last_s
        since_s = min(self.since_s, proven_s) if learned else math.inf
        return TileHistory(last_s, pace_s, times, by_itself, since_s, began_s, self.known_s)

    def _in_turn(self, gap_s: float) -> bool:
        """Return whether a gap fits the pace: its own or, for the first gap, the pace from an earlier process."""
        first, last, pace_s = (EARLY, LATE, self.pace_s) if self.pace_s else (SOON, TARDY, self.known_s)
        usual_s = max(pace_s, LEAST_S)
        return not pace_s or first * usual_s <= max(gap_s, LEAST_S) <= last * usual_s

    def likely_steady(self, since_s: float) -> bool:
        """Return whether a few more repaints could prove that it has kept its pace since before a moment."""
        slow = (self.known_s or self.pace_s) >= LEAST_S
        return slow and self.since_s == math.inf and self.began_s <= since_s

    def late(self, now_s: float) -> bool:
        """Return whether it has been silent for too long to continue as before."""
        return now_s - self.last_s > LATE * (max(self.pace_s, LEAST_S) if self.pace_s else SLOWEST_S) + LAG_S


@dataclass
class _Run:
    """Adjacent tiles of one row."""

    row: int
    first: int
    last: int
    tiles: list[Tile]


_first, _last = attrgetter("first"), attrgetter("last")


@dataclass(frozen=True)
class RepaintingArea:
    """A box that keeps repainting itself, with a rim of one tile. ``swift`` means too fast to be read.

    ``last_s`` is the time of its last repaint. ``varied`` says that it keeps changing its shape.
    """

    box: Box
    swift: bool = False
    last_s: float = 0.0
    varied: bool = False


class RepaintHistory:
    """The repaint history of one screen."""

    def __init__(self) -> None:
        self._beats: dict[Tile, TileHistory] = {}
        self._expected: dict[Tile, float] = {}
        self._places: list[tuple[frozenset[Tile], float]] = []
        self._expecting_since_s = 0.0
        self._together: tuple[frozenset[Tile], list[list[Tile]]] = (frozenset(), [])

    def forget(self) -> None:
        """Forget everything, because windows or their contents moved."""
        self._beats.clear()
        self._expected.clear()

    def expect(self, places: Iterable[tuple[Box, float]], now_s: float) -> None:
        """Take over the places, in whole tiles, and their paces in seconds from an earlier process.

        At such a place, one gap at the known pace proves as much as four repaints elsewhere. A place that stays silent
        longer than its pace, or repaints out of turn, is not expected any more.
        """
        self._places = [(frozenset(squares(box)), pace_s) for box, pace_s in places]
        self._expected = {tile: pace_s for tiles, pace_s in self._places for tile in tiles}
        self._expecting_since_s = now_s

    def awaited(self, now_s: float) -> bool:
        """Return whether a place from an earlier process may still continue, but has not proven it yet."""
        for tiles, pace_s in self._places:
            if tiles <= self._expected.keys() and not self._overdue(pace_s, now_s):
                return True
        swift = {beat for beat in self._beats.values() if 0 < beat.known_s < LEAST_S}
        return any(beat.since_s == math.inf and not beat.late(now_s) for beat in swift)

    def forget_outgrown(self, tiles: Iterable[Tile]) -> None:
        """Forget places that were repainted together with a larger area than before: their content has changed."""
        changed = frozenset(tiles)
        whole = around(changed)
        known = (tile for tile, beat in self._beats.items() if beat.pace_s or beat.known_s)
        going = self._pieces(frozenset(known) | self._expected.keys())
        for place in [place for piece in going if whole.intersects(place := around(piece))]:
            inside = place.grown(TILE)
            if not inside.encloses(whole) and any(
                box.intersects(place) and not inside.encloses(box) for box in map(around, pieces(changed))
            ):
                self._drop(place)

    def drawn(
        self,
        tiles: Iterable[Tile],
        first_s: float,
        last_s: float,
        *,
        alone: bool,
        ours: bool = False,
        untouched: bool = False,
    ) -> None:
        """Record the tiles repainted between two moments, once or at short intervals.

        ``alone`` says that the agent sent no input then. ``ours`` says that the repaint came before a capture that
        followed the agent's input. ``untouched`` says that this process has sent no input at all, which suffices at an
        expected place.
        """
        following: dict[TileHistory | None, TileHistory] = {None: TileHistory(last_s, alone=alone)}
        for tile in tiles:
            beat, pace_s = self._beats.get(tile), self._expected.pop(tile, 0.0)
            if beat is None and pace_s and not self._overdue(pace_s, first_s):
                self._beats[tile] = TileHistory.known(last_s, pace_s, alone=alone or untouched)
                continue
            if beat is not None and beat not in following:  # most tiles share the same history
                by_itself = alone or (untouched and beat.known_s > 0)
                following[beat] = beat.next(first_s, last_s, alone=by_itself, ours=ours)
            self._beats[tile] = following[beat]
        late = {beat for beat in set(self._beats.values()) if beat.late(last_s)}
        if late:
            self._beats = {tile: beat for tile, beat in self._beats.items() if beat not in late}
        if len(self._beats) > MOST:
            self.forget()

    def steady(self, since_s: float, now_s: float) -> tuple[RepaintingArea, ...]:
        """Return the learned regions that kept their pace and place from before a moment until now."""
        return self._stirs(lambda beat: beat.since_s <= since_s and not beat.late(now_s))

    def likely_steady(self, since_s: float, now_s: float) -> tuple[RepaintingArea, ...]:
        """Return the regions of `steady`, and those that may soon join them."""
        return self._stirs(
            lambda beat: (beat.since_s <= since_s or beat.likely_steady(since_s)) and not beat.late(now_s)
        )

    def learned(self, now_s: float) -> list[tuple[Box, float]]:
        """Return the learned places, in whole tiles, and their paces in seconds, for the next process."""
        found = frozenset(tile for tile, beat in self._beats.items() if beat.since_s <= now_s and not beat.late(now_s))
        full = [piece for piece in self._pieces(found) if _is_full(piece)]
        return [(around(piece), median(self._beats[tile].pace_s for tile in piece)) for piece in full]

    def _stirs(self, counts: Callable[[TileHistory], bool]) -> tuple[RepaintingArea, ...]:
        found = frozenset(tile for tile, beat in self._beats.items() if counts(beat))
        return tuple(
            RepaintingArea(
                around(piece).grown(TILE),
                all(self._beats[tile].pace_s <= SWIFT_S for tile in piece),
                max(self._beats[tile].last_s for tile in piece),
            )
            for piece in self._pieces(found)
            if _is_full(piece)
        )

    def _overdue(self, pace_s: float, now_s: float) -> bool:
        return now_s - self._expecting_since_s > TARDY * max(pace_s, LEAST_S) + LAG_S

    def _pieces(self, tiles: frozenset[Tile]) -> list[list[Tile]]:
        """Return the result of `pieces`, which is mostly the same as the last time and therefore cached."""
        if tiles != self._together[0]:
            self._together = tiles, list(pieces(tiles))
        return self._together[1]

    def _drop(self, place: Box) -> None:
        for known in (self._beats, self._expected):
            for tile in [tile for tile in known if place.encloses(around([tile]))]:
                del known[tile]


def pieces(tiles: frozenset[Tile]) -> Iterator[list[Tile]]:
    """Yield groups of tiles. Neighbors in a group have at most one tile between them."""
    rows: dict[int, list[_Run]] = {}
    for x, y in sorted(tiles):
        runs = rows.setdefault(y, [])
        if runs and x - runs[-1].last <= NEAR:
            runs[-1].last = x
            runs[-1].tiles.append((x, y))
        else:
            runs.append(_Run(y, x, x, [(x, y)]))
    left = {id(run): run for runs in rows.values() for run in runs}
    while left:
        found = [left.popitem()[1]]
        for run in found:
            for row in range(run.row - NEAR, run.row + NEAR + 1):
                runs = rows.get(row, [])
                begin = bisect_left(runs, run.first - NEAR, key=_last)
                end = bisect_right(runs, run.last + NEAR, key=_first)
                found += [left.pop(id(other)) for other in runs[begin:end] if id(other) in left]
        yield [tile for run in found for tile in run.tiles]


def around(tiles: Iterable[Tile]) -> Box:
    """Return the box around some tiles, in pixels."""
    columns, rows = zip(*tiles, strict=True)
    left, top = min(columns) * TILE, min(rows) * TILE
    return Box.of_corners(left, top, (max(columns) + 1) * TILE, (max(rows) + 1) * TILE)


def squares(box: Box) -> set[Tile]:
    """Return the tiles that a box touches."""
    columns = range(max(0, box.left) // TILE, -(-box.right // TILE))
    return {(x, y) for x in columns for y in range(max(0, box.top) // TILE, -(-box.bottom // TILE))}


def _is_full(piece: list[Tile]) -> bool:
    box = around(piece)
    return len(piece) * TILE * TILE >= FULL * box.width * box.height
