"""Machines of a fleet: each has its own processes, host name and /tmp, by Debian's bubblewrap, and a Prefect worker.

The others see it as another machine: they cannot see whether its processes live. Without permission for bubblewrap,
machines are plain processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common import script_starter

from tests.bench.fleet.parts import PREFECT, wait_until
from tests.support import warm

ROOT = Path(__file__).parents[3]
POOL = "fleet"
X_SERVERS = ("Xvfb", "openbox")
FORKED = """
import asyncio.unix_events
from tests.support import warm
warm.in_tests = True
asyncio.unix_events.subprocess = warm.Starting(warm.ScriptPopen)
from prefect.cli import app
app()
"""
"""A short form forks its worker, and the processes of its flow runs, from a process that has loaded Prefect."""


@cache
def can_close() -> bool:
    """Return whether machines can be isolated."""
    if warm.beside is not None:
        return False  # processes forked for a short form live among all others
    try:
        done = subprocess.run([*_closed("trial", Path(tempfile.gettempdir())), "true"], capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _closed(name: str, folder: Path) -> list[str]:
    own = [
        "--dev-bind",
        "/",
        "/",
        "--tmpfs",
        "/tmp",
        "--bind",
        str(ROOT),
        str(ROOT),
        "--bind",
        str(folder),
        str(folder),
    ]
    alone = ["--unshare-pid", "--unshare-uts", "--hostname", name, "--proc", "/proc", "--die-with-parent"]
    return ["bwrap", *own, *alone, "--"]


@dataclass
class Machine:
    """One machine. ``folder`` has its own state; ``process`` is ``None`` while it is down."""

    name: str
    desktops: int
    folder: Path
    env: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0

    def start(self) -> None:
        """Start the machine and its worker."""
        self.starts += 1
        (self.folder / "holo" / "draining").unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        own = {"HOLO_HOME": str(self.folder / "holo"), "PREFECT_HOME": str(self.folder / "prefect")}
        env = {**os.environ, **self.env, **own, "FLEET_DESKTOPS": str(self.desktops)}
        env |= {"PREFECT_WORKER_QUERY_SECONDS": "2", "TMPDIR": "/tmp" if can_close() else str(self._tmp())}
        command = [PREFECT] if warm.beside is None else [sys.executable, "-c", FORKED]
        command += ["worker", "start", "--pool", POOL, "--type", "process", "--limit", "1"]
        command += ["--name", f"{self.name}-{self.starts}", "--install-policy", "never"]
        with (self.folder / "worker.log").open("ab") as log:
            self.process = script_starter()(
                [*(_closed(self.name, self.folder.parent) if can_close() else []), *command],
                env=env,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                start_new_session=True,
            )

    def _tmp(self) -> Path:
        (self.folder / "tmp").mkdir(exist_ok=True)
        return self.folder / "tmp"

    def runs(self) -> list[int]:
        """Return the processes of the machine's flow runs."""
        return [pid for pid in self.processes() if _is_run(pid)]

    def processes(self) -> list[int]:
        """Return all processes of this machine, the oldest first."""
        return list(below(self.process.pid)) if self.process is not None else []

    def down(self) -> None:
        """Kill all its processes at the same moment, as a power failure does."""
        assert self.process is not None
        # The kernel ends a process namespace with its first process.
        everything = [] if can_close() else self.processes()
        os.kill(self.process.pid, signal.SIGKILL)
        for pid in everything:
            _end(pid)
        self.process.wait()
        self.process = None

    def kill_worker(self) -> None:
        """Kill its worker and the processes of its flow runs, and no others."""
        for pid in [pid for pid in self.processes() if _is_run(pid) or _is_worker(pid)]:
            _end(pid)
        assert self.process is not None
        self.process.wait()
        self.process = None

    def kill_runs(self) -> None:
        """Kill the processes of its flow runs; its worker lives, and notices."""
        for pid in self.runs():
            _end(pid)

    def replace(self, patience_s: float = 240.0) -> None:
        """Replace its worker as docs/how-to/fleet.md describes: work in progress ends first."""
        assert self.process is not None
        for pid in [pid for pid in self.processes() if _is_worker(pid)]:
            _end(pid, signal.SIGTERM)
        command = [str(Path(PREFECT).with_name("holo-tasks")), "drain", "--wait", str(patience_s)]
        drained = subprocess.run(command, env={**os.environ, "HOLO_HOME": str(self.folder / "holo")}, text=True)
        if drained.returncode:
            print(f"    {self.name} was not drained within {patience_s:.0f} s", flush=True)
        self.stop()

    def stop(self, patience_s: float = 60.0) -> None:
        """End it in an orderly way."""
        if self.process is None:
            return
        for pid in [pid for pid in self.processes() if _is_worker(pid)]:
            _end(pid, signal.SIGTERM)
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            print(f"    {self.name}: its worker did not end within {patience_s:.0f} s", flush=True)
            self.down()
        self.process = None

    def wait(self) -> None:
        """Wait until its worker polls for work."""
        log = self.folder / "worker.log"
        said = f"Worker '{self.name}-{self.starts}' started!"
        wait_until(lambda: said in log.read_text(), f"The start of a worker (see {log})")


def below(pid: int) -> Iterator[int]:
    """Yield a process and all its descendants."""
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from below(int(child))


def command_of(pid: int) -> str:
    """Return a process's command line; empty if the process is gone or not readable."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _is_worker(pid: int) -> bool:
    words = command_of(pid).split()
    prefect = any(word.endswith("prefect") or word == "prefect.cli" for word in words)
    return prefect and "worker" in words and "bwrap" not in words[:1]


def _is_run(pid: int) -> bool:
    words = command_of(pid).split()
    return words[:1] == [sys.executable] and "prefect.engine" in words


def _end(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
