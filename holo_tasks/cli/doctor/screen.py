"""Checks of the screen: capture, and input to a program. A display that was there before gets no input."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from holo_tasks.cli.doctor.findings import Chain
from holo_tasks.cli.doctor.trust import of_display
from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.calibration import Setting, path_error
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.monitors import monitor_list
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.desktop.elements.element_reader import missing_package
from holo_tasks.desktop.readiness.tcp_table import unavailable_reason
from holo_tasks.desktop.remote.remote_client import CLIENTS
from holo_tasks.machine.home import holo_home
from holo_tasks.run.desktops.calibrations import read_stored, summary

PROGRAM = Path(__file__).with_name("window.py")
TITLE = "doctor:"
MOST_TOLD = 3
TEXT = "Holo 42"
"""A capital letter, a blank and digits, because a wrong keyboard map shows there first."""


async def check_screen(chain: Chain, display: str | None, timeout_s: float) -> None:
    """Look at an existing display, or start one. Only a display that this check started gets clicks and keys.

    Findings are reported to ``chain``, the doctor's chain of checks.
    """
    there = display if display is not None else os.environ.get("DISPLAY")
    if there:
        await _look_at(chain, there, timeout_s)
    else:
        await _test_own_desktop(chain, timeout_s)


async def _look_at(chain: Chain, display: str, timeout_s: float) -> None:
    async with _time_limit(timeout_s, f"Looking at display {display}"):
        desktop = await AttachedDesktop.start(display, touches=False)
    try:
        async with _time_limit(timeout_s, f"Looking at display {display}"):
            frame = await desktop.look()
        if frame.rgb == frame.rgb[:3] * (len(frame.rgb) // 3):
            chain.warn(
                f"Display {display} ({frame.size}) can be seen, but shows one single colour: nothing runs on it."
            )
        else:
            said = await _calibration(desktop, timeout_s)
            chain.ok(f"Display {display} ({frame.size}) can be seen{_settled_phrase(frame)}. {said}")
        # Attaching needs XTEST: without it there would be no frame.
        said = f"Display {display} takes input (XTEST); nothing was sent to it, since a person may be working there."
        unseen = [f"connections: {reason}"] if (reason := unavailable_reason()) else []
        programs = await _without_packages(desktop, timeout_s)
        chain.tell(said, [*of_display(display, os.environ), *programs, *_unseen_work(unseen)])
    finally:
        await desktop.close()


async def _without_packages(desktop: AttachedDesktop, timeout_s: float) -> list[str]:
    """Return a sentence for each program on a display whose elements need a package that is not installed."""
    async with _time_limit(timeout_s, f"Looking at display {desktop.display}"):
        windows = await desktop.windows()
    named = {each.pid: each.title for each in windows if each.pid}
    return [f"{title}: {said}." for pid, title in named.items() if (said := missing_package(pid))][:MOST_TOLD]


async def _test_own_desktop(chain: Chain, timeout_s: float) -> None:
    async with _time_limit(timeout_s, "To start a virtual desktop"):
        desktop = await VirtualDesktop.start(app=[sys.executable, "-P", str(PROGRAM)])
    try:
        async with _time_limit(timeout_s, "To look at a virtual desktop"):
            frame = await desktop.look()
        took, rest = sum(desktop.started_s.values()), f"{_settled_phrase(frame)}.{_remote_clients()}"
        chain.ok(f"A virtual desktop ({frame.size}) with a program on it starts here in {took:.1f} s{rest}")
        async with _time_limit(timeout_s, "To click and type"):
            await _click_and_type(chain, desktop, frame)
    finally:
        await desktop.close()


async def _click_and_type(chain: Chain, desktop: VirtualDesktop, before: Frame) -> None:
    """Click on the program and type into it. Raises `DesktopFailed` unless the screen shows both."""
    windows = [window for window in await desktop.windows() if window.title.startswith(TITLE)]
    if not windows:
        raise DesktopFailed("The test program was started, but its window is not on the desktop.")
    await desktop.do(Click(windows[0].box.center))
    clicked = await desktop.look(after_action=True)
    if clicked.digest == before.digest:
        raise DesktopFailed("A click did not change the screen: check that nothing else grabs the pointer.")
    await desktop.do(Write(TEXT))
    typed = await desktop.look(after_action=True)
    titles = [window.title for window in await desktop.windows()]
    if f"{TITLE}{TEXT}" not in titles:
        got = next((title.removeprefix(TITLE) for title in titles if title.startswith(TITLE)), "")
        raise DesktopFailed(f"{TEXT!r} was typed and {got!r} arrived: check the machine's keyboard map (xkb-data).")
    if typed.digest == clicked.digest:
        raise DesktopFailed("The typed text arrived, but the screen did not show it.")
    said = f"A click and typed text reached the program, and the screen showed both. {await _click_error(desktop)}"
    chain.tell(said, _unseen_work(typed.activity.unseen))


def _unseen_work(unseen: Sequence[str]) -> list[str]:
    """Return a sentence about the signs of work that cannot be observed here, or an empty list if all can."""
    reported = "; ".join(unseen)
    said = f"A program that still waits for its server may be taken as ready, because a sign is not seen: {reported}."
    return [said] if unseen else []


async def _click_error(desktop: VirtualDesktop) -> str:
    """Click a test window at three places. Return a sentence with the largest distance from the sent points."""
    setting = await desktop.setting()
    area = Box(*setting.area)
    points = [area.center, Point(area.left, area.top), Point(area.right - 1, area.bottom - 1)]
    sent, landed, read = [], [], []
    await desktop.open_target(points)
    for point in points:
        await desktop.do(Click(point))
        reported = await desktop.target()
        if reported.presses:
            sent.append((point.x, point.y))
            landed.append((reported.presses[0].x, reported.presses[0].y))
            read.append((reported.pointer.x, reported.pointer.y))
    await desktop.close_target()
    found = path_error(sent, landed, read)
    if found is None or found.samples < len(points):
        raise DesktopFailed("A click on the test window did not arrive: check which other program grabs the pointer.")
    return f"{found.samples} clicks landed within {found.worst_px:g} px of where they were sent."


async def _calibration(desktop: AttachedDesktop, timeout_s: float) -> str:
    """Describe a display without touching it: its monitors, its scaling, and the calibrations for it."""
    async with _time_limit(timeout_s, f"Looking at display {desktop.display}"):
        setting, monitors = await desktop.setting(), await desktop.monitors()
    reported = [f"Monitors: {monitor_list(monitors)}; scaling: {setting.scale or 'none'}."]
    # A calibration may be for one monitor or for all, with any scaling and any model.
    fitting = [
        one
        for one in read_stored(holo_home(), setting.display)
        if (one.setting.screen, one.setting.window_manager) == (setting.screen, setting.window_manager)
    ]
    reported += [f"{_setting_prefix(one.setting, setting)}{summary(one)}" for one in fitting[:MOST_TOLD]] or [
        "It has no calibration yet: see calibrate()."
    ]
    return " ".join(reported)


def _setting_prefix(measured: Setting, now: Setting) -> str:
    """Return a prefix for a calibration's summary: its area and scaling, where they differ from the present ones."""
    reported = [f"{Box(*measured.area)}"] if measured.area != now.area else []
    reported += [measured.scale or "no scaling"] if measured.scale != now.scale else []
    return f"For {', '.join(reported)}: " if reported else ""


def _remote_clients() -> str:
    """Return a sentence with the installed VNC and RDP clients. Returns an empty string without such a client."""
    found = [name for name, _ in CLIENTS.values() if shutil.which(name)]
    if not found:
        return ""
    return f" {' and '.join(found)} can show other machines' screens, where rules by program see the client alone."


def _settled_phrase(frame: Frame) -> str:
    """Return a phrase that says whether the screen settled."""
    return ", and came to rest" if frame.settled else ", but never came to rest"


@asynccontextmanager
async def _time_limit(timeout_s: float, what: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError:
        raise DesktopFailed(f"{what} took longer than {timeout_s:g} s: is the machine overloaded?") from None
