"""Gives inputs to targets, one after the other, within limits; what came of them goes to standard output as JSON.

Runs in a process of its own, which an input may kill: the input that is being tried is on the board, in shared memory.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import re
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz import limits
from tests.fuzz.crash import HERE, Crash, of_error
from tests.fuzz.mutate import LARGEST, Mutator
from tests.fuzz.target import Target
from tests.fuzz.targets import target_of

BOARD = struct.Struct(">QI40s")
BOARD_BYTES = BOARD.size + 2 * LARGEST
LEAK_BYTES = 24 << 20
SMALLER_S = 6.0
QUICK_S = 0.05
NOTABLE_S = 0.5
"""What takes longer is kept to be looked at, though it is no defect."""
SHAPED = 0.3


class Board:
    """What is tried just now: a count, the target's name, and the input."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self.count = 0

    @classmethod
    def on(cls, descriptor: int) -> Board:
        return cls(mmap.mmap(descriptor, BOARD_BYTES))

    def put(self, target: str, data: bytes) -> None:
        self.count += 1
        data = data[: 2 * LARGEST]
        self._memory[BOARD.size : BOARD.size + len(data)] = data
        self._memory[: BOARD.size] = BOARD.pack(self.count, len(data), target.encode())

    def seen(self) -> tuple[int, str, bytes]:
        count, size, name = BOARD.unpack(self._memory[: BOARD.size])
        return count, name.rstrip(b"\0").decode(), bytes(self._memory[BOARD.size : BOARD.size + size])


class Trial:
    """One target, tried again and again."""

    def __init__(self, target: Target, board: Board, start: int, output: Path) -> None:
        self.target, self._board, self._output = target, board, output
        self._seed = start
        self.mutator = Mutator(start, target.words)
        self.seeds = [*target.seeds(), *regressions(target.name)]
        self.pool = list(self.seeds)
        self.outcomes: set[str] = set()
        self.crashes: set[str] = set()
        self.inputs = 0
        self.slowest_s, self.slowest = 0.0, b""
        self._began_s = time.process_time()

    def one(self, data: bytes) -> Crash | None:
        """Try one input; say what was wrong, once for each place in the code."""
        self.inputs += 1
        began = time.process_time()
        outcome, crash = self._outcome(data)
        took_s = time.process_time() - began
        if took_s > self.slowest_s:
            self.slowest_s, self.slowest = took_s, data
        if outcome not in self.outcomes and crash is None:
            self.outcomes.add(outcome)
            if len(self.pool) < 600 and len(data) < LARGEST // 4:
                self.pool.append(data)
        if crash is not None and crash.name not in self.crashes:
            self.crashes.add(crash.name)
            crash.keep(self._smaller(data, crash), self._output)
            tell(crash.line())
        return crash

    def _outcome(self, data: bytes) -> tuple[str, Crash | None]:
        self._board.put(self.target.name, data)
        try:
            with limits.bound_cpu(self.target.cpu_s):
                return f"={self.target.run(data)!r}"[:300], None
        except self.target.expected as error:
            return re.sub(r"\d+|‘[^’]*’|'[^']*'", "…", f"{type(error).__name__}: {error}")[:80], None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            return "", of_error(self.target.name, error)

    def _smaller(self, data: bytes, crash: Crash) -> bytes:
        """Leave out what it does not take, for a few seconds."""
        until, size = time.monotonic() + SMALLER_S, max(1, len(data) // 2)
        while time.monotonic() < until:
            start = 0
            while start < len(data) and time.monotonic() < until:
                shorter = data[:start] + data[start + size :]
                _, again = self._outcome(shorter)
                if again is not None and again.name == crash.name:
                    data = shorter
                else:
                    start += size
            if size == 1:
                break
            size //= 2
        return data

    def shaped(self, examples: int) -> None:
        """Try inputs that were made by a strategy."""
        if self.target.shapes is None:
            return
        self._seed += 1

        @seed(self._seed)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(self.target.shapes())
        def attempt(data: bytes) -> None:
            self.one(data)
            if len(self.pool) < 300:
                self.pool.append(data)

        attempt()

    def leaks(self) -> int:
        """Try the same quick inputs over and over; return by how many bytes the process has grown meanwhile."""
        chance = Mutator(7, self.target.words)
        sample = [
            data for data in (*self.seeds[:6], *(chance.made(self.seeds) for _ in range(6))) if self._is_quick(data)
        ]
        for _ in range(2):
            for data in sample:
                self._outcome(data)
        before = limits.resident()
        for _ in range(self.target.leak_rounds):
            for data in sample:
                self._outcome(data)
        grown = limits.resident() - before
        if grown > LEAK_BYTES:
            crash = Crash(
                self.target.name, "Leak", "rounds", f"{grown} bytes more after {self.target.leak_rounds} rounds"
            )
            crash.keep(b"\n".join(sample)[:LARGEST], self._output)
            tell(crash.line())
        return grown

    def _is_quick(self, data: bytes) -> bool:
        began = time.process_time()
        _, crash = self._outcome(data)
        return crash is None and time.process_time() - began < QUICK_S

    def report(self, grown: int) -> None:
        if self.slowest_s > NOTABLE_S:
            self._output.mkdir(parents=True, exist_ok=True)
            (self._output / f"{self.target.name}-slowest").write_bytes(self.slowest)
        tell(
            json.dumps(
                {
                    "target": self.target.name,
                    "inputs": self.inputs,
                    "outcomes": len(self.outcomes),
                    "slowest_s": round(self.slowest_s, 3),
                    "slowest_bytes": len(self.slowest),
                    "peak_mb": limits.peak() >> 20,
                    "grown_kb": grown >> 10,
                    "cpu_s": round(time.process_time() - self._began_s, 2),
                }
            )
        )


def regressions(name: str) -> list[bytes]:
    """Return the inputs that once showed a defect of this target."""
    folder = HERE / "corpus" / name
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []


def run(trial: Trial, start: int, inputs: int | None, seconds: float, leaks: bool) -> None:
    """Try a target for a time, or with so many inputs: all samples first, then what is made of them."""
    limits.bound_memory(trial.target.memory_mb)
    try:
        until, chance = time.monotonic() + seconds, random.Random(start)
        for data in trial.seeds:
            trial.one(data)

        def go_on() -> bool:
            return time.monotonic() < until and (inputs is None or trial.inputs < inputs)

        while go_on():
            if trial.target.shapes is not None and chance.random() < SHAPED:
                trial.shaped(10)
            for _ in range(10):
                if go_on():
                    trial.one(trial.mutator.made(trial.pool))
        grown = trial.leaks() if leaks else 0
    finally:
        limits.unbind()
    trial.report(grown)


def tell(line: str) -> None:
    os.write(_told, line.encode() + b"\n")


def main(arguments: Sequence[str]) -> None:
    told: dict[str, Any] = json.loads(arguments[0])
    board, output, start = Board.on(told["board"]), Path(told["output"]), told.get("seed", 0)
    os.nice(5)
    limits.prepare()
    if told.get("again"):
        trial = Trial(target_of(told["targets"][0]), board, start, output)
        limits.bound_memory(trial.target.memory_mb)
        outcome, crash = trial._outcome(Path(told["again"]).read_bytes())
        tell(crash.line() if crash else json.dumps({"outcome": outcome}))
        return
    for name in told["targets"]:
        trial = Trial(target_of(name), board, start, output)
        inputs = trial.target.quick if told["quick"] else None
        run(trial, start, inputs, told["seconds"], told["leaks"])


if __name__ == "__main__":
    _told = os.dup(1)  # what a target prints is nobody's business
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    main(sys.argv[1:])
