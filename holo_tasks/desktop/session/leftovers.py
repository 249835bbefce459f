"""Clean up after desktops whose host process and client process were killed at the same time.

The client process uses a desktop, and the host process owns its X server and programs. A desktop ends with its client,
and is cleaned up by the client or by the host. Files are left only if both processes die at once, for instance when the
kernel kills a whole group for lack of memory. Then the desktop's folder, the lock of its X server and perhaps some
programs remain.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from pathlib import Path
from typing import IO

from holo_tasks.desktop import processes
from holo_tasks.desktop.programs import other_user
from holo_tasks.desktop.sandbox import cgroup_limits
from holo_tasks.desktop.x11 import x_server as xserver
from holo_tasks.machine.proc import process

PREFIX = "holo-desktop-"
HELD = "held"
"""Name of a file in a desktop's folder that is locked while the client process lives, in this or another container."""

YOUNG_S = 60.0
"""Seconds for which the lock of an X server is left alone. A server in another container may not listen yet."""


def mark_in_use(folder: Path) -> IO[bytes]:
    """Mark a desktop's folder as in use, until the returned file is closed or this process ends."""
    draft = folder / f".{HELD}"
    file = draft.open("wb")
    fcntl.flock(file, fcntl.LOCK_EX)  # locked before it is renamed, so that it never looks abandoned
    draft.replace(folder / HELD)
    return file


def remove_dead_desktops() -> list[str]:
    """End the programs and remove the files of this user's desktops whose client and host have ended.

    Returns the names of the removed desktop folders, and of the displays whose X server was removed.
    """
    cleared = []
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid != os.geteuid():
                continue
            with (folder / HELD).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_desktop(folder)
                cleared.append(folder.name)
    return cleared + _remove_x_servers()


def _remove_desktop(folder: Path) -> None:
    name = folder.name
    processes.end(lambda: processes.processes_of_desktop(name, -1), grace_s=1.0)
    processes.remove(folder)
    other_user.remove_folders(folder)
    cgroup_limits.clear(name)


def _remove_x_servers() -> list[str]:
    """Remove the locks and sockets of X servers whose process has ended, and return the names of their displays."""
    cleared = []
    for lock in Path("/tmp").glob(".X*-lock"):
        number = lock.name.removeprefix(".X").removesuffix("-lock")
        if not number.isdigit() or not xserver.FIRST <= int(number) <= xserver.LAST:
            continue
        with contextlib.suppress(OSError, ValueError):
            holder = int(lock.read_text())
            found = lock.stat()
            if found.st_uid != os.geteuid() or time.time() - found.st_mtime < YOUNG_S or process(holder).exists():
                continue
            xserver.remove_socket(f":{number}")
            if not Path(f"/tmp/.X11-unix/X{number}").exists():  # else a server in another container listens there
                lock.unlink()
                cleared.append(f":{number}")
    return cleared
