"""Find out whether all programs on a screen sleep, and until when. Meanwhile the screen cannot change.

For each thread the kernel shows the system call in which it sleeps, and its timeout. The check covers all threads of
the X server, of its clients and of the processes that they started. If no other process can wake any of these threads,
nothing is drawn before the first timeout. A thread whose sleep is not certain counts as awake. A program may be
connected by Unix sockets to processes that are checked too, such as the desktop's message bus.

`SleepDetector` is the main class. `settled_screen` uses it to capture earlier.
"""

from __future__ import annotations

import math
import os
import platform
import re
import signal
import stat
import struct
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from holo_tasks.desktop.programs.window_owners import clients
from holo_tasks.desktop.readiness.process_tree import ProcessTree, parent_pid
from holo_tasks.desktop.x11.socket_peers import Peers
from holo_tasks.desktop.x11.x_connection import XConnection
from holo_tasks.machine.proc import process, read_small, stat_of, state_of

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
"""The system calls in which programs wait, by number: the format of the timeout, and the index of its argument."""
NEGATIVE = 1 << 31
PRIVATE, REALTIME_CLOCK, OPERATION, WAIT, WAIT_BITSET = 0x80, 0x100, 0x7F, 0, 9
TIMESPEC_OF_64_BITS, LOWEST_OF_64_BITS = struct.Struct("=qq"), 1 << 32
ALARMS = sum(1 << number - 1 for number in (signal.SIGALRM, signal.SIGIO, *range(34, 65)))
"""Signals by which a process can have itself woken, at a time that its system call does not show."""
OWN_TREE_LINKS = ("pipe:[", "anon_inode:[eventpoll]", "anon_inode:[eventfd]")
"""Links of descriptors on which only processes of the same tree can send, which are checked as well."""
SILENT_DEVICES = {os.makedev(1, minor) for minor in (3, 5, 7, 8, 9)}
"""/dev/null, zero, full, random and urandom."""
WAITABLE_FILE_SYSTEMS = {
    Path(where).stat().st_dev for where in ("/proc", "/sys", "/sys/fs/cgroup") if Path(where).exists()
}
"""File systems whose regular files a process can wait on."""
MOST_SOCKETS = 8
"""Most sockets of a process without those to the X server. A process with more belongs to a large group of processes,
and checking the whole group takes longer than waiting."""
CAUGHT = re.compile(rb"\nSigCgt:\s*([0-9a-f]+)\n")
"""The signals that a process handles, in its status."""
INOTIFY = "anon_inode:inotify"
START_TIME = 19
"""Index of a thread's start time in /proc/…/stat, counted behind its name."""


class Awake(Exception):
    """A thread is awake, or may wake at any time."""


class SleepUnknown(Exception):
    """It cannot be found out whether all threads sleep."""


@dataclass(frozen=True, slots=True)
class SleepInterval:
    """All programs sleep at least since ``since_ns``, and none wakes by itself before ``until_ns`` (both monotonic).

    If a thread is awake, ``until_ns`` is zero.
    """

    since_ns: int
    until_ns: float
    turns: dict[int, int] = field(default_factory=dict, repr=False)
    """How often each thread has run. The X server's threads are missing, because the server also works for us."""


@dataclass(frozen=True, slots=True)
class ThreadRuns:
    """How often a thread had run at a check, the time of the check, and the earliest start of its current sleep."""

    times: int
    looked_ns: int
    slept_ns: int

    @staticmethod
    def after(before: ThreadRuns | None, thread: str, times: int, looked_ns: int) -> ThreadRuns:
        """Return the record after one more check.

        A thread that ran since the check before has slept since that check at the earliest.
        """
        if before is None:
            return ThreadRuns(times, looked_ns, _began_ns(thread))
        return ThreadRuns(times, looked_ns, before.slept_ns if times == before.times else before.looked_ns)


