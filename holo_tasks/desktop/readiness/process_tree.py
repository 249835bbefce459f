"""Lists the descendants of a process, at little cost when few processes are new."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from holo_tasks.desktop.processes import descendants
from holo_tasks.machine.proc import stat_of

PARENT, THREADS = 1, 17
"""Indexes of the parent and of the number of threads in /proc/…/stat, counted behind the name."""
MOST_NEW = 500
"""With more new processes than this, a full search is no slower."""


class ProcessTree:
    """All living descendants of a process, by default of this one."""

    def __init__(self, root: int | None = None) -> None:
        self._root = root or os.getpid()
        self._newest = self._newer = -MOST_NEW
        self._started: list[int] = []

    def pids(self) -> list[int]:
        """Return the IDs of the descendants.

        The kernel numbers processes in turn, so only processes with new numbers are checked. These are the numbers
        above the newest process of the call before the last one. The last call may have missed a process, because a
        process gets its number a moment before it appears. After a wrap of the numbers, all processes are searched.
        Most new numbers are those of threads or of ended processes, which ``/proc`` does not list.
        """
        newest = newest_process()
        if newest is None or not 0 <= newest - self._newest <= MOST_NEW:
            self._started = descendants(self._root)
        else:
            started = {self._root, *self._started}
            for pid in _listed_above(self._newest) if newest > self._newest else ():
                if pid not in started and parent_pid(pid) in started:
                    started.add(pid)
                    self._started.append(pid)
            self._started = [pid for pid in self._started if is_living(pid)]
        self._newest, self._newer = self._newer, -MOST_NEW if newest is None else newest
        return self._started


def newest_process() -> int | None:
    """Return the number of the newest process, or ``None`` if ``/proc/loadavg`` does not show it.

    In a container the file may show the numbers of the host, or another file may be mounted over it.
    """
    file = Path("/proc/loadavg")
    try:
        if file.stat().st_dev != Path("/proc").stat().st_dev:
            return None
        newest = int(file.read_text().split()[-1])
    except (OSError, ValueError, IndexError):  # it may be hidden
        return None
    return newest if newest >= os.getpid() else None


def is_living(pid: int) -> bool:
    """Return whether a process that is known to be one is alive. Its first thread may have ended while others go on."""
    try:
        fields = stat_of(f"/proc/{pid}")
    except OSError:
        return False
    return not _has_ended(fields)


def parent_pid(pid: int) -> int:
    """Return the parent of a living process. Returns zero if it has ended."""
    try:
        fields = stat_of(f"/proc/{pid}")
    except OSError:
        return 0
    return 0 if _has_ended(fields) else int(fields[PARENT])


def _has_ended(fields: Sequence[str]) -> bool:
    # The first thread may have ended while others go on.
    return fields[0] in "ZX" and fields[THREADS] == "1"


def _listed_above(number: int) -> list[int]:
    """Return the IDs of all processes above a number, in their order. Threads are not listed."""
    return sorted(pid for name in os.listdir("/proc") if name.isdigit() and (pid := int(name)) > number)  # noqa: PTH208
