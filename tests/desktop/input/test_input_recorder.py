"""A person's mouse and keyboard input is reported in order, also when spare keys are mapped to characters."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from holo_tasks.core.input.gestures import Click, Hotkey, Scroll, Write
from holo_tasks.core.input.hand_steps import HandSteps, MadeGesture
from holo_tasks.core.input.remote_input import ByHand
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.input.input_recorder import InputRecorder


@pytest.mark.asyncio
async def test_all_input_is_reported_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async with VirtualDesktop() as desktop:
        monkeypatch.setenv("XAUTHORITY", str(desktop.authority))
        monkeypatch.setenv("DISPLAY", desktop.display)
        steps, found = HandSteps(), list[MadeGesture]()

        def heard(one: ByHand, at_s: float) -> None:
            found.extend(steps.take_input(one, at_s))

        def hands() -> None:
            witness = InputRecorder(desktop.display, heard)
            for command in (
                "mousemove 300 200 click 1",
                "type Hëllo_€5",
                "key XF86AudioRaiseVolume",
                "type Я",
                "key Return ctrl+s KP_7",
                "click 5",
            ):
                subprocess.run(["xdotool", *command.split()], check=True)
            witness.catch_up()
            found.extend(steps.ended())
            witness.close()

        await asyncio.to_thread(hands)
    assert [made.gesture for made in found] == [
        Click(Point(300, 200)),
        Write("Hëllo_€5Я", press_enter=True),
        Hotkey(("ctrl", "s")),
        Write("7"),
        Scroll(Point(300, 200), "down", 1),
    ]