class SleepDetector:
    """The programs on one screen. This process must have started its X server and its programs."""

    def __init__(self, link: XConnection, server_pid: int, bus_pid: int = 0, mute: Collection[int] = ()) -> None:
        self._link = link
        self._server = server_pid
        self._bus = bus_pid
        self._mute = mute
        self._peers = Peers()
        self._of_bus: dict[int, bool] = {}
        self._ran: dict[int, ThreadRuns] = {}
        self._watched: tuple[int, ...] = ()
        """The processes of the last complete check, without the X server."""
        self._held: dict[int, tuple[dict[str, int], set[int]]] = {}
        self._checked = False
        """Whether the sockets' peers were checked, and no process has run since that could have changed them."""
        self._last: SleepInterval | None = None
        self._tree = ProcessTree()

    def look(self) -> SleepInterval | None:
        """Return whether all programs sleep, and until when; ``None`` if that cannot be found out."""
        if not WAITS:
            return None
        began = time.monotonic_ns()
        try:
            now = self._look(began)
        except Awake:
            now = SleepInterval(began, 0)
        except (SleepUnknown, PermissionError):
            return None
        except OSError:  # a process that has just ended
            now = SleepInterval(began, 0)
        last, self._last = self._last, now
        if last is not None and last.until_ns and now.until_ns and last.turns == now.turns:
            self._last = SleepInterval(last.since_ns, now.until_ns, now.turns)
        return self._last

    def note_runs(self) -> None:
        """Record how often each thread has run until now, right before an input.

        The next `look` then knows that a thread which ran meanwhile fell asleep after this moment. Only the threads of
        the last complete check are read: a thread that is unknown counts as asleep since its start, which is no later
        than the truth. So this costs a tenth of `look`, and a picture is never taken earlier for it.
        """
        if not self._watched:
            self.look()
            return
        began, ran = time.monotonic_ns(), dict[int, ThreadRuns]()
        for pid in self._watched:
            with suppress(OSError):  # it has just ended
                for thread, times in _run_counts(pid).items():
                    number = _number(thread)
                    ran[number] = ThreadRuns.after(self._ran.get(number), thread, times, began)
        self._ran = ran

    def _look(self, began: int) -> SleepInterval:
        connected = clients(self._link)
        started = self._tree.pids()
        if connected is None or self._server not in started or not connected.keys() - {os.getpid()} <= set(started):
            raise SleepUnknown
        watched = [pid for pid in started if pid != self._server and pid not in self._mute]
        bus_pids = [pid for pid in watched if self._bus and not connected[pid] and self._is_of_bus(pid)]
        turns = {pid: _run_counts(pid) for pid in watched if pid not in bus_pids}
        held = {pid: self._sockets(pid, turns[pid], connected[pid]) for pid in turns}
        hearing = [pid for pid in held if len(held[pid]) > connected[pid]]
        if hearing:
            turns |= {pid: _run_counts(pid) for pid in bus_pids}
            held |= {pid: self._sockets(pid, turns[pid], 0) for pid in bus_pids}
            if not self._checked:
                self._check_peers(held, {number for pid in (*hearing, *bus_pids) for number in held[pid]})
            self._checked = True
        return self._asleep(turns, began)

    def _sockets(self, pid: int, turns: dict[str, int], connections: int) -> set[int]:
        """Return the open sockets of a process; those of the last check if it has not run since."""
        known = self._held.get(pid)
        if known is None or known[0] != turns:
            self._checked = False
            known = self._held[pid] = turns, _sockets(pid, connections, of_bus=pid == self._bus)
        return known[1]

    def _check_peers(self, held: Mapping[int, Collection[int]], hears: Collection[int]) -> None:
        """Raise `SleepUnknown` if one of the sockets leads to a process that is not checked.

        A listening socket of the bus is allowed: a new client would wake the bus, and then have a socket there. The
        bus also has one socket to the kernel's audit, whose peer is unknown.
        """
        inside = {*chain.from_iterable(held.values()), *_numbers(self._server), *_numbers(os.getpid())}
        peers = {number: self._peers.of(number) for number in hears}
        of_bus = held.get(self._bus, ())
        unknown_peers = [number for number in of_bus if not peers[number]]
        strange = (number for number, peer in peers.items() if peer not in inside)
        if len(unknown_peers) > 1 or any(number not in of_bus or peers[number] > 0 for number in strange):
            raise SleepUnknown

    def _asleep(self, turns: Mapping[int, Mapping[str, int]], began: int) -> SleepInterval:
        """Return until when these processes and the X server sleep.

        ``turns`` holds how often each thread has run, read before this call. ``began`` is the start of the check.
        """
        until, ran = math.inf, {}
        for pid, threads in turns.items():
            for thread, times in threads.items():
                number = _number(thread)
                self._ran[number] = ran[number] = ThreadRuns.after(self._ran.get(number), thread, times, began)
                until = min(until, _earliest_wake(pid, thread, ran[number].slept_ns))
        self._ran, self._watched = ran, tuple(turns)
        # The X server comes last. It has just answered us, so it began its current sleep after ``began``.
        for thread in _threads(self._server):
            since = began if _number(thread) == self._server else None
            until = min(until, _earliest_wake(self._server, thread, since))
        return SleepInterval(time.monotonic_ns(), until, {number: each.times for number, each in ran.items()})

    def _is_of_bus(self, pid: int) -> bool:
        """Return whether a process is the desktop's message bus, or was started by it.

        The bus draws nothing, and each of its clients has one more socket than those to the X server.
        """
        if pid not in self._of_bus:
            self._of_bus[pid] = (
                pid == self._bus or (above := parent_pid(pid)) == self._bus or self._of_bus.get(above, False)
            )
        return self._of_bus[pid]


