"""The wait on a screen that does not match ends after its time, and not before a few frames were looked at."""

from __future__ import annotations

import pytest

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Size
from holo_tasks.core.screen.rest import LEAST_LOOKS, Rest


def frame() -> Frame:
    return Frame(b"   ", Size(1, 1), ":0")


@pytest.mark.parametrize(("every_s", "looks"), [(1.0, 8), (5.0, LEAST_LOOKS)], ids=["an idle machine", "a busy one"])
def test_a_wait_ends_after_its_time_and_its_least_looks(every_s: float, looks: int) -> None:
    rest, now_s, looked = Rest(8.0, 0.0), 0.0, 0
    while not rest.is_over(now_s):
        looked, now_s = looked + 1, now_s + every_s
        rest.look_at(same := frame(), now_s)
        rest.look_at(same, now_s)  # a frame that is looked at twice counts once
    assert looked == looks


def test_a_wait_of_no_time_needs_no_look() -> None:
    assert Rest(0.0, 0.0).is_over(0.0)
