"""The processes that one has started, and those that they have started, kept up with at little cost."""

from __future__ import annotations

import os
from pathlib import Path

from holo_tasks.desktop.processes import descendants
from holo_tasks.machine.proc import process, status_of

MOST_NEW = 500
"""With more new processes than this, to look through all is no slower."""


class ProcessTree:
    """All living descendants of a process, by default of this one."""

    def __init__(self, root: int | None = None) -> None:
        self._root = root or os.getpid()
        self._newest = self._newer = -MOST_NEW
        self._started: list[int] = []

    def pids(self) -> list[int]:
        """Return the ids of the descendants.

        The kernel numbers processes in turn, so it is enough to look at those that are newer than the last ones known:
        since the look before the last, for a process has its number a moment before it is there.
        """
        newest = newest_process()
        if newest is None or not 0 <= newest - self._newest <= MOST_NEW:
            self._started = descendants(self._root)
        else:
            started = {self._root, *self._started}
            for pid in range(self._newest + 1, newest + 1):
                if pid not in started and parent(pid) in started:
                    started.add(pid)
                    self._started.append(pid)
            self._started = [pid for pid in self._started if parent(pid)]
        self._newest, self._newer = self._newer, -MOST_NEW if newest is None else newest
        return self._started


def newest_process() -> int | None:
    """Return the number of the newest process; None if ``/proc`` tells that of another machine than this.

    Containers may be shown the numbers of their host, or a file that somebody makes up.
    """
    told = Path("/proc/loadavg")
    try:
        if told.stat().st_dev != Path("/proc").stat().st_dev:
            return None
        newest = int(told.read_text().split()[-1])
    except (OSError, ValueError, IndexError):  # it may be hidden
        return None
    return newest if newest >= os.getpid() else None


def parent(pid: int) -> int:
    """Return which process started a living one, or took it over; zero if the number is that of a thread."""
    try:
        told = status_of(process(pid))
    except OSError:
        return 0
    # The first thread may have ended, and others go on.
    ended = told["State"][0] in "ZX" and told.get("Threads", "1") == "1"
    alive = not ended and int(told["Tgid"]) == pid
    return int(told["PPid"]) if alive else 0