def _sockets(pid: int, connections: int, *, of_bus: bool) -> set[int]:
    """Return the inodes of a process's sockets. Raises `SleepUnknown` if it can be woken by other means.

    ``connections`` is the number of its connections to the X server. The message bus may also watch its settings files,
    because it draws nothing.
    """
    timers = process(pid) / "timers"
    caught = CAUGHT.search(read_small(f"/proc/{pid}/status"))
    if caught is None or int(caught[1], 16) & ALARMS or (timers.exists() and timers.read_bytes()):
        raise SleepUnknown
    found = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        reported = entry.stat()
        if stat.S_ISSOCK(reported.st_mode):
            found.add(reported.st_ino)
            if not of_bus and len(found) > connections + MOST_SOCKETS:
                raise SleepUnknown
        elif stat.S_ISCHR(reported.st_mode) and reported.st_rdev in SILENT_DEVICES:
            continue
        elif not stat.S_ISREG(reported.st_mode) or reported.st_dev in WAITABLE_FILE_SYSTEMS:
            leads = os.readlink(entry)  # noqa: PTH115
            if not leads.startswith(OWN_TREE_LINKS) and not (of_bus and leads == INOTIFY):
                raise SleepUnknown
    return found


def _numbers(pid: int) -> Iterator[int]:
    """Yield the inodes of a process's open sockets."""
    reported = (entry.stat() for entry in os.scandir(f"/proc/{pid}/fd"))
    return (each.st_ino for each in reported if stat.S_ISSOCK(each.st_mode))


def _threads(pid: int) -> list[str]:
    """Return the folders of a process's threads."""
    return [f"/proc/{pid}/task/{name}" for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208


def _number(thread: str) -> int:
    return int(thread.rpartition("/")[2])


def _run_counts(pid: int) -> dict[str, int]:
    """Return how often each thread of a process has run."""
    return {thread: int(read_small(f"{thread}/schedstat").split()[2]) for thread in _threads(pid)}


def _began_ns(thread: str) -> int:
    """Return the start time of a thread on the clock of `time.monotonic_ns`."""
    since_start = int(stat_of(thread)[START_TIME]) * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))
    return since_start + time.monotonic_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _earliest_wake(pid: int, thread: str, since_ns: int | None = None) -> float:
    """Return the earliest time at which a thread may wake. Raises `Awake` if it is awake or may wake at any time.

    ``since_ns`` is a time before its sleep began, if known. It is needed because most calls take a duration. Raises
    `SleepUnknown` if the call's arguments cannot be read with certainty.
    """
    state = state_of(thread)
    number, *reported = read_small(f"{thread}/syscall").split()
    if state != "S" or len(reported) < 8:
        raise Awake
    arguments, stack = [int(value, 16) for value in reported[:6]], int(reported[6], 16)
    if stack < LOWEST_OF_64_BITS:
        raise SleepUnknown  # a 32-bit program, whose calls have other numbers
    if int(number) not in WAITS:
        raise Awake
    kind, which = WAITS[int(number)]
    value = arguments[which]
    endless = kind == CHILDREN or (bool(value & NEGATIVE) if kind == MILLISECONDS else not value)
    if kind == FUTEX and not arguments[1] & PRIVATE:
        raise SleepUnknown  # a futex in shared memory, which any process may wake
    if endless:
        return math.inf
    if kind == MILLISECONDS and since_ns is not None:
        return since_ns + value * 1_000_000
    if since_ns is not None and (kind == TIMESPEC or (kind == FUTEX and arguments[1] & OPERATION == WAIT)):
        return since_ns + _nanoseconds(pid, value)
    if kind == FUTEX and arguments[1] & OPERATION == WAIT_BITSET:
        return _timeout_of_call(pid, value, realtime=bool(arguments[1] & REALTIME_CLOCK))
    raise Awake


def _timeout_of_call(pid: int, address: int, *, realtime: bool) -> int:
    """Return the absolute timeout of a call, read from the process's memory, as monotonic nanoseconds."""
    clock = time.CLOCK_REALTIME if realtime else time.CLOCK_MONOTONIC
    return time.monotonic_ns() + _nanoseconds(pid, address) - time.clock_gettime_ns(clock)


def _nanoseconds(pid: int, address: int) -> int:
    """Read a timespec from the memory of a process, in nanoseconds. Raises `Awake` if the process has just ended."""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if len(reported := os.pread(memory, TIMESPEC_OF_64_BITS.size, address)) < TIMESPEC_OF_64_BITS.size:
            raise Awake  # it has just ended
        seconds, rest = TIMESPEC_OF_64_BITS.unpack(reported)
    finally:
        os.close(memory)
    return int(seconds * 1_000_000_000 + rest)
