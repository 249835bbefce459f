"""Start the window manager of a virtual desktop: openbox, with our own configuration.

`launch` starts it, and `await_manager` and `awake` wait for it; `x_session` calls them.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import xcffib.xproto

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.desktop import processes
from holo_tasks.desktop.capture.liveness_ping import CLIENT_MESSAGE, TO_MANAGER
from holo_tasks.desktop.stop.interrupt import Interrupt
from holo_tasks.desktop.x11.x_connection import XConnection

CONFIG = Path(__file__).with_name("openbox.xml")
TIMEOUT_S = 15.0
ASKS_EVERY_S = 0.05
BACKGROUND = 0x46637A
"""Color of the empty desktop, a blue-grey: black windows and black edges stand out from it in reports."""


def launch(folder: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the window manager; `await_manager` waits for it.

    Its theme is the machine's default, whatever XDG folders programs get. Raises `DesktopFailed` if it is missing.
    """
    private = {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    # It needs no compose sequences, and reading their table is a large part of its start.
    private["XCOMPOSEFILE"] = os.devnull
    env = {name: text for name, text in env.items() if name not in ("XDG_DATA_DIRS", "XDG_CONFIG_DIRS")}
    try:
        with (folder / "openbox.log").open("wb") as log:
            return processes.start_tied(
                signal.SIGTERM,
                ["openbox", "--config-file", str(CONFIG), "--sm-disable"],
                env={**env, **private},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
    except FileNotFoundError:
        raise DesktopFailed(
            "openbox is not installed: run `apt-get install openbox` to get virtual desktops."
        ) from None


def await_manager(link: XConnection, process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the window manager has claimed the screen. `awake` waits until it has started fully.

    Raises `DesktopFailed` if it ends or takes too long.
    """
    until = time.monotonic() + TIMEOUT_S
    while not link.numbers(link.root, "_NET_SUPPORTING_WM_CHECK"):
        if process.poll() is not None or time.monotonic() > until:
            words = processes.last_words(folder / "openbox.log") or "it says nothing"
            raise DesktopFailed(f"The window manager openbox does not start: {words}.")
        time.sleep(0.005)


def awake(link: XConnection, process: subprocess.Popen[bytes], folder: Path, interrupt: Interrupt) -> None:
    """Wait until the window manager has started, and has processed the requests of programs.

    openbox claims the screen before it reads its settings and fonts. The request of a window that opens meanwhile gets
    into a queue of openbox itself, which it does not check before it sleeps. That window stays unmapped until another
    event arrives (openbox 3.6: `x_source_prepare` checks the queue of Xlib only). So this function repeats a request
    that only its main loop answers. Each request wakes it, and then it processes its whole queue.

    Raises `DesktopFailed` if it ends or takes too long.
    """
    core, until = link.conn.core, time.monotonic() + TIMEOUT_S
    window, kind = link.conn.generate_id(), xcffib.xproto.WindowClass.InputOnly
    core.CreateWindow(0, window, link.root, -1, -1, 1, 1, 0, kind, 0, xcffib.xproto.CW.OverrideRedirect, [1])
    # A window manager returns the size of a window's frame (EWMH) in the window's properties.
    asks = CLIENT_MESSAGE.pack(33, 32, window, link.atom("_NET_REQUEST_FRAME_EXTENTS"), 0, 0, 0, 0, 0)
    asked_at = -math.inf
    try:
        while not link.numbers(window, "_NET_FRAME_EXTENTS"):
            now = time.monotonic()
            if process.poll() is not None or now > until:
                words = processes.last_words(folder / "openbox.log") or "it says nothing"
                raise DesktopFailed(f"The window manager openbox does not complete its start: {words}.")
            if now - asked_at >= ASKS_EVERY_S:
                core.SendEvent(False, link.root, TO_MANAGER, asks)
                asked_at = now
            interrupt.sleep(0.005)
    finally:
        core.DestroyWindow(window)
        link.conn.flush()


def nudge(link: XConnection) -> None:
    """Wake the window manager of a borrowed display, because openbox overlooks windows while it starts (`awake`).

    The message is of an unknown type, so window managers ignore it. It is sent at each check for a program's window.
    """
    reply = CLIENT_MESSAGE.pack(33, 32, link.root, link.atom("_HOLO_NUDGE"), 0, 0, 0, 0, 0)
    link.conn.core.SendEvent(False, link.root, TO_MANAGER, reply)
    link.conn.flush()


def paint_background(link: XConnection) -> None:
    """Fill the root window with ``BACKGROUND``; an X server starts black."""
    core = link.conn.core
    core.ChangeWindowAttributesChecked(link.root, xcffib.xproto.CW.BackPixel, [BACKGROUND]).check()
    core.ClearAreaChecked(False, link.root, 0, 0, 0, 0).check()
