"""Is there a screen that can be seen, and does input reach a program? A person's own screen is only looked at."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from holo_tasks.cli.doctor.findings import Chain
from holo_tasks.cli.doctor.trust import of_display
from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.frame import Frame
from holo_tasks.core.gestures import Click, Write
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop

PROGRAM = Path(__file__).with_name("window.py")
TITLE = "doctor:"
TEXT = "Holo 42"
"""Capital, blank and figures: what a wrong keyboard map gets wrong first."""


async def check_screen(chain: Chain, display: str | None, timeout_s: float) -> None:
    """Look at a display that is there, or start one; type and click only on one that was started for it."""
    there = display if display is not None else os.environ.get("DISPLAY")
    if there:
        await _look_at(chain, there, timeout_s)
    else:
        await _try_own(chain, timeout_s)


async def _look_at(chain: Chain, display: str, timeout_s: float) -> None:
    async with _within(timeout_s, f"Looking at display {display}"):
        desktop = await AttachedDesktop.start(display, touches=False)
    try:
        async with _within(timeout_s, f"Looking at display {display}"):
            frame = await desktop.look()
        if frame.rgb == frame.rgb[:3] * (len(frame.rgb) // 3):
            chain.warn(
                f"Display {display} ({frame.size}) can be seen, but shows one single colour: nothing runs on it."
            )
        else:
            chain.ok(f"Display {display} ({frame.size}) can be seen{_rest(frame)}.")
        # To attach takes XTEST: without it there would have been no frame.
        said = f"Display {display} takes input (XTEST); nothing was sent to it, for it may be somebody's own."
        chain.tell(said, of_display(display, os.environ))
    finally:
        await desktop.close()


async def _try_own(chain: Chain, timeout_s: float) -> None:
    async with _within(timeout_s, "To start a virtual desktop"):
        desktop = await VirtualDesktop.start(app=[sys.executable, "-P", str(PROGRAM)])
    try:
        async with _within(timeout_s, "To look at a virtual desktop"):
            frame = await desktop.look()
        took = sum(desktop.started_s.values())
        chain.ok(f"A virtual desktop ({frame.size}) with a program on it starts here in {took:.1f} s{_rest(frame)}.")
        async with _within(timeout_s, "To click and type"):
            await _use(chain, desktop, frame)
    finally:
        await desktop.close()


async def _use(chain: Chain, desktop: VirtualDesktop, before: Frame) -> None:
    """Click and type into the program, and see both on the screen."""
    windows = [window for window in await desktop.windows() if window.title.startswith(TITLE)]
    if not windows:
        raise DesktopFailed("The program that was started to be clicked on is not on its desktop.")
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
        raise DesktopFailed("What was typed arrived, but the screen did not show it.")
    chain.ok("A click and typed text reached the program, and the screen showed both.")


def _rest(frame: Frame) -> str:
    """Say whether the screen came to rest."""
    return ", and came to rest" if frame.settled else ", but never came to rest"


@asynccontextmanager
async def _within(timeout_s: float, what: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError:
        raise DesktopFailed(f"{what} took longer than {timeout_s:g} s: is the machine overloaded?") from None
