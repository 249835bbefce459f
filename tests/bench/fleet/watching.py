"""CPU seconds and memory of each part of a working fleet, sampled at intervals."""

from __future__ import annotations

import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench_memory import PARTS

from tests.bench.fleet.machines import below, command_of

EVERY_S = 5.0
TICK = os.sysconf("SC_CLK_TCK")
RUN, WORKER, PROGRAM, DESKTOP = "flow runs", "Prefect's workers", "the program", "desktops"


class Watch:
    """Samples processes in a thread; ``cpu_s`` are per part, since its start."""

    def __init__(self, kinds: Callable[[], Mapping[str, Sequence[int]]], machines: Callable[[], Sequence[int]]) -> None:
        self._kinds, self._machines = kinds, machines
        self._seen: dict[tuple[int, int], tuple[str, int]] = {}
        self._first: dict[tuple[int, int], int] = {}
        self.memory_mb: dict[str, float] = {}
        self.desktops = 0
        self._over = threading.Event()
        self._look(first=True)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    @property
    def cpu_s(self) -> dict[str, float]:
        told: dict[str, float] = defaultdict(float)
        for which, (part, ticks) in self._seen.items():
            told[part] += (ticks - self._first.get(which, 0)) / TICK
        return dict(told)

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            self._look()

    def _look(self, *, first: bool = False) -> None:
        memory: Counter[str] = Counter()
        desktops = 0
        fixed = {pid: part for part, pids in self._kinds().items() for top in pids for pid in below(top)}
        of_machines = {pid: "" for top in self._machines() for pid in below(top)}
        for pid, part in {**of_machines, **fixed}.items():
            line = command_of(pid)
            named = part or _part(line)
            ticks = _ticks(pid)
            if ticks is None or not named:
                continue
            self._seen[pid, ticks[0]] = named, ticks[1]
            if first:
                self._first[pid, ticks[0]] = ticks[1]
            memory[named] += _pss_kb(pid)
            desktops += "Xvfb " in line
        if desktops >= self.desktops:  # all desktops at this time
            self.desktops = desktops
            self.memory_mb = {part: kb / 1024 for part, kb in memory.items()}


def _part(line: str) -> str:
    if "prefect.engine" in line:
        return RUN
    if "worker start" in line:
        return WORKER
    if any(part in line for part in PARTS if part != "holo-tasks run"):
        return DESKTOP
    return PROGRAM if "program.py" in line else ""


def _ticks(pid: int) -> tuple[int, int] | None:
    """Return a process's start time and its CPU time, in ticks of the kernel."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[19]), int(fields[11]) + int(fields[12])


def _pss_kb(pid: int) -> int:
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in told if line.startswith("Pss:")), 0)
