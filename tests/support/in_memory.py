"""Let tests write to memory if there is enough, because SQLite and traces wait for the disk at every write.

Files in memory survive a killed process as files on a disk do. An environment with ``TMPDIR`` set keeps its own folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

MEMORY = Path("/dev/shm")
NAME = "h-"
"""Short, because the path of a Unix socket may have at most 107 bytes."""
ENOUGH = 4 << 30
"""A whole test run writes less than one gigabyte."""


def enter() -> Path | None:
    """Let this process and its children write to memory. Return the folder if a new one was made."""
    if "TMPDIR" in os.environ or not _has_room():
        return None
    for left in MEMORY.glob(f"{NAME}*"):
        if not Path("/proc", left.name.removeprefix(NAME)).exists():
            shutil.rmtree(left, ignore_errors=True)  # left by a failed run, which may have been examined since
    folder = MEMORY / f"{NAME}{os.getpid()}"
    try:
        folder.mkdir()
        folder.chmod(0o1777)  # as /tmp: some programs that tests start run as another user
    except OSError:
        return None
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    return folder


def leave(folder: Path) -> None:
    """Delete the folder in memory."""
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
