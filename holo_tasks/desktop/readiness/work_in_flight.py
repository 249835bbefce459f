"""Detects whether the programs on a desktop still work on the last input, and on what.

The programs need not cooperate. The kernel shows connections with a request that has no answer (`exchanges`). It also
shows the CPU time of the programs (`cpu_use`) and the processes that the input started. The X server reports the
pointer's name (`pointer_name`), and the accessibility bus the busy documents. A thread learns the usual state of these
signs while the agent is idle, and the usual state is not waited for.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.recheck import CARET_TALL, CARET_WIDE
from holo_tasks.desktop.capture.repaints import Repaints
from holo_tasks.desktop.processes import ancestry
from holo_tasks.desktop.readiness.cpu_use import CpuUse, awake, cpu_sample
from holo_tasks.desktop.readiness.exchanges import Exchanges
from holo_tasks.desktop.readiness.pointer_name import PointerName
from holo_tasks.desktop.readiness.programs import Programs
from holo_tasks.desktop.readiness.tcp_table import TableUnavailable, TcpSocket, TcpTable

IDLE_EVERY_S, IDLE_AFTER_S, IDLE_FOR_S = 0.25, 1.0, 120.0
"""Seconds of the thread that learns while the agent is idle.

It takes a sample every ``IDLE_EVERY_S``. The agent counts as idle from ``IDLE_AFTER_S`` after a look, because the
effect of an input may come late. The thread stops after ``IDLE_FOR_S``.
"""
NEAR, BUTTON_WIDE, BUTTON_TALL = 8, 640, 120
"""In pixels: how close to the place of the input a repaint may be that of the pressed button itself, and its largest
size.
"""
CHILD_S = 1.0
"""A process that the input started is done, or waits for a person, after it has slept for this many seconds."""
MOST_FAILURES = 3
"""After this many failed queries in a row, the kernel is not asked for connections any more."""
AWAKE_S = 2.0
"""Seconds after an input or an answer during which a program may have no moment at which all its threads sleep."""
COST_TIMES = 20
"""The thread sleeps this many times as long as a sample takes, so that a large table of connections costs little."""
SERVER, ANSWER, CHILD, DISK, CPU, POINTER, DOCUMENT = (
    "its server",
    "its server's answer to show",
    "a process that it started",
    "its disk",
    "a computation",
    "something, as its pointer says",
    "its document to load",
)
"""The kinds of work that a program may wait for, in the words that people and the model read."""


@dataclass(frozen=True, slots=True)
class PendingWork:
    """The work that a program waits for. ``detail`` is for people on this machine: an address, or a file's name."""

    kind: str
    detail: str = ""


