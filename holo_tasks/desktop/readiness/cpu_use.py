"""The CPU time that the programs on a desktop use, compared with their use while the agent is idle."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from holo_tasks.machine.proc import process, stat_of

BUSY_SHARE = 0.6
"""Programs compute if they use this share of one core, or more, beyond their usual share."""
USUAL_OVER_S, LATELY_S = 0.2, 0.04
"""Shortest periods in seconds over which the usual share and the current share are taken. The kernel counts in steps of
10 ms.
"""
SOME_S = 0.03
"""Seconds of CPU time, beyond the usual, above which a program does more than read a key or a press."""
TICK_S = 0.01
UTIME, STIME = 11, 12
"""Places in ``/proc/PID/stat`` after the name of the process (see ``proc(5)``). The state has place 0."""
MOST_SAMPLES, AWAKE_SAMPLES = 32, 8


@dataclass(frozen=True, slots=True)
class CpuSample:
    """CPU time of processes in seconds, by process. ``blocked`` are the processes that wait for a disk (state D)."""

    at_s: float
    used_s: dict[int, float]
    blocked: frozenset[int] = frozenset()

    def since(self, before: CpuSample) -> float:
        """Return the CPU time used between two samples, in seconds. New processes count from their start."""
        return sum(max(0.0, used - before.used_s.get(pid, 0.0)) for pid, used in self.used_s.items())


@dataclass
class CpuUse:
    """Follows the CPU time of the programs on a desktop from sample to sample."""

    usual: float = 0.0
    """The share of one core that they use while the agent is idle."""
    _awake_share: float = 0.0
    _samples: deque[CpuSample] = field(default_factory=lambda: deque(maxlen=MOST_SAMPLES))
    _began: CpuSample | None = None
    _idle: CpuSample | None = None

    def begin(self, sample: CpuSample) -> None:
        """Record that an input is sent now."""
        self._samples.clear()
        self._samples.append(sample)
        self._began, self._idle = sample, None

    def rest(self, sample: CpuSample) -> None:
        """Add a sample from a time when the agent is idle, and learn the usual share from it."""
        if self._idle is None:
            self._idle = sample
        elif (period_s := sample.at_s - self._idle.at_s) >= USUAL_OVER_S:
            share = sample.since(self._idle) / period_s
            self.usual, self._idle = (self.usual + share) / 2, sample

    def update(self, sample: CpuSample) -> None:
        """Add a sample after an input."""
        self._samples.append(sample)

    def is_busy(self) -> bool:
        """Return whether the programs have used more than usual just before the newest sample."""
        if len(self._samples) < 2:
            return False
        newest = self._samples[-1]
        past = (each for each in reversed(self._samples) if newest.at_s - each.at_s >= LATELY_S)
        before = next(past, None)
        if before is None:
            return False
        return newest.since(before) - TICK_S > (self.usual + BUSY_SHARE) * (newest.at_s - before.at_s)

    @property
    def is_usually_awake(self) -> bool:
        """Whether a thread of the programs runs, or waits for a core, most of the time while the agent is idle."""
        return self._awake_share > BUSY_SHARE

    def rest_awake(self, *, awake: bool) -> None:
        """Record whether a thread ran, or waited for a core, while the agent is idle."""
        self._awake_share += (awake - self._awake_share) / AWAKE_SAMPLES

    def is_blocked(self) -> bool:
        """Return whether a process waited for a disk in both of the two newest samples."""
        newest = list(self._samples)[-2:]
        return len(newest) == 2 and bool(newest[0].blocked & newest[1].blocked)

    @property
    def computed(self) -> bool:
        """Whether the programs have used more CPU time since the input than reading it takes."""
        if self._began is None or not self._samples:
            return False
        newest = self._samples[-1]
        return newest.since(self._began) > SOME_S + self.usual * (newest.at_s - self._began.at_s)


def awake(pids: Collection[int]) -> bool:
    """Return whether a thread of these processes runs now, or waits for a core."""
    for pid in pids:
        try:
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  a hundred threads, many times a second
        except OSError:  # the process has ended
            continue
        for thread in threads:
            with suppress(OSError, IndexError), open(f"/proc/{pid}/task/{thread}/stat", "rb") as stat:  # noqa: PTH123
                if stat.read(256).rpartition(b") ")[2][:1] == b"R":
                    return True
    return False


def cpu_sample(pids: Collection[int], at_s: float) -> CpuSample:
    """Read the CPU time of processes from the kernel. Processes that have ended are left out."""
    used, blocked = {}, set()
    for pid in pids:
        try:
            fields = stat_of(process(pid))
        except OSError:
            continue
        used[pid] = (int(fields[UTIME]) + int(fields[STIME])) * TICK_S
        if fields[0] == "D":
            blocked.add(pid)
    return CpuSample(at_s, used, frozenset(blocked))
