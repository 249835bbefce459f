"""Whether all programs on a screen sleep, and until when: a screen on which nobody can draw need not be watched.

The kernel tells of each thread in which call it sleeps, and for how long at most. If that is known of all threads of
the X server, of its clients and of whatever they started, and none of them hears from anybody else, then nothing is
drawn before the first of them wakes by itself. Whoever cannot be told to sleep counts as awake. A program may hear from
others over Unix sockets, as over the desktop's message bus, if these are looked at, too.
"""

from __future__ import annotations

import math
import os
import platform
import signal
import stat
import struct
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from holo_tasks.desktop.owners import clients
from holo_tasks.desktop.readiness.process_tree import ProcessTree, parent
from holo_tasks.desktop.socket_peers import Peers
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
PRIVATE, BY_THE_CALENDAR, OPERATION, WAIT, WAIT_BITSET = 0x80, 0x100, 0x7F, 0, 9
TIMESPEC_OF_64_BITS, LOWEST_OF_64_BITS = struct.Struct("=qq"), 1 << 32
ALARMS = sum(1 << number - 1 for number in (signal.SIGALRM, signal.SIGIO, *range(34, 65)))
"""Signals by which a process has itself woken, at a time that no call tells."""
WITHIN = ("pipe:[", "anon_inode:[eventpoll]", "anon_inode:[eventfd]")
"""What comes through these was sent by a process that is looked at, too."""
SILENT = {os.makedev(1, minor) for minor in (3, 5, 7, 8, 9)}
"""/dev/null, zero, full, random and urandom."""
TELLING = {Path(where).stat().st_dev for where in ("/proc", "/sys", "/sys/fs/cgroup") if Path(where).exists()}
"""Where a file can be waited on though it is a regular one."""
MOST_SOCKETS = 8
"""A process with more of them is one of many that work together: to look at all takes longer than to wait."""
WATCHES_FILES = "anon_inode:inotify"
BEGAN = 19
"""Where the kernel tells when a thread began, behind its name."""


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


@dataclass(frozen=True, slots=True)
class Ran:
    """How often a thread has run when it was looked at, when that was, and since when at the earliest it sleeps now."""

    times: int
    looked_ns: int
    slept_ns: int

    @staticmethod
    def after(before: Ran | None, thread: Path, times: int, looked_ns: int) -> Ran:
        """Return what is known after one more look: a thread that has run since the last one sleeps since then."""
        if before is None:
            return Ran(times, looked_ns, _began_ns(thread))
        return Ran(times, looked_ns, before.slept_ns if times == before.times else before.looked_ns)


class Sleepers:
    """The programs on one screen, whose X server and programs this process has started."""

    def __init__(self, link: XLink, server_pid: int, bus_pid: int = 0, mute: Collection[int] = ()) -> None:
        self._link = link
        self._server = server_pid
        self._bus = bus_pid
        self._mute = mute
        self._peers = Peers()
        self._beside: dict[int, bool] = {}
        self._ran: dict[int, Ran] = {}
        self._held: dict[int, tuple[dict[Path, int], set[int]]] = {}
        self._checked = False
        """Whether it is known who is at the other ends, and nobody has run since who could have changed that."""
        self._last: Asleep | None = None
        self._tree = ProcessTree()

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
        started = self._tree.pids()
        if connected is None or self._server not in started or not connected.keys() - {os.getpid()} <= set(started):
            raise Untold
        watched = [pid for pid in started if pid != self._server and pid not in self._mute]
        beside = [pid for pid in watched if self._bus and not connected[pid] and self._is_beside(pid)]
        turns = {pid: _turns(pid) for pid in watched if pid not in beside}
        held = {pid: self._sockets(pid, turns[pid], connected[pid]) for pid in turns}
        hearing = [pid for pid in held if len(held[pid]) > connected[pid]]
        if hearing:
            turns |= {pid: _turns(pid) for pid in beside}
            held |= {pid: self._sockets(pid, turns[pid], 0) for pid in beside}
            if not self._checked:
                self._check_peers(held, {number for pid in (*hearing, *beside) for number in held[pid]})
            self._checked = True
        return self._asleep(turns, began)

    def _sockets(self, pid: int, turns: dict[Path, int], connections: int) -> set[int]:
        """Return the sockets that a process has open: still those of the last look if it has not run since."""
        known = self._held.get(pid)
        if known is None or known[0] != turns:
            self._checked = False
            known = self._held[pid] = turns, _sockets(pid, connections, of_bus=pid == self._bus)
        return known[1]

    def _check_peers(self, held: Mapping[int, Collection[int]], hears: Collection[int]) -> None:
        """Raise `Untold` if somebody is at the other end of one of these sockets who is not looked at.

        Who comes to the bus wakes it, and has a socket there from then on. It has one to the kernel's audit, too, of
        which nobody can tell.
        """
        inside = {*chain.from_iterable(held.values()), *_numbers(self._server), *_numbers(os.getpid())}
        peers = {number: self._peers.of(number) for number in hears}
        of_bus = held.get(self._bus, ())
        untold = [number for number in of_bus if not peers[number]]
        strange = (number for number, peer in peers.items() if peer not in inside)
        if len(untold) > 1 or any(number not in of_bus or peers[number] > 0 for number in strange):
            raise Untold

    def _asleep(self, turns: Mapping[int, Mapping[Path, int]], began: int) -> Asleep:
        """Return until when these processes and the X server sleep; how often each thread has run was read before."""
        until, ran = math.inf, {}
        for pid, threads in turns.items():
            for thread, times in threads.items():
                number = int(thread.name)
                self._ran[number] = ran[number] = Ran.after(self._ran.get(number), thread, times, began)
                until = min(until, _until(pid, thread, ran[number].slept_ns))
        self._ran = ran
        # Last: it has answered us, so what it sleeps in now it began after that.
        for thread in map(Path, os.scandir(f"/proc/{self._server}/task")):
            until = min(until, _until(self._server, thread, began if int(thread.name) == self._server else None))
        return Asleep(time.monotonic_ns(), until, {number: each.times for number, each in ran.items()})

    def _is_beside(self, pid: int) -> bool:
        """Say whether a process is the desktop's message bus, or was started by it.

        It draws nothing, and whoever hears from it has a socket more than those to the X server.
        """
        if pid not in self._beside:
            self._beside[pid] = (
                pid == self._bus or (above := parent(pid)) == self._bus or self._beside.get(above, False)
            )
        return self._beside[pid]


