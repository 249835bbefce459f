"""`make fuzz`: give every parser of outside data malformed input for a given time.

python -m tests.fuzz.fuzz [--seconds N] [--workers N] [--seed N] [--targets a,b] [--again FILE]

Each target runs in its own processes, in rounds, with limits on time and memory. Only its documented errors may be
raised. A crash is stored in `crashes-output/`, with the command that reproduces it.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.fuzz.crash import OUTPUT, ROOT, Crash
from tests.fuzz.targets import MODULES, names_in
from tests.support import warm

SLICE_S = 40.0
WALL_S = 60.0
_KEPT = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "SSL_CERT_FILE")
"""Environment variables that a child keeps. The tests' certificate list has one authority: reading a whole list takes
25 ms.
"""


@dataclass
class Figures:
    """Figures of one target."""

    inputs: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    outcomes: int = 0
    crashes: set[str] = field(default_factory=set)
    hangs: int = 0
    slowest_s: float = 0.0
    slowest_bytes: int = 0
    peak_mb: int = 0
    grown_kb: int = 0

    def add(self, told: dict[str, Any]) -> None:
        self.inputs += told["inputs"]
        self.cpu_s += told["cpu_s"]
        self.outcomes = max(self.outcomes, told["outcomes"])
        if told["slowest_s"] > self.slowest_s:
            self.slowest_s, self.slowest_bytes = told["slowest_s"], told["slowest_bytes"]
        self.peak_mb = max(self.peak_mb, told["peak_mb"])
        self.grown_kb = max(self.grown_kb, told["grown_kb"])


@dataclass
class Campaign:
    """Child processes, one after another or in parallel, and their results."""

    seed: int = 1
    wall_s: float = WALL_S
    output: Path = OUTPUT
    figures: dict[str, Figures] = field(default_factory=dict)
    crashes: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def child(self, targets: Sequence[str], *, seconds: float, quick: bool = False, leaks: bool = True) -> None:
        """Try targets in one process. Start it again after an input that killed it."""
        left = list(targets)
        while left:
            with self.lock:
                self.seed += 1
                start = 2 if quick else self.seed
            told = {"targets": left, "seconds": seconds, "quick": quick, "leaks": leaks, "seed": start}
            died = self._run(told, left)
            left = left[left.index(died) + 1 :] if died in left else []

    def child_until(self, end: float, seconds: float, target: str) -> None:
        """Try one target in its own process, unless the total time is over."""
        if time.monotonic() < end:
            self.child([target], seconds=seconds)

    def again(self, target: str, file: Path) -> str:
        """Try one input again; return the result."""
        told: list[str] = []
        self._run({"targets": [target], "again": str(file.resolve())}, [target], told)
        return "\n".join(told) or "\n".join(f"{name}\n{text}" for name, text in self.crashes.items())

    def _run(self, told: dict[str, Any], targets: list[str], lines: list[str] | None = None) -> str:
        """Run a child to its end. Return the target whose input killed it, or an empty string."""
        from tests.fuzz.child import BOARD_BYTES, Board

        began = time.monotonic()
        with (
            tempfile.TemporaryFile() as memory,
            tempfile.TemporaryFile() as errors,
            tempfile.TemporaryDirectory(prefix="holo-fuzz-") as home,
        ):
            memory.truncate(BOARD_BYTES)
            board = Board.on(memory.fileno())
            asked = json.dumps({**told, "board": memory.fileno(), "output": str(self.output)})
            process = warm.ScriptPopen(  # in a test run, forked from a process with most modules loaded
                [sys.executable, "-m", "tests.fuzz.child", asked],
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=[memory.fileno()],
                cwd=home,
                env=_environment(home),
                start_new_session=True,
            )
            hung = self._listen(process, board, lines)
            count, name, data = board.seen()
            errors.seek(0)
            said = errors.read().decode(errors="replace")
            with self.lock:
                for each in targets:
                    self.figures.setdefault(each, Figures()).seconds += (time.monotonic() - began) / len(targets)
            if process.returncode == 0:
                return ""
            if process.returncode > 0 and not hung:  # an error of the harness or of its arguments
                raise RuntimeError(f"the child for {', '.join(targets)} ended with {process.returncode}:\n{said}")
            what = "Hang" if hung else _death(process.returncode)
            crash = Crash(name, what, _place(said), said[-6000:])
            crash.keep(data, self.output)
            self._note(crash.target, crash.name, crash.told, inputs=count, hung=hung)
            return name

    def _listen(self, process: subprocess.Popen[bytes], board: Any, lines: list[str] | None) -> bool:
        """Read a child's output until it ends. Return whether it hung and had to be killed."""
        assert process.stdout is not None
        rest, last, moved, hung = b"", -1, time.monotonic(), False
        with process.stdout, selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            while True:
                if waiting.select(0.5):
                    data = os.read(process.stdout.fileno(), 1 << 16)
                    if not data:
                        break
                    *whole, rest = (rest + data).split(b"\n")
                    for line in whole:
                        self._hear(json.loads(line), lines)
                if (count := board.seen()[0]) != last:
                    last, moved = count, time.monotonic()
                elif time.monotonic() - moved > self.wall_s and not hung:
                    hung = True
                    process.send_signal(signal.SIGABRT)  # the fault handler prints the position in the code
                elif hung and time.monotonic() - moved > self.wall_s + 10:
                    break
        if hung:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return hung

    def _hear(self, told: dict[str, Any], lines: list[str] | None) -> None:
        if "outcome" in told:
            if lines is not None:
                lines.append(told["outcome"])
        elif "crash" in told:
            self._note(told["crash"][0], told["name"], told["crash"][3])
        else:
            with self.lock:
                self.figures.setdefault(told["target"], Figures()).add(told)

    def _note(self, target: str, name: str, told: str, *, inputs: int = 0, hung: bool = False) -> None:
        with self.lock:
            figures = self.figures.setdefault(target, Figures())
            figures.crashes.add(name)
            figures.inputs += inputs
            figures.hangs += hung
            self.crashes[name] = told

    def table(self) -> str:
        """Return the figures as a table."""
        heads = {"inputs": 9, "CPU s": 8, "outcomes": 9, "crashes": 8, "hangs": 6, "slowest": 9, "of bytes": 10}
        heads |= {"peak MB": 8, "grown kB": 9}
        rows = [f"{'target':<12}" + "".join(f"{name:>{width}}" for name, width in heads.items())]
        for name, one in self.figures.items():
            rows.append(
                f"{name:<12}{one.inputs:>9}{one.cpu_s:>8.1f}{one.outcomes:>9}{len(one.crashes):>8}"
                f"{one.hangs:>6}{one.slowest_s:>8.2f}s{one.slowest_bytes:>10}{one.peak_mb:>8}{one.grown_kb:>9}"
            )
        inputs = sum(one.inputs for one in self.figures.values())
        rows.append(
            f"{inputs} inputs, {len(self.crashes)} different crashes" + (f" in {self.output}" if self.crashes else "")
        )
        return "\n".join(rows)


