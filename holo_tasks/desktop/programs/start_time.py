"""Measure how long a program has been starting, without the time in which it waited for a CPU.

A program on a busy machine needs much longer for its first window. It is slow then, and does not hang.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from holo_tasks.machine.proc import cpu_waits_ns

LOOK_S = 0.25
"""Seconds between two readings of the waits: a start has some ten threads."""
LEAST_SHARE = 0.2
"""Smallest share of the time that counts, so that a wait ends on a machine that has no time for the program at all."""


class StartTime:
    """Seconds since the start of a program. ``pids`` returns its processes.

    The longest wait of one of their threads in a period is left out, but at least `LEAST_SHARE` of the period counts.
    """

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids
        self._counted_s, self._counted_until = 0.0, time.monotonic()
        self._waits_ns: Mapping[tuple[int, str], int] = {}

    @property
    def seconds(self) -> float:
        """The seconds until now."""
        now = time.monotonic()
        period_s = now - self._counted_until
        if period_s < LOOK_S:
            return self._counted_s + period_s * LEAST_SHARE
        before, self._waits_ns = self._waits_ns, self._read_waits()
        # A thread that is new has waited since its start, at most for the period.
        longest_ns = max((waited - before.get(thread, 0) for thread, waited in self._waits_ns.items()), default=0)
        self._counted_s += max(period_s - longest_ns / 1e9, period_s * LEAST_SHARE)
        self._counted_until = now
        return self._counted_s

    def _read_waits(self) -> dict[tuple[int, str], int]:
        return {(pid, thread): waited for pid in self._pids() for thread, waited in cpu_waits_ns(pid).items()}
