"""When a screen counts as settled: the decision alone, with artificial times."""

from __future__ import annotations

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop.capture.settle import Repaint, ScreenTimes, Settle, blinking_area, judge

MS = 1_000_000
BEGAN = 1_000 * MS
WHOLE, CARET = Box(0, 0, 1280, 800), Box(500, 300, 2, 20)
SCREEN = Size(1280, 800)


def at(now_ms: float, *repaints: tuple[float, Box], **known: object) -> ScreenTimes:
    drawn = tuple(Repaint(BEGAN + round(ms * MS), box) for ms, box in repaints)
    times = {name: BEGAN + round(value * MS) if name.endswith("_ns") else value for name, value in known.items()}
    return ScreenTimes(BEGAN + round(now_ms * MS), BEGAN, SCREEN, drawn, **times)


def test_a_screen_without_repaints_is_ready_at_once():
    verdict = judge(Settle(), at(0))
    assert (verdict.ready, verdict.settled, verdict.last_repaint_ns) == (True, True, None)


def test_the_screen_must_be_quiet_for_a_while_after_a_repaint():
    assert judge(Settle(), at(30, (0, WHOLE))).wait_ns == 20 * MS
    assert judge(Settle(), at(50, (0, WHOLE))).ready


def test_after_a_gesture_the_first_change_is_awaited_for_a_limited_time():
    known = {"acted_ns": 0, "was_pinged": True, "answered_ns": 1}
    assert judge(Settle(), at(100, **known)).wait_ns == 200 * MS
    assert judge(Settle(), at(300, **known)).ready


def test_a_repaint_before_the_gesture_is_not_its_effect():
    known = {"acted_ns": 0, "was_pinged": True, "answered_ns": 1}
    assert judge(Settle(), at(100, (-1, WHOLE), **known)).wait_ns == 200 * MS


def test_a_program_that_has_not_answered_a_ping_is_busy_on_a_quiet_screen():
    busy = at(1500, (1, WHOLE), acted_ns=0, was_pinged=True)
    assert not judge(Settle(), busy).ready
    given_up = judge(Settle(), at(15_000, (1, WHOLE), acted_ns=0, was_pinged=True))
    assert (given_up.ready, given_up.settled) == (True, False)


def test_after_the_ping_answer_there_is_time_to_draw():
    late = at(1501, (1, WHOLE), acted_ns=0, was_pinged=True, answered_ns=1500)
    assert judge(Settle(), late).wait_ns == 49 * MS


def test_a_program_that_cannot_be_pinged_gets_a_longer_quiet_time():
    assert judge(Settle(), at(100, (1, WHOLE), acted_ns=0)).wait_ns == 51 * MS


def test_a_screen_that_never_settles_is_captured_at_the_cap_and_reported_unsettled():
    frames = [(ms, WHOLE) for ms in range(0, 2000, 16)]
    assert not judge(Settle(), at(1990, *frames)).ready
    verdict = judge(Settle(), at(2000, *frames))
    assert (verdict.ready, verdict.settled) == (True, False)


def test_a_caret_does_not_prevent_settling():
    blinks = [(ms, CARET) for ms in range(0, 300, 40)]
    verdict = judge(Settle(), at(290, *blinks))
    assert (verdict.ready, verdict.settled) == (True, True)


def test_a_change_elsewhere_is_awaited_despite_a_caret():
    blinks = [(ms, CARET) for ms in range(0, 300, 40)]
    assert not judge(Settle(), at(300, *blinks, (299, WHOLE))).ready


def test_one_small_change_is_not_a_caret():
    assert not judge(Settle(), at(10, (0, CARET))).ready
    burst = [(ms, CARET) for ms in range(0, 40, 2)]  # typing: many repaints in quick succession
    assert not judge(Settle(), at(41, *burst)).ready


def test_a_large_spinner_is_not_a_caret():
    spins = [Repaint(ms * MS, Box(100, 100, 300, 300)) for ms in range(0, 600, 20)]
    assert blinking_area(spins, since_ns=0, size=SCREEN) is None


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["quiet_s", "unasked_quiet_s", "first_change_s", "cap_s", "patience_s", "asleep_s"])
def test_waiting_times_must_be_nonnegative_numbers(name, value):
    with pytest.raises(InvalidUsage, match=name):
        Settle(**{name: value})


def test_a_screen_whose_programs_sleep_is_ready_after_a_moment():
    known = {"acted_ns": 0, "was_pinged": True, "answered_ns": 2, "asleep_ns": 3, "until_ns": 5000}
    assert judge(Settle(), at(8, (1, WHOLE), **known)).wait_ns == 5 * MS
    verdict = judge(Settle(), at(13, (1, WHOLE), **known))
    assert (verdict.ready, verdict.settled) == (True, True)


def test_no_first_change_is_awaited_from_sleeping_programs():
    assert judge(Settle(), at(13, acted_ns=0, asleep_ns=3, until_ns=5000)).ready


def test_a_program_that_will_wake_before_the_capture_is_awaited():
    known = {"acted_ns": 0, "was_pinged": True, "answered_ns": 2, "asleep_ns": 3}
    assert judge(Settle(), at(20, (1, WHOLE), **known, until_ns=51)).wait_ns == 32 * MS
    assert judge(Settle(), at(20, (1, WHOLE), **known, until_ns=52)).ready


def test_a_busy_program_is_awaited_even_if_all_processes_sleep():
    known = {"acted_ns": 0, "was_pinged": True, "asleep_ns": 3, "until_ns": 5000}
    assert not judge(Settle(), at(100, (1, WHOLE), **known)).ready
