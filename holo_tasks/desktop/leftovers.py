"""What desktops leave on a machine whose process, and the one that owned the desktop, were killed at the same time.

A desktop ends with the process that uses it, and takes everything with it. Only if both are gone at once, as when the
kernel ends a whole group for want of memory, is something left: its folder, perhaps programs, the X server's lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from pathlib import Path
from typing import IO

from holo_tasks.desktop import other_user, processes, xserver
from holo_tasks.desktop.sandbox import bounds
from holo_tasks.machine.proc import process

PREFIX = "holo-desktop-"
HELD = "held"
"""A file in the folder of a desktop, locked for as long as the process lives that uses it, in whichever container."""

YOUNG_S = 60.0
"""A lock may be that of a server in another container which does not listen yet."""


def hold(folder: Path) -> IO[bytes]:
    """Say that a desktop's folder is in use, until what this returns is closed or this process ends."""
    draft = folder / f".{HELD}"
    file = draft.open("wb")
    fcntl.flock(file, fcntl.LOCK_EX)  # before it gets its name: nobody can take it for a dead one's
    draft.replace(folder / HELD)
    return file


def clear_away() -> list[str]:
    """End what desktops of this user have left whose processes are gone; return their names."""
    cleared = []
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid != os.geteuid():
                continue
            with (folder / HELD).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clear(folder)
                cleared.append(folder.name)
    return cleared + _displays()


def _clear(folder: Path) -> None:
    name = folder.name
    processes.end(lambda: processes.belonging(name, -1), grace_s=1.0)
    processes.remove(folder)
    other_user.clear(folder)
    bounds.clear(name)


def _displays() -> list[str]:
    """Remove what killed X servers have left: a lock that names no process, and a socket that nobody listens on."""
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
            xserver.sweep(f":{number}")
            if not Path(f"/tmp/.X11-unix/X{number}").exists():  # else somebody listens there, in another container
                lock.unlink()
                cleared.append(f":{number}")
    return cleared
