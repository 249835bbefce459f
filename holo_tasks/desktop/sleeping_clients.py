"""Whether all programs on a screen sleep, and until when: a screen on which nobody can draw need not be watched.

The kernel tells of each thread in which call it sleeps, and for how long at most. If that is known of all threads of
the X server, of its clients and of whatever they started, and none of them hears from anybody else, then nothing is
drawn before the first of them wakes by itself. Whoever cannot be told to sleep counts as awake.
"""

from __future__ import annotations

import math
import os
import platform
import signal
import stat
import struct
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from holo_tasks.desktop.owners import clients
from holo_tasks.desktop.processes import descendants
from holo_tasks.desktop.xlink import XLink
from holo_tasks.machine.proc import process, stat_of, status_of

MILLISECONDS, TIMESPEC, FUTEX, CHILDREN = range(4)
_X86_64 = {
    "poll": (7, MILLISECONDS, 2),
    "epoll_wait": (232, MILLISECONDS, 3),
    "epoll_pwait": (281, MILLISECONDS, 3),
    "select": (23, TIMESPEC, 4),
    "pselect6": (270, TIMESPEC, 4),
    "ppoll": (271, TIMESPEC, 2),
    "futex": (202, FUTEX, 3),
    "wait4": (61, CHILDREN, 0),
    "waitid": (247, CHILDREN, 0),
}
_AARCH64 = {
    "epoll_pwait": (22, MILLISECONDS, 3),
    "pselect6": (72, TIMESPEC, 4),
    "ppoll": (73, TIMESPEC, 2),
    "futex": (98, FUTEX, 3),
    "wait4": (260, CHILDREN, 0),
    "waitid": (95, CHILDREN, 0),
}
_CALLS = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(platform.machine(), {})
WAITS = {number: (kind, which) for number, kind, which in _CALLS.values()}
"""The calls in which programs wait, by number: how each is told until when, and in which of its arguments."""
NEGATIVE = 1 << 31
PRIVATE, BY_THE_CALENDAR, OPERATION, WAIT_BITSET = 0x80, 0x100, 0x7F, 9
TIMESPEC_OF_64_BITS, LOWEST_OF_64_BITS = struct.Struct("=qq"), 1 << 32
ALARMS = sum(1 << number - 1 for number in (signal.SIGALRM, signal.SIGIO, *range(34, 65)))
"""Signals by which a process has itself woken, at a time that no call tells."""
WITHIN = ("pipe:[", "anon_inode:[eventpoll]", "anon_inode:[eventfd]")
"""What comes through these was sent by a process that is looked at, too."""
SILENT = {os.makedev(1, minor) for minor in (3, 5, 7, 8, 9)}
"""/dev/null, zero, full, random and urandom."""
TELLING = {Path(where).stat().st_dev for where in ("/proc", "/sys", "/sys/fs/cgroup") if Path(where).exists()}
"""Where a file can be waited on though it is a regular one."""
MOST_NEW = 500
"""With more new processes than this, to look through all is no slower."""


class Awake(Exception):
    """Somebody is at work, or may be at any time."""


class Untold(Exception):
    """Of somebody it cannot be told whether he sleeps."""


@dataclass(frozen=True, slots=True)
class Asleep:
    """All sleep, at least since ``since_ns``; none wakes by himself before ``until_ns`` (both monotonic).

    If somebody is awake, ``until_ns`` is over.
    """

    since_ns: int
    until_ns: float
    turns: dict[int, int] = field(default_factory=dict, repr=False)
    """How often each thread has run so far, but for those of the X server, which runs for us, too."""


class Sleepers:
    """The programs on one screen, whose X server and programs this process has started."""

    def __init__(self, link: XLink, server_pid: int, bus_pid: int = 0, mute: Collection[int] = ()) -> None:
        self._link = link
        self._server = server_pid
        self._bus = bus_pid
        self._mute = mute
        self._beside: dict[int, bool] = {}
        self._last: Asleep | None = None
        self._newest = self._newer = -MOST_NEW
        self._started: list[int] = []

    def look(self) -> Asleep | None:
        """Look whether all sleep; None where nobody can tell."""
        if not WAITS:
            return None
        began = time.monotonic_ns()
        try:
            now = self._look(began)
        except Awake:
            now = Asleep(began, 0)
        except (Untold, PermissionError):
            return None
        except OSError:  # one that has just ended
            now = Asleep(began, 0)
        last, self._last = self._last, now
        if last is not None and last.until_ns and now.until_ns and last.turns == now.turns:
            self._last = Asleep(last.since_ns, now.until_ns, now.turns)
        return self._last

    def _look(self, began: int) -> Asleep:
        connected = clients(self._link)
        started = self._descendants()
        if connected is None or self._server not in started or not connected.keys() - {os.getpid()} <= set(started):
            raise Untold
        until, turns = math.inf, {}
        for pid in started:
            if pid == self._server or pid in self._mute or (self._bus and not connected[pid] and self._is_beside(pid)):
                continue
            _check_alone(pid, connected[pid])
            for thread in os.scandir(f"/proc/{pid}/task"):
                until = min(until, _until(pid, Path(thread)))
                turns[int(thread.name)] = int(Path(thread, "schedstat").read_text().split()[2])
        # Last: it has answered us, so what it sleeps in now it began after that.
        for thread in os.scandir(f"/proc/{self._server}/task"):
            until = min(until, _until(self._server, Path(thread), began if int(thread.name) == self._server else None))
        return Asleep(time.monotonic_ns(), until, turns)

    def _is_beside(self, pid: int) -> bool:
        """Say whether a process is the desktop's message bus, or was started by it.

        It draws nothing, and whoever hears from it has a socket more than those to the X server.
        """
        if pid not in self._beside:
            self._beside[pid] = (
                pid == self._bus or (above := parent(pid)) == self._bus or self._beside.get(above, False)
            )
        return self._beside[pid]

    def _descendants(self) -> list[int]:
        """Return what this process has started, and what that has, and so on.

        Processes are numbered in turn, so it is enough to look at those that are newer than what was known: since the
        look before the last, for one has its number a moment before it is there.
        """
        newest = newest_process()
        if newest is None or not 0 <= newest - self._newest <= MOST_NEW:
            self._started = descendants(os.getpid())
        else:
            started = {os.getpid(), *self._started}
            for pid in range(self._newest + 1, newest + 1):
                if pid not in started and parent(pid) in started:
                    started.add(pid)
                    self._started.append(pid)
            self._started = [pid for pid in self._started if parent(pid)]
        self._newest, self._newer = self._newer, -MOST_NEW if newest is None else newest
        return self._started


