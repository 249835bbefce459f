"""What keeps to a pace of its own is told from what does not: with made-up times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.geometry import Box
from holo_tasks.core.repaint_rhythm import LAG_S, LATE, LEAST_S, MOST, SLOWEST_S, TILE, Rhythms, Tile, around, pieces

CLOCK = frozenset({(10, 5), (11, 5), (12, 5)})
PLACE = Box(72, 32, 40, 24)


def ticked(times: list[float], *, alone: bool = True, tiles: frozenset[Tile] = CLOCK) -> Rhythms:
    found = Rhythms()
    for at_s in times:
        found.drawn(tiles, at_s, at_s, alone=alone)
    return found


def boxes(rhythms: Rhythms, now_s: float, since_s: float | None = None) -> list[Box]:
    return [stir.box for stir in rhythms.steady(now_s if since_s is None else since_s, now_s)]


def test_a_clock_is_learned_at_its_fourth_tick_and_for_frames_after_its_second() -> None:
    assert boxes(ticked([1, 2, 3]), 3) == []
    four = ticked([1, 2, 3, 4])
    assert boxes(four, 4) == [PLACE]
    assert boxes(four, 4.5, since_s=2) == [PLACE]
    assert boxes(four, 4.5, since_s=1.9) == []


def test_a_swift_thing_is_learned_only_for_frames_after_its_fourth_repaint() -> None:
    film = ticked([1, 1.1, 1.2, 1.3])
    assert boxes(film, 1.4) == [PLACE]
    assert boxes(film, 1.4, since_s=1.29) == []


def test_it_counts_for_as_long_as_it_goes_on_and_not_after_silence() -> None:
    clock = ticked([1, 2, 3, 4])
    assert boxes(clock, 4 + LATE) == [PLACE]
    assert boxes(clock, 4 + LATE + 2 * LAG_S) == []
    clock.drawn(CLOCK, 300, 300, alone=True)
    assert boxes(clock, 300) == []


def test_what_comes_out_of_turn_ends_it_also_for_frames_of_before() -> None:
    clock = ticked([1, 2, 3, 4, 5])
    clock.drawn(CLOCK, 5.3, 5.3, alone=True)
    assert boxes(clock, 5.3, since_s=4.5) == []
    for at_s in (6, 7, 8, 9):
        clock.drawn(CLOCK, at_s, at_s, alone=True)
    assert boxes(clock, 9, since_s=4.5) == []
    assert boxes(clock, 9) == [PLACE]


def test_two_repaints_at_once_are_one() -> None:
    assert boxes(ticked([1, 1.01, 2, 2.02, 3, 3.01, 4]), 4) == [PLACE]
    assert boxes(ticked([1, 1.01, 1.02, 1.03, 1.04]), 1.1) == []


def test_repaints_that_were_looked_at_together_count_once_and_are_no_silence() -> None:
    film = ticked([1, 1.1, 1.2])
    film.drawn(CLOCK, 1.3, 2.9, alone=True)
    film.drawn(CLOCK, 3.0, 3.0, alone=True)
    assert boxes(film, 3, since_s=2.95) == [PLACE]
    gone = ticked([1, 1.1, 1.2])
    gone.drawn(CLOCK, 2.9, 2.9, alone=True)
    assert boxes(gone, 3) == []


def test_what_is_repainted_only_while_we_act_is_never_learned() -> None:
    clock = ticked([1, 2, 3, 4, 5, 6], alone=False)
    assert boxes(clock, 6) == []
    clock.drawn(CLOCK, 7, 7, alone=True)
    assert boxes(clock, 7) == []
    clock.drawn(CLOCK, 8, 8, alone=True)
    assert boxes(clock, 8) == [PLACE]


@pytest.mark.parametrize("pace_s", [SLOWEST_S + 0.1, 3.0, 60.0])
def test_what_is_read_anew_now_and_then_is_no_clock(pace_s: float) -> None:
    times = [1 + n * pace_s for n in range(20)]
    assert boxes(ticked(times), times[-1]) == []


@given(st.lists(st.floats(0.06, 5), min_size=4, max_size=12))
def test_no_gap_is_longer_than_twice_the_one_before_and_a_bit(gaps: list[float]) -> None:
    times = [1.0]
    for gap in gaps:
        times.append(times[-1] + gap)
    if boxes(ticked(times), times[-1]):
        assert max(gaps[-3:]) <= LATE * max(LEAST_S, *gaps[-4:-1])


def test_only_what_is_swift_is_said_to_be() -> None:
    [clock] = ticked([1, 2, 3, 4]).steady(4, 4)
    [film] = ticked([1 + n / 10 for n in range(8)]).steady(1.7, 1.7)
    assert (clock.swift, film.swift) == (False, True)


def test_a_repaint_of_more_than_its_place_ends_it() -> None:
    scrolled = frozenset((x, y) for x in range(4, 40) for y in range(2, 12))
    clock = ticked([1, 2, 3, 4])
    clock.outgrown(scrolled)
    clock.drawn(scrolled, 5, 5, alone=True)
    assert boxes(clock, 5, since_s=4) == []
    elsewhere = ticked([1, 2, 3, 4])
    elsewhere.outgrown({(50, 50), (51, 50), *CLOCK})
    elsewhere.drawn(frozenset({(50, 50)}), 4.4, 4.4, alone=True)
    assert boxes(elsewhere, 5) == [PLACE]


def test_a_place_of_which_little_is_repainted_is_left_alone() -> None:
    frame = frozenset((x, y) for x in range(20) for y in range(20) if x in (0, 19) or y in (0, 19))
    assert boxes(ticked([1, 2, 3, 4], tiles=frame), 4) == []


def test_what_is_known_is_bounded() -> None:
    found = Rhythms()
    for number in range(2 * MOST // 300):
        found.drawn({(x, number) for x in range(300)}, 1, 1, alone=True)
        assert len(found._beats) <= MOST
    assert len(found._beats) < 300 * number


def test_squares_with_more_than_one_between_are_of_different_things() -> None:
    found = sorted(sorted(piece) for piece in pieces(frozenset({(1, 1), (3, 1), (6, 1), (6, 2)})))
    assert found == [[(1, 1), (3, 1)], [(6, 1), (6, 2)]]
    assert TILE == 8


@given(st.frozensets(st.tuples(st.integers(0, 11), st.integers(0, 7)), max_size=40))
def test_whatever_is_repainted_is_put_together_by_what_is_near(tiles: frozenset[Tile]) -> None:
    found = [set(piece) for piece in pieces(tiles)]
    assert sorted(tile for piece in found for tile in piece) == sorted(tiles), "each once"
    for piece in found:
        reached = [min(piece)]
        for x, y in reached:
            reached += [(a, b) for a, b in piece - {*reached} if abs(a - x) <= 2 and abs(b - y) <= 2]
        assert set(reached) == piece, "from each one gets to all others"
        others = tiles - piece
        assert not any(abs(a - x) <= 2 and abs(b - y) <= 2 for x, y in piece for a, b in others)


def expecting(times: list[float], *, pace_s: float = 1.0, alone: bool = False, untouched: bool = True) -> Rhythms:
    """Return what is known of repaints at a place that an earlier process learned; this one began at 0."""
    found = Rhythms()
    found.expect([(around(CLOCK), pace_s)], 0)
    for at_s in times:
        found.drawn(CLOCK, at_s, at_s, alone=alone, untouched=untouched)
    return found


def test_one_gap_at_the_pace_of_an_earlier_process_proves_a_clock_from_its_first_tick_on() -> None:
    assert boxes(expecting([0.5]), 1) == []
    clock = expecting([0.5, 1.5])
    assert boxes(clock, 1.6, since_s=0.5) == [PLACE]
    assert boxes(clock, 1.6, since_s=0.49) == []
    assert boxes(clock, 4.0, since_s=0.5) == [], "it is silent"


@pytest.mark.parametrize(
    "times",
    [
        [0.5, 0.6],  # one change that is drawn in two parts
        [0.5, 1.1],
        [0.5, 2.0],
        [1.7, 2.7],  # a clock would have ticked before
        [300.0, 301.0],
    ],
)
def test_what_is_repainted_otherwise_than_the_earlier_process_saw_is_not_known(times: list[float]) -> None:
    assert boxes(expecting(times), times[-1]) == []


def test_a_known_clock_that_ticks_while_we_act_is_not_proven_by_that() -> None:
    assert boxes(expecting([0.5, 1.5], untouched=False), 1.5) == []
    assert boxes(expecting([0.5, 1.5], untouched=False, alone=True), 1.5) == [PLACE]


def test_what_an_earlier_process_learned_is_used_once() -> None:
    clock = expecting([0.5, 0.6])
    clock.drawn(CLOCK, 1.6, 1.6, alone=True)
    clock.drawn(CLOCK, 2.6, 2.6, alone=True)
    assert boxes(clock, 2.6) == []


def test_a_known_film_needs_four_repaints_before_the_frame_as_any_other() -> None:
    film = expecting([0.1, 0.2, 0.3], pace_s=0.1)
    assert boxes(film, 0.3) == []
    film.drawn(CLOCK, 0.4, 0.4, alone=False, untouched=True)
    assert boxes(film, 0.5) == [PLACE]
    assert boxes(film, 0.5, since_s=0.35) == []


def test_a_known_place_that_is_repainted_with_more_than_itself_is_forgotten() -> None:
    clock = expecting([])
    page = frozenset((x, y) for x in range(4, 40) for y in range(2, 12))
    clock.outgrown(page)
    clock.drawn(page, 0.5, 0.5, alone=False, untouched=True)
    clock.drawn(CLOCK, 1.5, 1.5, alone=False, untouched=True)
    assert boxes(clock, 1.5) == []


def test_windows_that_move_end_what_an_earlier_process_learned() -> None:
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
    assert not Rhythms().awaited(0)


def test_only_a_clock_that_came_back_once_before_the_frame_promises_to_be_one() -> None:
    clock = ticked([1, 2, 3])
    assert [stir.box for stir in clock.promising(2.0, 3.1)] == [PLACE]
    assert clock.promising(1.9, 3.1) == ()
    assert clock.promising(2.0, 6) == ()
    assert ticked([1, 1.1, 1.2]).promising(1.2, 1.3) == (), "a film is learned in time"
    assert [stir.box for stir in expecting([0.5]).promising(0.5, 1.0)] == [PLACE]
    assert expecting([0.5]).promising(0.4, 1.0) == ()


def test_what_is_learned_is_told_with_its_pace() -> None:
    assert ticked([1, 2, 3, 4]).learned(4) == [(around(CLOCK), 1.0)]
    assert ticked([1, 2, 3]).learned(3) == []
    assert ticked([1, 2, 3, 4]).learned(9) == []
