"""A desktop bound to one of several monitors neither sees nor touches the others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.input.gestures import Click, Drag, Hotkey, Move, Write
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from tests.support.monitors import forget_monitor, restless, set_monitors

LEFT, RIGHT = Box(0, 0, 800, 600), Box(800, 100, 640, 480)
BLACK = b"\0\0\0"


@pytest.fixture(scope="module")
def started() -> Iterator[VirtualDesktop]:
    """One desktop for all tests of this module. Each test has its own event loop."""
    desktop = asyncio.run(VirtualDesktop.start(size=Size(1440, 600)))
    yield desktop
    asyncio.run(desktop.close())


@pytest.fixture
def display(started: VirtualDesktop) -> VirtualDesktop:
    """A virtual desktop with two monitors, restored for each test."""
    set_monitors(started, {"LEFT": LEFT, "RIGHT": RIGHT})
    return started


def bound(display: VirtualDesktop, monitor: str | int, **options: Any) -> AttachedDesktop:
    return AttachedDesktop(display.display, env={"XAUTHORITY": str(display.authority)}, monitor=monitor, **options)


async def test_a_display_lists_its_monitors(display: VirtualDesktop) -> None:
    told = [(monitor.number, monitor.name, monitor.box, monitor.primary) for monitor in await display.monitors()]
    assert told == [(1, "LEFT", LEFT, True), (2, "RIGHT", RIGHT, False)]
    async with VirtualDesktop(size=Size(640, 480)) as plain:
        (whole,) = await plain.monitors()
        assert whole.box == Box(0, 0, 640, 480)


async def test_a_display_without_randr_is_one_monitor(x_server: Any) -> None:
    name, authority = x_server("Xvfb", "-screen", "0", "640x480x24", "-extension", "RANDR")
    async with AttachedDesktop(name, env={"XAUTHORITY": str(authority)}, monitor=1) as desktop:
        (whole,) = await desktop.monitors()
        assert whole.box == Box(0, 0, 640, 480)
        assert (await desktop.look()).monitor == whole.box


async def test_other_monitors_are_in_no_picture(display: VirtualDesktop, color: Any) -> None:
    for monitor in ("RIGHT", "2"):
        async with bound(display, monitor) as desktop:
            frame = await desktop.look()
            whole = await display.look()
            assert (frame.monitor, frame.size) == (RIGHT, whole.size), monitor
            assert frame.crop(RIGHT).rgb == whole.crop(RIGHT).rgb != BLACK * RIGHT.area
            assert frame.crop(LEFT).rgb == BLACK * LEFT.area
            assert frame.crop(Box(800, 0, 640, 100)).rgb == BLACK * 64000


async def test_input_goes_to_the_monitor_only(display: VirtualDesktop, probe: Any, tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    env = {"DISPLAY": display.display, "XAUTHORITY": str(display.authority)}
    program = await asyncio.create_subprocess_exec(*probe("events", log), env={**os.environ, **env})
    try:
        async with bound(display, "LEFT") as left, bound(display, "RIGHT") as right:
            while not (windows := await display.windows()):
                await asyncio.sleep(0.05)
            middle = windows[0].box.center
            assert LEFT.contains(middle)
            for gesture in (Click(middle), Move(middle), Drag(RIGHT.center, middle), Write("x", at=middle)):
                with pytest.raises(InvalidUsage, match=r"is not on monitor RIGHT \(640x480\+800\+100\)"):
                    await right.do(gesture)
            await left.do(Click(middle))
            for keys in (Hotkey(("a",)), Write("secret")):
                with pytest.raises(InvalidUsage, match="The window with the keyboard is not on monitor RIGHT"):
                    await right.do(keys)
            await left.do(Write("a"))
            await left.look(after_action=True)
    finally:
        program.terminate()
        await program.wait()


async def unsettled(desktop: VirtualDesktop) -> bool:
    """Wait until a frame of an unsettled screen is taken."""
    for _ in range(100):
        if not (await desktop.look()).settled:
            return True
    return False


async def test_repaints_on_other_monitors_are_not_awaited(display: VirtualDesktop) -> None:
    async with bound(display, "LEFT") as left, bound(display, "RIGHT") as right:
        with restless(display, LEFT):
            # On a busy machine the drawing thread may pause long enough for some frames.
            assert await unsettled(left)
            assert all([(await right.look()).settled for _ in range(5)])


async def test_a_missing_monitor_is_reported_before_the_start(display: VirtualDesktop) -> None:
    listed = r"it has: 1 LEFT \(800x600\+0\+0, primary\), 2 RIGHT \(640x480\+800\+100\)"
    for monitor in ("HDMI-9", 3):
        with pytest.raises(InvalidUsage, match=listed):
            await bound(display, monitor)._open()
    for wrong, told in ((0, "numbered from 1"), (" ", "name, such as 'HDMI-1'"), (True, "name, such as 'HDMI-1'")):
        with pytest.raises(InvalidUsage, match=told):
            bound(display, wrong)


async def test_an_unplugged_monitor_ends_the_work_and_a_moved_one_is_followed(display: VirtualDesktop) -> None:
    async with bound(display, 2) as desktop:
        moved = RIGHT.moved(0, -50)
        set_monitors(display, {"LEFT": LEFT, "RIGHT": moved})
        assert (await desktop.look()).monitor == moved
        forget_monitor(display, "RIGHT")
        with pytest.raises(DesktopFailed, match=r"Monitor '2' of display :\d+ is gone; there is"):
            await desktop.look()
