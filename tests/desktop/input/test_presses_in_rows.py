"""A press in a row reaches the program only while the screen shows its key there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from holo_tasks.core.errors import ScreenChanged
from holo_tasks.core.input.gestures import Click, Move
from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.desktop import VirtualDesktop, tk_python

pytestmark = pytest.mark.desktop
APP = Path(__file__).parents[2] / "apps" / "probe_row.py"
KEY, BUTTON = Box(60, 100, 140, 40), Point(300, 120)


async def press(mode: str, told: Path) -> tuple[list[str], str]:
    """Press the button once; return the keys that the program wrote, and the note or error."""
    click = Click(BUTTON, "left", 1)
    async with VirtualDesktop(app=[tk_python(), str(APP), mode, str(told)]) as desktop:
        await desktop.do(Move(Point(500, 400)))
        frame = await desktop.look()
        permit = InputPermit(gesture_digest(click), time.monotonic() + 60, frame=frame.number, held=(KEY,))
        try:
            note = (await desktop.do(click, input_permit=permit)).left_out
        except ScreenChanged as error:
            note = str(error)
        await desktop.look()
    return told.read_text().split() if told.exists() else [], note


async def test_nothing_is_pressed_if_the_arrival_of_the_pointer_changes_the_key(tmp_path: Path) -> None:
    paid, note = await press("arrive", tmp_path / "told")
    assert (paid, "when the pointer arrived" in note) == ([], True)


@pytest.mark.parametrize("mode", ["color", "tooltip"])
async def test_another_color_of_the_key_or_a_tooltip_over_it_stops_no_press(tmp_path: Path, mode: str) -> None:
    assert await press(mode, tmp_path / "told") == (["AB-1207"], "")
