"""On a real screen, a clock next to a list does not block a click on a row; a change in the list does."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import ScreenChanged
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import AttachedDesktop, Desktop, VirtualDesktop

OPEN, CLOCK = (235, 140), (570, 140)
PATIENCE_S, LEARNED_S = 60.0, 5.0


async def _clicked(desktop: Desktop, at: Point, between: Awaitable[None]) -> str:
    """Capture, await an action, and click; return the reason if the click is refused."""
    frame = await desktop.look()
    await between
    await asyncio.sleep(1.1)  # the clock ticks once a second
    gesture = Click(at)
    try:
        await desktop.do(
            gesture, input_permit=InputPermit(gesture_digest(gesture), time.monotonic() + 60, frame=frame.number)
        )
    except ScreenChanged as error:
        return str(error)
    return ""


async def test_a_running_clock_is_ignored_and_a_changed_row_is_not(
    probe: Callable[..., list[str]], tmp_path: Path
) -> None:
    log = tmp_path / "log"

    def said(kind: str) -> list[Any]:
        lines = log.read_text().splitlines() if log.exists() else []
        return [event for line in lines if (event := json.loads(line))[0] == kind]

    async with VirtualDesktop() as desktop:
        env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
        command = probe("beside", log, "insert")
        with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, text=True) as program:
            end = time.monotonic() + PATIENCE_S

            async def until(kind: str) -> None:
                while not said(kind):
                    assert time.monotonic() < end, f"waited for {kind}"
                    await asyncio.sleep(0.02)

            await until("mapped")
            boxes = await desktop.repainting_areas()
            assert boxes == []
            _, left, top = said("mapped")[0]
            at = Point(left + OPEN[0], top + OPEN[1])
            await desktop.look()
            await asyncio.sleep(LEARNED_S)
            # On a busy machine this takes longer, without consequence for the result.
            while why := await _clicked(desktop, at, asyncio.sleep(0)):
                assert "its row looks different" in why
                assert time.monotonic() < end, why
                await desktop.look()
                await asyncio.sleep(LEARNED_S)
            await desktop.look()
            assert [name for _, name in said("open")] == ["TX-1042"]
            clock = Point(left + CLOCK[0], top + CLOCK[1])
            while not any(box.left <= clock.x < box.right and box.top <= clock.y < box.bottom for box in boxes):
                assert time.monotonic() < end, boxes
                await desktop.look()
                boxes = await desktop.repainting_areas()

            async def insert() -> None:
                assert program.stdin is not None
                program.stdin.write("change\n")
                program.stdin.flush()
                await until("told")

            assert "its row looks different" in await _clicked(desktop, at, insert())
            await desktop.look()
            assert len(said("open")) == 1
            program.kill()


async def test_a_new_processs_first_press_is_accepted_beside_a_clock_and_refused_beside_a_changed_name(
    probe: Callable[..., list[str]], tmp_path: Path
) -> None:
    log = tmp_path / "log"

    def said(kind: str) -> list[Any]:
        lines = log.read_text().splitlines() if log.exists() else []
        return [event for line in lines if (event := json.loads(line))[0] == kind]

    async with VirtualDesktop() as screen:
        screens = {"XAUTHORITY": str(screen.authority)}
        command = probe("beside", log, "one")
        env = {**os.environ, "DISPLAY": screen.display, **screens}
        with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, text=True) as program:
            end = time.monotonic() + PATIENCE_S

            async def until(kind: str, times: int = 1) -> None:
                while len(said(kind)) < times:
                    assert time.monotonic() < end, f"waited for {kind}"
                    await asyncio.sleep(0.02)

            async def change(times: int) -> None:
                assert program.stdin is not None
                program.stdin.write("change\n")
                program.stdin.flush()
                await until("told", times)

            await until("mapped")
            _, left, top = said("mapped")[0]
            at, clock = Point(left + OPEN[0], top + OPEN[1]), Point(left + CLOCK[0], top + CLOCK[1])
            async with AttachedDesktop(screen.display, env=screens) as first:
                await first.look()
                while not any(box.contains(clock) for box in await first.repainting_areas()):
                    assert time.monotonic() < end, "the clock was not learned"
                    await asyncio.sleep(0.5)
                    await first.look()
            # On a busy machine the clock may tick irregularly. Then another new process makes its first press.
            refused = "not tried"
            while refused:
                assert time.monotonic() < end, refused
                async with AttachedDesktop(screen.display, env=screens) as later:
                    refused = await _clicked(later, at, asyncio.sleep(0))
            await until("open")
            assert [name for _, name in said("open")] == ["TX-1042"]
            await change(1)  # now a name has replaced the clock
            async with AttachedDesktop(screen.display, env=screens) as last:
                assert "its row looks different" in await _clicked(last, at, change(2))
            assert len(said("open")) == 1
            program.kill()
