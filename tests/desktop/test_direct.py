"""A press permitted in one program goes to it even if another window appears; windows are raised as usual."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import PolicyRefused, ScreenChanged
from holo_tasks.core.input.gestures import Click, Drag, Gesture
from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import Settle, VirtualDesktop

APPS = Path(__file__).parent.parent / "apps"
TRIES = 15


async def permitted(desktop: VirtualDesktop, gesture: Gesture, at: Point) -> None:
    owner = (await desktop.owner_at(at)).name
    await desktop.do(gesture, input_permit=InputPermit(gesture_digest(gesture), time.monotonic() + 60, owner))


async def test_a_window_that_appears_during_a_press_does_not_get_it(events: Any, tmp_path: Path, until: Any) -> None:
    desktop, log = events.desktop, tmp_path / "jumps"
    env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    jumper = subprocess.Popen([sys.executable, str(APPS / "probe_jump.py"), str(log)], env=env)
    try:
        await until(lambda: log.exists() and "ready" in log.read_text())
        before = len(events.told.all("press"))
        refused = 0
        for number in range(TRIES):
            at = Point(200 + number % 5, 200)
            try:
                await permitted(desktop, Click(at), at)
            except (PolicyRefused, ScreenChanged):
                refused += 1
        await desktop.look(after_action=True)
        said = log.read_text().split()
        assert said.count("jump") == TRIES - refused > 0
        assert "press" not in said
        assert len(await events.told.has(before + TRIES - refused, "press")) == before + TRIES - refused
    finally:
        jumper.kill()
        jumper.wait()


@pytest.mark.parametrize("gesture", [Click, lambda at: Drag(at, Point(at.x + 60, at.y + 40))])
async def test_a_permitted_press_raises_and_focuses_a_window_and_arrives(
    tmp_path: Path, probe: Callable[..., list[str]], until: Any, gesture: Callable[[Point], Gesture]
) -> None:
    logs = [tmp_path / "low", tmp_path / "high"]
    async with VirtualDesktop(settle=Settle(first_change_s=0.1)) as desktop:
        env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
        started = []
        for log, place in zip(logs, ("400x300+50+50", "400x300+250+150"), strict=True):
            started.append(subprocess.Popen(probe("events", log, place), env=env))
            await until(lambda log=log: log.exists() and "mapped" in log.read_text())
        try:
            await desktop.look()
            low = min(await desktop.windows(), key=lambda window: window.box.left)
            assert not low.active
            at = Point(low.box.left + 20, low.box.top + 20)
            await permitted(desktop, gesture(at), at)
            assert [window.id for window in await desktop.windows() if window.active] == [low.id]
            assert (await desktop.windows())[-1].id == low.id
            assert await until(lambda: "press" in logs[0].read_text())
            assert "press" not in logs[1].read_text()
            right = Point(low.box.right - 8, low.box.top - 9)  # its close button, which belongs to the window manager
            await permitted(desktop, Click(right), right)
            await desktop.look(after_action=True)
            assert await until(lambda: started[0].poll() is not None)
        finally:
            for program in started:
                program.kill()
                program.wait()