def _sockets(pid: int, connections: int, *, of_bus: bool) -> set[int]:
    """Return the sockets by which a process hears, by number. Raises `Untold` if it may hear by other means.

    ``connections`` are those to the X server. The message bus watches its settings, too, and draws nothing.
    """
    timers = process(pid) / "timers"
    if int(status_of(process(pid))["SigCgt"], 16) & ALARMS or (timers.exists() and timers.read_bytes()):
        raise Untold
    found = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        told = Path(entry).stat()
        if stat.S_ISSOCK(told.st_mode):
            found.add(told.st_ino)
            if not of_bus and len(found) > connections + MOST_SOCKETS:
                raise Untold
        elif stat.S_ISCHR(told.st_mode) and told.st_rdev in SILENT:
            continue
        elif not stat.S_ISREG(told.st_mode) or told.st_dev in TELLING:
            leads = os.readlink(entry)  # noqa: PTH115
            if not leads.startswith(WITHIN) and not (of_bus and leads == WATCHES_FILES):
                raise Untold
    return found


def _numbers(pid: int) -> Iterator[int]:
    """Yield the numbers of all sockets that a process has open."""
    told = (Path(entry).stat() for entry in os.scandir(f"/proc/{pid}/fd"))
    return (each.st_ino for each in told if stat.S_ISSOCK(each.st_mode))


def _turns(pid: int) -> dict[Path, int]:
    """Return how often each thread of a process has run."""
    threads = map(Path, os.scandir(f"/proc/{pid}/task"))
    return {thread: int((thread / "schedstat").read_text().split()[2]) for thread in threads}


def _began_ns(thread: Path) -> int:
    """Return when a thread began, by the clock that `time.monotonic_ns` has."""
    since_start = int(stat_of(thread)[BEGAN]) * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))
    return since_start + time.monotonic_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _until(pid: int, thread: Path, since_ns: int | None = None) -> float:
    """Return until when a thread sleeps, at least. Raises `Awake` if it does not, or may wake at any time.

    ``since_ns`` is what it began to sleep after, if that is known: most calls are told how long, not until when.
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
    if since_ns is not None and (kind == TIMESPEC or (kind == FUTEX and arguments[1] & OPERATION == WAIT)):
        return since_ns + _nanoseconds(pid, value)
    if kind == FUTEX and arguments[1] & OPERATION == WAIT_BITSET:
        return _moment(pid, value, by_the_calendar=bool(arguments[1] & BY_THE_CALENDAR))
    raise Awake


def _moment(pid: int, address: int, *, by_the_calendar: bool) -> int:
    """Return until when a process told the kernel to let it sleep."""
    clock = time.CLOCK_REALTIME if by_the_calendar else time.CLOCK_MONOTONIC
    return time.monotonic_ns() + _nanoseconds(pid, address) - time.clock_gettime_ns(clock)


def _nanoseconds(pid: int, address: int) -> int:
    """Read from a process the time that it told the kernel."""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if len(told := os.pread(memory, TIMESPEC_OF_64_BITS.size, address)) < TIMESPEC_OF_64_BITS.size:
            raise Awake  # it has just ended
        seconds, rest = TIMESPEC_OF_64_BITS.unpack(told)
    finally:
        os.close(memory)
    return int(seconds * 1_000_000_000 + rest)