def _environment(home: str) -> dict[str, str]:
    """Return a minimal environment with a new home folder, without the machine's own files."""
    paths = [str(ROOT), *(str(ROOT / below) for below in ("tests/apps", "flows", "flows/demo", "blocks"))]
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    return {
        **kept,
        "HOLO_HOME": f"{home}/holo",
        "HOME": home,
        # Hypothesis's table of all characters: computing it takes each process 1.5 s.
        "HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis"),
        "PREFECT_HOME": f"{home}/prefect",
        "MALLOC_ARENA_MAX": "1",
        "TMPDIR": home,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "0",
        "DO_NOT_TRACK": "1",
        **({} if warm.in_tests else {"PYTHONHASHSEED": "0"}),  # a forked process inherits its hash seed
        "PYTHONPATH": os.pathsep.join(paths),
    }


def _death(code: int) -> str:
    return f"Killed{-code}"


def _place(said: str) -> str:
    """Return the position in the code from the fault handler's output."""
    frames = [line.strip() for line in said.splitlines() if line.strip().startswith("File ")]
    ours = [line for line in frames if "/holo_tasks/" in line] or frames
    return ours[0].replace(str(ROOT), "") if ours else said.strip()[-200:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--targets", default="")
    parser.add_argument("--again", type=Path)
    options = parser.parse_args()
    campaign = Campaign(seed=options.seed)
    if options.again:
        print(campaign.again(options.again.name.split("-")[0], options.again))
        return 1 if campaign.crashes else 0
    targets = (
        options.targets.split(",") if options.targets else [name for module in MODULES for name in names_in(module)]
    )
    end = time.monotonic() + options.seconds
    slice_s = min(SLICE_S, max(1.0, options.seconds * options.workers / len(targets)))
    with ThreadPoolExecutor(options.workers) as pool:
        while (left := end - time.monotonic()) > 1:
            share = min(slice_s, max(1.0, left * options.workers / len(targets)))
            list(pool.map(partial(campaign.child_until, end, share), targets))
            print(campaign.table(), flush=True)
    return 1 if campaign.crashes else 0


if __name__ == "__main__":
    sys.exit(main())
