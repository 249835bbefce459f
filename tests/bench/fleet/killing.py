"""Kills of workers at random moments: the items of each victim, and the time until the last was done elsewhere."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.fleet.machines import Machine
from tests.bench.fleet.parts import Parts

KINDS = ("machine", "worker", "run")
"""Victims: a machine with all its processes, a worker with its flow runs, a flow run."""
FAULTS = ("server", "redis", "postgres", "update")
"""Other faults: one of two Prefect servers is killed, Redis or Postgres is restarted, a worker is replaced in an
orderly way, as for a new version.
"""
BACK_S = 5.0
"""Delay until a machine is up again, as a service manager would restart it."""


@dataclass
class Kill:
    """One kill. ``had`` are the items in progress; ``elsewhere_s`` is the time until the last one was done."""

    kind: str
    machine: str
    at: float
    had: list[str] = field(default_factory=list)
    elsewhere_s: float | None = None


@dataclass
class Killer:
    """Kills a number of times, at random moments spread over the work on a list."""

    machines: Sequence[Machine]
    kills: int
    items: int
    log: Path
    taken: Callable[[], Mapping[str, tuple[str, str]]]
    random: random.Random
    parts: Parts
    faults: Sequence[str] = ()
    done: list[Kill] = field(default_factory=list)

    def moments(self) -> list[int]:
        """Return the number of effects before each kill."""
        number = self.kills + len(self.faults)
        return sorted(self.random.randrange(1, max(2, self.items * 9 // 10)) for _ in range(number))

    async def work(self) -> None:
        """Kill until the planned number is reached, or until cancelled."""
        kinds = [*self.faults, *(KINDS[number % len(KINDS)] for number in range(self.kills))]
        for kind, moment in zip(kinds, self.moments(), strict=True):
            while len(_lines(self.log)) < moment or not (busy := [one for one in self.machines if one.runs()]):
                await asyncio.sleep(0.2)
            await asyncio.sleep(self.random.uniform(0.0, 3.0))  # anywhere in an item, not only right after its effect
            if kind in KINDS:
                await self._kill(self.random.choice(busy), kind)
            else:
                await self._break(kind, self.random.choice(busy))

    async def _break(self, kind: str, machine: Machine) -> None:
        one = Kill(kind, machine.name if kind == "update" else "", time.time())
        self.done.append(one)
        print(f"    {kind}: {'drained and begun anew' if kind == 'update' else 'ended, and begun again'}", flush=True)
        if kind == "update":
            await asyncio.to_thread(machine.replace)
            machine.start()
            return
        broken = {"server": self.parts.prefect[0], "redis": self.parts.redis, "postgres": self.parts.postgres}[kind]
        assert broken is not None
        await asyncio.to_thread(broken.crash)
        await asyncio.sleep(BACK_S)
        broken.start()  # in this thread, because some processes end with the thread that started them

    async def _kill(self, machine: Machine, kind: str) -> None:
        before = await asyncio.to_thread(self.taken)
        one = Kill(kind, machine.name, time.time())
        runs = set(map(str, machine.runs()))
        {"machine": machine.down, "worker": machine.kill_worker, "run": machine.kill_runs}[kind]()
        one.had = [item for item, (name, pid) in before.items() if name == machine.name or pid in runs]
        self.done.append(one)
        print(f"    killed a {kind} ({machine.name}, {len(runs)} runs, {len(one.had)} items under way)", flush=True)
        await asyncio.sleep(BACK_S)
        if machine.process is None:
            machine.start()


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []
