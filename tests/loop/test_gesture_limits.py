"""The time limit of a gesture: longer where a slow program is waited for, and not for other actions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop.input.typing import PATIENCE_S
from holo_tasks.loop.gesture_limits import SLIP_S, seconds_for


def test_a_field_of_a_slow_program_may_be_emptied_before_the_text_is_typed() -> None:
    plain, overwriting = (seconds_for(Write("paid", overwrite=each), None) for each in (False, True))
    assert overwriting >= plain + 2 * PATIENCE_S, "one wait after the selection, and one after the deletion"
    assert plain < SLIP_S + 1
    assert seconds_for(Click(Point(1, 1)), None) < SLIP_S + 1


@pytest.mark.parametrize("write", [Write("paid\t"), Write("paid\non"), Write("paid", press_enter=True)])
def test_a_slow_sheet_may_tell_its_cell_before_tab_and_enter(write: Write) -> None:
    assert seconds_for(write, None) >= seconds_for(Write("paid"), None) + 2 * PATIENCE_S
    assert seconds_for(replace(write, overwrite=True), None) == seconds_for(write, None), "it is waited for once"
