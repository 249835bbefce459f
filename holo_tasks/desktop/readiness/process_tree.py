"""Lists the descendants of a process, at little cost when few processes are new."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Sequence

from holo_tasks.desktop.processes import descendants
from holo_tasks.machine.proc import read_small, stat_of

MOST_TRIED = 100
"""Most new numbers that are tried one by one."""
PARENT, THREADS = 1, 17
"""Indexes of the parent and of the number of threads in /proc/…/stat, counted behind the name."""
PROC = "/proc"
MOST_NEW, MOST_AT_ONCE, AT_ONCE_S = 500, 8000, 10.0
"""Most new numbers of processes after which only their processes are checked, and most within ``AT_ONCE_S`` seconds.

The numbers begin again after some 32,000, so many new numbers after a long time may belong to any processes.
"""


class ProcessEnds:
    """Tells which of some processes have ended, with one system call for all that it knows.

    The kernel reports the end of a process, with all its threads, at a descriptor of it (pidfd). Without a descriptor
    the state in `/proc` is read. A descriptor is closed when its process has ended.
    """

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._poll = select.poll()
        self._turn = threading.Lock()

    def without_ended(self, pids: Sequence[int]) -> list[int]:
        """Return those of some processes that have not ended."""
        with self._turn:
            for pid in pids:
                if pid not in self._open:
                    with contextlib.suppress(OSError):
                        self._open[pid] = descriptor = os.pidfd_open(pid)
                        self._poll.register(descriptor, select.POLLIN)
            ended = {descriptor for descriptor, _ in self._poll.poll(0)}
            known = {pid for pid, descriptor in self._open.items() if descriptor not in ended}
            living = [pid for pid in pids if pid in known or is_living(pid)]  # its number may be that of an ended one
            for pid in [pid for pid, descriptor in self._open.items() if descriptor in ended]:
                descriptor = self._open.pop(pid)
                self._poll.unregister(descriptor)
                os.close(descriptor)
            return living


_ends = ProcessEnds()


class ProcessTree:
    """All living descendants of a process, by default of this one."""

    def __init__(self, root: int | None = None) -> None:
        self._root = root or os.getpid()
        self._newest = self._newer = -MOST_AT_ONCE
        self._newest_s = self._newer_s = 0.0
        self._started: list[int] = []

    def pids(self) -> list[int]:
        """Return the IDs of the descendants.

        The kernel numbers processes in turn, so only processes with new numbers are checked. These are the numbers
        above the newest process of the call before the last one. The last call may have missed a process, because a
        process gets its number a moment before it appears. Numbers above the newest one are from before a wrap of the
        numbers. After a wrap, all processes are searched.
        Most new numbers are those of threads or of ended processes, which ``/proc`` does not list.
        """
        newest, now_s = newest_process(), time.monotonic()
        most = MOST_AT_ONCE if now_s - self._newest_s < AT_ONCE_S else MOST_NEW
        if newest is None or not 0 <= newest - self._newest <= most:
            self._started = descendants(self._root)
        else:
            started = {self._root, *self._started}
            for pid in _listed(self._newest, newest) if newest > self._newest else ():
                if pid not in started and parent_pid(pid) in started:
                    started.add(pid)
                    self._started.append(pid)
        self._started = _ends.without_ended(self._started)
        self._newest, self._newer = self._newer, -MOST_AT_ONCE if newest is None else newest
        self._newest_s, self._newer_s = self._newer_s, now_s
        return self._started


def newest_process() -> int | None:
    """Return the number of the newest process, or ``None`` if ``/proc/loadavg`` does not show it.

    In a container the file may show the numbers of the host, or another file may be mounted over it.
    """
    file = f"{PROC}/loadavg"
    try:
        if os.stat(file).st_dev != os.stat(PROC).st_dev:  # noqa: PTH116  many times a second
            return None
        newest = int(read_small(file).split()[-1])
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


def _listed(above: int, to: int) -> list[int]:
    """Return the IDs of the processes above one number up to another, in their order. Threads are not listed.

    For few numbers the kernel is asked about each, which takes a microsecond: it opens a process and refuses a thread.
    To list all processes takes some hundred microseconds.
    """
    if to - above <= MOST_TRIED and _opens(os.getpid()):
        return [pid for pid in range(above + 1, to + 1) if _opens(pid)]
    return sorted(pid for name in os.listdir("/proc") if name.isdigit() and above < (pid := int(name)) <= to)  # noqa: PTH208


def _opens(pid: int) -> bool:
    """Return whether the kernel opens a process of this number. It refuses threads, unless it is too old for that."""
    try:
        os.close(os.pidfd_open(pid))
    except OSError:
        return False
    return True
