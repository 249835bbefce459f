"""The window manager of a virtual desktop (openbox, with a configuration of our own)."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import xcffib.xproto

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.desktop import processes
from holo_tasks.desktop.xlink import XLink

CONFIG = Path(__file__).with_name("openbox.xml")
TIMEOUT_S = 15.0
BACKGROUND = 0x46637A
"""A calm blue-grey: black windows and black edges stand out from it in reports."""


def launch(folder: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the window manager; `managing` waits for it."""
    private = {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    try:
        with (folder / "openbox.log").open("wb") as log:
            return subprocess.Popen(
                ["openbox", "--config-file", str(CONFIG), "--sm-disable"],
                env={**env, **private},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=processes.tied(signal.SIGTERM),
            )
    except FileNotFoundError:
        raise DesktopFailed(
            "openbox is not installed: run `apt-get install openbox` to get virtual desktops."
        ) from None


def managing(link: XLink, process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the window manager is in charge of the screen."""
    until = time.monotonic() + TIMEOUT_S
    while not link.numbers(link.root, "_NET_SUPPORTING_WM_CHECK"):
        if process.poll() is not None or time.monotonic() > until:
            words = processes.last_words(folder / "openbox.log") or "it says nothing"
            raise DesktopFailed(f"The window manager openbox does not start: {words}.")
        time.sleep(0.005)


def paint_background(link: XLink) -> None:
    """Give the empty desktop a color; an X server starts black."""
    core = link.conn.core
    core.ChangeWindowAttributesChecked(link.root, xcffib.xproto.CW.BackPixel, [BACKGROUND]).check()
    core.ClearAreaChecked(False, link.root, 0, 0, 0, 0).check()