def newest_process() -> int | None:
    """Return the number of the newest process; None where that is told of another machine than ours.

    Containers may be shown the numbers of their host, or a file that somebody makes up.
    """
    told = Path("/proc/loadavg")
    if told.stat().st_dev != Path("/proc").stat().st_dev:
        return None
    newest = int(told.read_text().split()[-1])
    return newest if newest >= os.getpid() else None


def parent(pid: int) -> int:
    """Return which process started a living one, or took it over; zero for what is only a thread of one."""
    try:
        told = status_of(process(pid))
    except OSError:
        return 0
    # The first thread may have ended, and others go on.
    ended = told["State"][0] in "ZX" and told.get("Threads", "1") == "1"
    alive = not ended and int(told["Tgid"]) == pid
    return int(told["PPid"]) if alive else 0


def _check_alone(pid: int, connections: int) -> None:
    """Raise `Untold` if a process may hear from anybody but the X server and the processes that are looked at."""
    timers = process(pid) / "timers"
    if int(status_of(process(pid))["SigCgt"], 16) & ALARMS or (timers.exists() and timers.read_bytes()):
        raise Untold
    sockets = 0
    for entry in os.scandir(f"/proc/{pid}/fd"):
        told = Path(entry).stat()
        if stat.S_ISSOCK(told.st_mode):
            sockets += 1
        elif stat.S_ISCHR(told.st_mode) and told.st_rdev in SILENT:
            continue
        elif (not stat.S_ISREG(told.st_mode) or told.st_dev in TELLING) and not os.readlink(entry).startswith(WITHIN):  # noqa: PTH115
            raise Untold
    if sockets > connections:
        raise Untold


def _until(pid: int, thread: Path, since_ns: int | None = None) -> float:
    """Return until when a thread sleeps. Raises `Awake` if it does not, or may wake at any time.

    ``since_ns`` is when it was seen awake, if it was: most calls are told how long to sleep, not until when.
    """
    state = stat_of(thread)[0]
    number, *told = (thread / "syscall").read_text().split()
    if state != "S" or len(told) < 8:
        raise Awake
    arguments, stack = [int(value, 16) for value in told[:6]], int(told[6], 16)
    if stack < LOWEST_OF_64_BITS:
        raise Untold  # the calls of older programs have other numbers
    if int(number) not in WAITS:
        raise Awake
    kind, which = WAITS[int(number)]
    value = arguments[which]
    endless = kind == CHILDREN or (bool(value & NEGATIVE) if kind == MILLISECONDS else not value)
    if kind == FUTEX and not arguments[1] & PRIVATE:
        raise Untold  # shared with whoever likes
    if endless:
        return math.inf
    if kind == MILLISECONDS and since_ns is not None:
        return since_ns + value * 1_000_000
    if kind == FUTEX and arguments[1] & OPERATION == WAIT_BITSET:
        return _moment(pid, value, by_the_calendar=bool(arguments[1] & BY_THE_CALENDAR))
    raise Awake


def _moment(pid: int, address: int, *, by_the_calendar: bool) -> int:
    """Read from a process until when it told the kernel to let it sleep."""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if len(told := os.pread(memory, TIMESPEC_OF_64_BITS.size, address)) < TIMESPEC_OF_64_BITS.size:
            raise Awake  # it has just ended
        seconds, rest = TIMESPEC_OF_64_BITS.unpack(told)
    finally:
        os.close(memory)
    clock = time.CLOCK_REALTIME if by_the_calendar else time.CLOCK_MONOTONIC
    return int(time.monotonic_ns() + seconds * 1_000_000_000 + rest - time.clock_gettime_ns(clock))
