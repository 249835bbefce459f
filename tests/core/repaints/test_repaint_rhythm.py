"""Places that repaint at their own pace are learned, and others are not. The times are made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.repaints.repaint_rhythm import (
    LAG_S,
    LATE,
    LEAST_S,
    MOST,
    SLOWEST_S,
    TILE,
    RepaintHistory,
    Tile,
    around,
    pieces,
)
from holo_tasks.core.screen.geometry import Box

CLOCK = frozenset({(10, 5), (11, 5), (12, 5)})
PLACE = Box(72, 32, 40, 24)


def ticked(times: list[float], *, alone: bool = True, tiles: frozenset[Tile] = CLOCK) -> RepaintHistory:
    found = RepaintHistory()
    for at_s in times:
        found.drawn(tiles, at_s, at_s, alone=alone)
    return found


def boxes(rhythms: RepaintHistory, now_s: float, since_s: float | None = None) -> list[Box]:
    return [area.box for area in rhythms.steady(now_s if since_s is None else since_s, now_s)]


def test_a_clock_is_learned_at_its_fourth_tick_for_frames_after_the_second() -> None:
    assert boxes(ticked([1, 2, 3]), 3) == []
    four = ticked([1, 2, 3, 4])
    assert boxes(four, 4) == [PLACE]
    assert boxes(four, 4.5, since_s=2) == [PLACE]
    assert boxes(four, 4.5, since_s=1.9) == []


def test_a_fast_place_is_learned_only_for_frames_after_the_fourth_repaint() -> None:
    film = ticked([1, 1.1, 1.2, 1.3])
    assert boxes(film, 1.4) == [PLACE]
    assert boxes(film, 1.4, since_s=1.29) == []


def test_a_place_counts_until_it_falls_silent() -> None:
    clock = ticked([1, 2, 3, 4])
    assert boxes(clock, 4 + LATE) == [PLACE]
    assert boxes(clock, 4 + LATE + 2 * LAG_S) == []
    clock.drawn(CLOCK, 300, 300, alone=True)
    assert boxes(clock, 300) == []


def test_a_repaint_out_of_turn_ends_it_even_for_earlier_frames() -> None:
    clock = ticked([1, 2, 3, 4, 5])
    clock.drawn(CLOCK, 5.3, 5.3, alone=True)
    assert boxes(clock, 5.3, since_s=4.5) == []
    for at_s in (6, 7, 8, 9):
        clock.drawn(CLOCK, at_s, at_s, alone=True)
    assert boxes(clock, 9, since_s=4.5) == []
    assert boxes(clock, 9) == [PLACE]


def test_simultaneous_repaints_count_once() -> None:
    assert boxes(ticked([1, 1.01, 2, 2.02, 3, 3.01, 4]), 4) == [PLACE]
    assert boxes(ticked([1, 1.01, 1.02, 1.03, 1.04]), 1.1) == []


def test_repaints_reported_together_count_once_and_are_no_silence() -> None:
    film = ticked([1, 1.1, 1.2])
    film.drawn(CLOCK, 1.3, 2.9, alone=True)
    film.drawn(CLOCK, 3.0, 3.0, alone=True)
    assert boxes(film, 3, since_s=2.95) == [PLACE]
    gone = ticked([1, 1.1, 1.2])
    gone.drawn(CLOCK, 2.9, 2.9, alone=True)
    assert boxes(gone, 3) == []


def test_repaints_only_during_input_are_never_learned() -> None:
    clock = ticked([1, 2, 3, 4, 5, 6], alone=False)
    assert boxes(clock, 6) == []
    clock.drawn(CLOCK, 7, 7, alone=True)
    assert boxes(clock, 7) == []
    clock.drawn(CLOCK, 8, 8, alone=True)
    assert boxes(clock, 8) == [PLACE]


@pytest.mark.parametrize("pace_s", [SLOWEST_S + 0.1, 3.0, 60.0])
def test_a_rarely_refreshed_place_is_not_learned(pace_s: float) -> None:
    times = [1 + n * pace_s for n in range(20)]
    assert boxes(ticked(times), times[-1]) == []


@given(st.lists(st.floats(0.06, 5), min_size=4, max_size=12))
def test_a_learned_place_has_no_gap_over_twice_the_previous_one(gaps: list[float]) -> None:
    times = [1.0]
    for gap in gaps:
        times.append(times[-1] + gap)
    if boxes(ticked(times), times[-1]):
        assert max(gaps[-3:]) <= LATE * max(LEAST_S, *gaps[-4:-1])


def test_only_fast_places_are_marked_as_swift() -> None:
    [clock] = ticked([1, 2, 3, 4]).steady(4, 4)
    [film] = ticked([1 + n / 10 for n in range(8)]).steady(1.7, 1.7)
    assert (clock.swift, film.swift) == (False, True)


def test_a_repaint_of_a_larger_area_ends_it() -> None:
    scrolled = frozenset((x, y) for x in range(4, 40) for y in range(2, 12))
    clock = ticked([1, 2, 3, 4])
    clock.forget_outgrown(scrolled)
    clock.drawn(scrolled, 5, 5, alone=True)
    assert boxes(clock, 5, since_s=4) == []
    elsewhere = ticked([1, 2, 3, 4])
    elsewhere.forget_outgrown({(50, 50), (51, 50), *CLOCK})
    elsewhere.drawn(frozenset({(50, 50)}), 4.4, 4.4, alone=True)
    assert boxes(elsewhere, 5) == [PLACE]


def test_a_sparsely_repainted_box_is_not_learned() -> None:
    frame = frozenset((x, y) for x in range(20) for y in range(20) if x in (0, 19) or y in (0, 19))
    assert boxes(ticked([1, 2, 3, 4], tiles=frame), 4) == []


def test_the_number_of_tracked_tiles_is_limited() -> None:
    found = RepaintHistory()
    for number in range(2 * MOST // 300):
        found.drawn({(x, number) for x in range(300)}, 1, 1, alone=True)
        assert len(found._beats) <= MOST
    assert len(found._beats) < 300 * number


def test_tiles_with_more_than_one_between_are_separate() -> None:
    found = sorted(sorted(piece) for piece in pieces(frozenset({(1, 1), (3, 1), (6, 1), (6, 2)})))
    assert found == [[(1, 1), (3, 1)], [(6, 1), (6, 2)]]
    assert TILE == 8


@given(st.frozensets(st.tuples(st.integers(0, 11), st.integers(0, 7)), max_size=40))
def test_tiles_are_grouped_by_distance(tiles: frozenset[Tile]) -> None:
    found = [set(piece) for piece in pieces(tiles)]
    assert sorted(tile for piece in found for tile in piece) == sorted(tiles), "each tile is in one group"
    for piece in found:
        reached = [min(piece)]
        for x, y in reached:
            reached += [(a, b) for a, b in piece - {*reached} if abs(a - x) <= 2 and abs(b - y) <= 2]
        assert set(reached) == piece, "each tile of a group is connected to all others"
        others = tiles - piece
        assert not any(abs(a - x) <= 2 and abs(b - y) <= 2 for x, y in piece for a, b in others)


def expecting(
    times: list[float], *, pace_s: float = 1.0, alone: bool = False, untouched: bool = True
) -> RepaintHistory:
    """Return the history of a process that started at 0 with a place that an earlier process learned."""
    found = RepaintHistory()
    found.expect([(around(CLOCK), pace_s)], 0)
    for at_s in times:
        found.drawn(CLOCK, at_s, at_s, alone=alone, untouched=untouched)
    return found


def test_one_gap_at_an_earlier_pace_proves_a_clock_from_its_first_tick() -> None:
    assert boxes(expecting([0.5]), 1) == []
    clock = expecting([0.5, 1.5])
    assert boxes(clock, 1.6, since_s=0.5) == [PLACE]
    assert boxes(clock, 1.6, since_s=0.49) == []
    assert boxes(clock, 4.0, since_s=0.5) == [], "the place has fallen silent"


@pytest.mark.parametrize(
    "times",
    [
        [0.5, 0.6],  # one change drawn in two parts
        [0.5, 1.1],
        [0.5, 2.0],
        [1.7, 2.7],  # a clock would have ticked earlier
        [300.0, 301.0],
    ],
)
def test_a_place_with_another_pace_than_before_is_not_proven(times: list[float]) -> None:
    assert boxes(expecting(times), times[-1]) == []


def test_ticks_during_input_do_not_prove_a_known_clock() -> None:
    assert boxes(expecting([0.5, 1.5], untouched=False), 1.5) == []
    assert boxes(expecting([0.5, 1.5], untouched=False, alone=True), 1.5) == [PLACE]


def test_a_hint_is_used_once() -> None:
    clock = expecting([0.5, 0.6])
    clock.drawn(CLOCK, 1.6, 1.6, alone=True)
    clock.drawn(CLOCK, 2.6, 2.6, alone=True)
    assert boxes(clock, 2.6) == []


def test_a_known_video_needs_four_repaints_before_the_frame() -> None:
    film = expecting([0.1, 0.2, 0.3], pace_s=0.1)
    assert boxes(film, 0.3) == []
    film.drawn(CLOCK, 0.4, 0.4, alone=False, untouched=True)
    assert boxes(film, 0.5) == [PLACE]
    assert boxes(film, 0.5, since_s=0.35) == []


def test_a_known_place_that_repaints_with_a_larger_area_is_forgotten() -> None:
    clock = expecting([])
    page = frozenset((x, y) for x in range(4, 40) for y in range(2, 12))
    clock.forget_outgrown(page)
    clock.drawn(page, 0.5, 0.5, alone=False, untouched=True)
    clock.drawn(CLOCK, 1.5, 1.5, alone=False, untouched=True)
    assert boxes(clock, 1.5) == []


def test_moving_windows_discard_the_hints() -> None:
    clock = expecting([])
    clock.forget()
    for at_s in (0.5, 1.5):
        clock.drawn(CLOCK, at_s, at_s, alone=False, untouched=True)
    assert boxes(clock, 1.5) == []
    assert not clock.awaited(0.1)


def test_a_known_place_is_waited_for_until_it_is_repainted_or_is_late() -> None:
    assert expecting([]).awaited(1.0)
    assert not expecting([]).awaited(1.7)
    assert not expecting([0.5]).awaited(0.6)
    assert expecting([0.1, 0.2], pace_s=0.1).awaited(0.3)
    assert not expecting([0.1, 0.2, 0.3, 0.4], pace_s=0.1).awaited(0.5)
    assert not RepaintHistory().awaited(0)


def test_only_a_clock_that_repainted_before_the_frame_is_promising() -> None:
    clock = ticked([1, 2, 3])
    assert [area.box for area in clock.likely_steady(2.0, 3.1)] == [PLACE]
    assert clock.likely_steady(1.9, 3.1) == ()
    assert clock.likely_steady(2.0, 6) == ()
    assert ticked([1, 1.1, 1.2]).likely_steady(1.2, 1.3) == (), "a video is learned soon enough"
    assert [area.box for area in expecting([0.5]).likely_steady(0.5, 1.0)] == [PLACE]
    assert expecting([0.5]).likely_steady(0.4, 1.0) == ()


def test_learned_places_are_returned_with_their_pace() -> None:
    assert ticked([1, 2, 3, 4]).learned(4) == [(around(CLOCK), 1.0)]
    assert ticked([1, 2, 3]).learned(3) == []
    assert ticked([1, 2, 3, 4]).learned(9) == []
