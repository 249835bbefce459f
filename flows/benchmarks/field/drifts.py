"""Drifts of the field suite that the harness makes: a smaller screen, a moved window, a tip, a slow program."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from benchmarks.field.program import Call, pointed
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.programs.tk_python import tk_python

SMALLER = Size(1120, 700)
RUN_S, STOP_S = 0.12, 0.24
"""Seconds that a slow program runs, and then stands still."""
TIP = """
import tkinter
window = tkinter.Tk()
window.title("Did you know?")
window.geometry("420x160+320+260")
window.attributes("-topmost", True)
tkinter.Label(window, text="Did you know?", font=("DejaVu Sans", 14, "bold")).pack(pady=8)
tkinter.Label(window, text="Backups can be made once a week.", font=("DejaVu Sans", 11)).pack()
button = tkinter.Button(window, text="Close", font=("DejaVu Sans", 11), command=window.destroy)
button.place(relx=0.5, y=110, anchor="center")
window.mainloop()
"""
CLOSE_AT = (530, 388)
"""The middle of the tip's button on the screen."""


@asynccontextmanager
async def apply_drift(desktop: VirtualDesktop, drift: str) -> AsyncIterator[None]:
    """Change the screen or the pace of the program during a replay. Drifts of the program itself do nothing here."""
    display = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    if drift == "window moved":
        find = ["xdotool", "getactivewindow"]
        subprocess.run([*find, "windowsize", "1000", "640", "windowmove", "190", "110"], env=display, check=True)
        await asyncio.sleep(1)  # the program draws at its new size; the replay must find it so
        yield
    elif drift == "tip":
        tip = subprocess.Popen([tk_python(), "-c", TIP], env=display)
        try:
            await asyncio.sleep(2)  # Tk opens the window
            yield
        finally:
            tip.kill()
            tip.wait()
    elif drift == "slow":
        pids = {one.pid for one in (await desktop.elements()).applications if one.pid}
        stop = asyncio.Event()
        slow = asyncio.create_task(_slowly(pids, stop))
        try:
            yield
        finally:
            stop.set()
            await slow
    else:
        yield


def call_that_clears(desktop: VirtualDesktop, drift: str) -> Callable[[], Call | None]:
    """Return a function that returns the press on the tip's button *Close*, or ``None`` while no tip is there."""
    display = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}

    def clears() -> Call | None:
        if drift != "tip":
            return None
        find = ["xdotool", "search", "--onlyvisible", "--name", "^Did you know"]
        found = subprocess.run(find, env=display, capture_output=True, check=False).stdout.split()
        return pointed(*CLOSE_AT, "Close", desktop.size) if found else None

    return clears


async def _slowly(pids: set[int], stop: asyncio.Event) -> None:
    """Let processes run a third of the time."""
    while not stop.is_set():
        _send(pids, signal.SIGSTOP)
        await asyncio.sleep(STOP_S)
        _send(pids, signal.SIGCONT)
        await asyncio.sleep(RUN_S)


def _send(pids: set[int], which: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, which)
        except ProcessLookupError:
            continue
