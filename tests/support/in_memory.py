"""Where tests write: into memory, where there is enough of it, as SQLite and traces wait for the disk at every write.

What a process wrote is there after it was killed, in memory as on a disk. Who sets ``TMPDIR`` decides otherwise.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

MEMORY = Path("/dev/shm")
NAME = "h-"
"""Short: sockets lie deep inside, and a path to one has at most 107 bytes."""
ENOUGH = 4 << 30
"""A whole test run leaves under one gigabyte."""


def enter() -> Path | None:
    """Have this process and those it starts write to memory; return the folder if there is a new one."""
    if "TMPDIR" in os.environ or not _has_room():
        return None
    for left in MEMORY.glob(f"{NAME}*"):
        if not Path("/proc", left.name.removeprefix(NAME)).exists():
            shutil.rmtree(left, ignore_errors=True)  # of a run that failed, which may have been looked at since
    folder = MEMORY / f"{NAME}{os.getpid()}"
    try:
        folder.mkdir()
        folder.chmod(0o1777)  # as /tmp: some of what tests start runs as another user
    except OSError:
        return None
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    return folder


def leave(folder: Path) -> None:
    """Give the memory back."""
    tempfile.tempdir = os.environ["TMPDIR"] = "/tmp"
    shutil.rmtree(folder, ignore_errors=True)


def _has_room() -> bool:
    with suppress(OSError, StopIteration, ValueError):
        of_the_folder = os.statvfs(MEMORY)
        if of_the_folder.f_flag & os.ST_NOEXEC or not os.access(MEMORY, os.W_OK):
            return False
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
        return min(free, of_the_folder.f_bavail * of_the_folder.f_frsize) >= 2 * ENOUGH
    return False
