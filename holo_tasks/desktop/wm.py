"""The window manager of a virtual desktop (openbox, with a configuration of our own)."""

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
from holo_tasks.desktop.interrupt import Interrupt
from holo_tasks.desktop.liveness_ping import CLIENT_MESSAGE, TO_MANAGER
from holo_tasks.desktop.xlink import XLink

CONFIG = Path(__file__).with_name("openbox.xml")
TIMEOUT_S = 15.0
ASKS_EVERY_S = 0.05
BACKGROUND = 0x46637A
"""A calm blue-grey: black windows and black edges stand out from it in reports."""


def launch(folder: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the window manager; `managing` waits for it. Its theme is this machine's, whatever programs are told."""
    private = {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    # Nobody types characters of two keys into it, and to read how those are made is much of its start.
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


def managing(link: XLink, process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the window manager is in charge of the screen: no other one can be. `awake` waits until it is up."""
    until = time.monotonic() + TIMEOUT_S
    while not link.numbers(link.root, "_NET_SUPPORTING_WM_CHECK"):
        if process.poll() is not None or time.monotonic() > until:
            words = processes.last_words(folder / "openbox.log") or "it says nothing"
            raise DesktopFailed(f"The window manager openbox does not start: {words}.")
        time.sleep(0.005)


def awake(link: XLink, process: subprocess.Popen[bytes], folder: Path, interrupt: Interrupt) -> None:
    """Wait until the window manager is up, and has done what programs have asked it for so far.

    It says that it is in charge before it reads its settings and fonts. A window that wants to be shown meanwhile gets
    into a queue of its own, at which it does not look before it sleeps: that window is on no screen until something
    else happens (openbox 3.6: `x_source_prepare` asks Xlib alone). So it is asked, again and again, what only its main
    loop answers. Each question wakes it, and then it takes all that is in its queue.
    """
    core, until = link.conn.core, time.monotonic() + TIMEOUT_S
    window, kind = link.conn.generate_id(), xcffib.xproto.WindowClass.InputOnly
    core.CreateWindow(0, window, link.root, -1, -1, 1, 1, 0, kind, 0, xcffib.xproto.CW.OverrideRedirect, [1])
    # How large a frame would be it says of any window (EWMH), and in a property of that window.
    asks = CLIENT_MESSAGE.pack(33, 32, window, link.atom("_NET_REQUEST_FRAME_EXTENTS"), 0, 0, 0, 0, 0)
    asked_at = -math.inf
    try:
        while not link.numbers(window, "_NET_FRAME_EXTENTS"):
            now = time.monotonic()
            if process.poll() is not None or now > until:
                words = processes.last_words(folder / "openbox.log") or "it says nothing"
                raise DesktopFailed(f"The window manager openbox does not come up: {words}.")
            if now - asked_at >= ASKS_EVERY_S:
                core.SendEvent(False, link.root, TO_MANAGER, asks)
                asked_at = now
            interrupt.sleep(0.005)
    finally:
        core.DestroyWindow(window)
        link.conn.flush()


def nudge(link: XLink) -> None:
    """Wake somebody else's window manager, if there is one: openbox that is just coming up overlooks windows (`awake`).

    It takes this message for nothing. It is sent at each look for a program's window.
    """
    told = CLIENT_MESSAGE.pack(33, 32, link.root, link.atom("_HOLO_NUDGE"), 0, 0, 0, 0, 0)
    link.conn.core.SendEvent(False, link.root, TO_MANAGER, told)
    link.conn.flush()


def paint_background(link: XLink) -> None:
    """Give the empty desktop a color; an X server starts black."""
    core = link.conn.core
    core.ChangeWindowAttributesChecked(link.root, xcffib.xproto.CW.BackPixel, [BACKGROUND]).check()
    core.ClearAreaChecked(False, link.root, 0, 0, 0, 0).check()