class WorkInFlight:
    """Detects the work in flight of one desktop.

    ``clients`` returns the processes that have windows, ``None`` if they are unknown. ``table`` makes the table of
    connections when it is first read, and may raise `TableUnavailable`. ``busy`` returns the elements that report to be
    busy, as documents do while they load. ``steady`` returns the areas that repaint at a pace of their own.
    ``own_network`` is false if the programs are meant to have another network than this process.
    """

    def __init__(
        self,
        programs: Programs,
        repaints: Repaints,
        pointer: PointerName,
        table: Callable[[], TcpTable] = TcpTable,
        *,
        clients: Callable[[], Collection[int] | None] = lambda: None,
        busy: Callable[[], Set[object]] = frozenset,
        steady: Callable[[], Sequence[Box]] = tuple,
        own_network: bool = True,
    ) -> None:
        self._programs = programs
        self._repaints = repaints
        self._pointer = pointer
        self._make_table = table
        self._clients = clients
        self._busy = busy
        self._steady = steady
        self._repeats: Sequence[Box] = ()
        self._own_network = own_network
        self._table: TcpTable | None = None
        self._failures = 0
        self._exchanges = Exchanges(self._drawn_between)
        self._cpu = CpuUse()
        self._turn = threading.Lock()
        self._wake = threading.Event()
        self._began_s = self._ended_s = 0.0
        self._looked_s: float | None = None
        self._starting = False
        self._started: frozenset[int] = frozenset()
        self._files: frozenset[str] = frozenset()
        self._lasting: set[str] = set()
        """File names of programs that an earlier input started and that kept running. They are not waited for."""
        self._said_busy: tuple[bool, Set[object]] = (False, frozenset())
        self._slept_s = 0.0
        self._children: dict[int, float] = {}
        """When each process that the input started was last found at work."""
        self._waited_s = 0.0
        """When the programs were last found waiting."""
        self._at: Point | None = None
        self.unseen: dict[str, str] = {}
        """The signs that cannot be read here, each with the reason."""
        if not pointer.seen:
            self.unseen["pointer"] = "the X server has no XFIXES"
        threading.Thread(target=self._learn, name="background-talk", daemon=True).start()

    @property
    def ended_ns(self) -> int:
        """When the last awaited work ended, in monotonic nanoseconds; zero without such work."""
        return round(1e9 * max(self._ended_s, self._exchanges.ended_s, 0.0))

    @property
    def sent(self) -> bool:
        """Whether a program sent a request since the last input."""
        return self._exchanges.sent

    @property
    def computed(self) -> bool:
        """Whether the programs used more CPU time than usual since the last input."""
        return self._cpu.computed

    def begin(self, at: Point | None = None, *, starting: bool = False) -> None:
        """Record that an input is about to be sent, to a point or to the focus.

        Work that is already in flight does not count as work on this input. Inputs without a look between them count as
        one. With ``starting``, a program is about to be started. Then only requests are waited for, because every start
        computes and starts processes.
        """
        with self._turn:
            another = self._programs.touch(at)
            self._at, self._repeats = at, self._steady()
            now_s, pids = time.monotonic(), self._programs.pids()
            if self._programs.is_target_unknown:
                self.unseen["programs"] = "the process of the window is unknown"
            else:
                self.unseen.pop("programs", None)
            again = self._looked_s is None and bool(self._began_s)
            self._read_table(lambda sockets: self._exchanges.begin(now_s, sockets, keep=again, starting=starting), pids)
            if not again or another:
                self._children.clear()
                self._cpu.begin(cpu_sample(pids, now_s))
                self._started, self._files = frozenset(pids), frozenset(map(_file, pids))
                self._said_busy = (self._pointer.is_busy(), self._busy())
            self._began_s, self._looked_s, self._starting = now_s, None, starting

    def waits_for(self, patience_s: float) -> PendingWork | None:
        """Return the work on the last input that the programs wait for now. Returns ``None`` if they are done."""
        with self._turn:
            now_s, pids = self._take_sample()
            wait = self._wait(now_s, pids, patience_s)
            if wait is None:
                self._ended_s = max(self._ended_s, self._waited_s)
            elif wait.kind != ANSWER:
                self._waited_s = now_s
            return wait

    def sample(self) -> None:
        """Update `sent` and `computed` once nothing is waited for any more."""
        with self._turn:
            self._take_sample()

    def looked(self, *, gave_up: PendingWork | None) -> None:
        """Record that the picture was taken.

        ``gave_up`` is the work that was still awaited when the patience was over.
        """
        with self._turn:
            self._looked_s = time.monotonic()
            if gave_up is not None:
                self._exchanges.gave_up()
                if gave_up.kind == CHILD:
                    self._lasting.add(gave_up.detail)
        self._wake.set()

    def _take_sample(self) -> tuple[float, Collection[int]]:
        """Take a sample after an input. Return its time and the processes of the programs."""
        now_s, pids = time.monotonic(), self._programs.pids()
        self._read_table(lambda sockets: self._exchanges.update(now_s, sockets), pids)
        self._cpu.update(cpu_sample(pids, now_s))
        return now_s, pids

    def _wait(self, now_s: float, pids: Collection[int], patience_s: float) -> PendingWork | None:
        if server := self._exchanges.waiting_for(now_s, patience_s):
            return PendingWork(SERVER, server)
        if self._exchanges.answer_will_show(now_s):
            return PendingWork(ANSWER)
        if self._has_not_slept(now_s, pids):
            return PendingWork(CPU)
        if self._starting:
            return None
        if child := self._child(now_s, pids):
            return PendingWork(CHILD, child)
        if self._cpu.is_blocked():
            return PendingWork(DISK)
        if self._pointer.is_busy() and not self._said_busy[0]:
            return PendingWork(POINTER, self._pointer.name())
        if self._busy() - self._said_busy[1]:
            return PendingWork(DOCUMENT)
        return PendingWork(CPU) if self._cpu.is_busy() else None

    def _has_not_slept(self, now_s: float, pids: Collection[int]) -> bool:
        """Return whether a thread is at work, and the threads were never all asleep since the input or the last answer.

        A program that gets an input or an answer passes it from thread to thread, and draws in the end. On a busy
        machine its threads wait long for a core. Meanwhile nothing is drawn and nothing is sent.
        """
        since_s = max(self._began_s, self._exchanges.ended_s)
        if self._slept_s >= since_s or now_s > since_s + AWAKE_S or self._cpu.is_usually_awake:
            return False
        # All are read twice: a thread that was read as asleep may be woken by one that is read later.
        if awake(pids) or awake(pids):
            return True
        self._slept_s = now_s
        return False

    def _child(self, now_s: float, pids: Collection[int]) -> str:
        """Return the file name of a process at work that the input started, or an empty string.

        A process with a window, or one that has slept for a while, is not waited for. A file that the programs already
        ran before the input belongs to them, as a browser's own processes do.
        """
        new = [pid for pid in pids if pid not in self._started]
        if not new:
            return ""
        clients = self._clients()
        if clients is None:
            return ""
        showing = {each for pid in clients for each in ancestry(pid)}
        for pid in new:
            file = _file(pid)
            name = Path(file).name
            if not name or file in self._files or name in self._lasting or pid in showing:
                continue
            if pid not in self._children or awake([pid]):
                self._children[pid] = now_s
            if now_s < self._children[pid] + CHILD_S:
                return name
        return ""

    def _read_table(self, then: Callable[[Sequence[TcpSocket]], None], pids: Collection[int]) -> None:
        if self._failures >= MOST_FAILURES:
            return
        try:
            if self._table is None:
                self._table = self._make_table()
            sockets = self._table.read(pids)
        except TableUnavailable as reason:
            self._failures += 1
            self.unseen["connections"] = str(reason)
            if self._table is not None:
                self._table.close()
                self._table = None
            return
        self._failures = 0
        if self._table.unreadable:
            self.unseen["connections"] = "the open files of some of its processes may not be read"
        elif self._own_network and any(map(_has_other_network, pids)):
            self.unseen["connections"] = "the program has a network of its own"
        else:
            self.unseen.pop("connections", None)
        then(sockets)

    def _drawn_between(self, begin_s: float, end_s: float, elsewhere: bool) -> bool:
        begin_ns, end_ns = round(begin_s * 1e9), round(end_s * 1e9)
        drawn = [each.box for each in self._repaints.latest() if begin_ns < each.at_ns <= end_ns]
        return any(not (self._repeats_itself(box) or (elsewhere and self._is_of_button(box))) for box in drawn)

    def _repeats_itself(self, box: Box) -> bool:
        """Return whether a repaint may be that of a text caret, or of a self-repainting area."""
        caret = box.width <= CARET_WIDE and box.height <= CARET_TALL
        return caret or any(place.encloses(box) for place in self._repeats)

    def _is_of_button(self, box: Box) -> bool:
        """Return whether a repaint may be that of the pressed button alone."""
        at = self._at
        return (
            at is not None and box.grown(NEAR).contains(at) and box.width <= BUTTON_WIDE and box.height <= BUTTON_TALL
        )

    def _learn(self) -> None:
        """Take samples for `IDLE_FOR_S` after each look, and learn the usual state from them."""
        while True:
            self._wake.wait()
            self._wake.clear()
            while (looked_s := self._looked_s) is not None and time.monotonic() < looked_s + IDLE_FOR_S:
                with self._turn:
                    began_s = time.monotonic()
                    if self._looked_s is not None:
                        self._rest(began_s, idle=began_s > self._looked_s + IDLE_AFTER_S)
                    took_s = time.monotonic() - began_s
                time.sleep(max(IDLE_EVERY_S, COST_TIMES * took_s))

    def _rest(self, now_s: float, *, idle: bool) -> None:
        pids = self._programs.pids()
        self._read_table(lambda sockets: self._exchanges.update(now_s, sockets, idle=idle), pids)
        self._cpu.rest(cpu_sample(pids, now_s))
        if idle:
            self._cpu.rest_awake(awake=awake(pids))


def _file(pid: int) -> str:
    """Return the file that a process runs. Returns an empty string if it has ended or may not be read."""
    try:
        return os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115
    except OSError:
        return ""


def _has_other_network(pid: int) -> bool:
    """Return whether a process has another network than this one. Returns false if that may not be read."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino != os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116
    except OSError:
        return False
