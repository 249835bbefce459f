"""Shared parts of the benchmarks: a scratch home, the legacy program on a screen, the rehearsal model, plain tables."""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ROOT / "tests" / "apps"
LEDGER = ROOT / "flows" / "demo" / "legacy_ledger.py"
sys.path[:0] = [str(ROOT), str(APPS), str(ROOT / "flows"), str(LEDGER.parent)]

if TYPE_CHECKING:
    from holo_tasks.core.attachment import Attachment
    from holo_tasks.core.events import Event
    from holo_tasks.core.ports import Desktop
    from holo_tasks.core.prompts.model import Model
    from holo_tasks.core.screen.frame import Frame, Shot
    from holo_tasks.core.screen.geometry import Box, Size
    from holo_tasks.desktop import VirtualDesktop
    from holo_tasks.loop.walk import Walk
    from tests.support.painted_desktop import PaintedDesktop

PASSWORD = "tulip-7"
SHARED = "HOLO_BENCH_PREFECT"
"""Variable with the Prefect API of the tests: starting a server takes longer than a benchmark's short form."""
READ = (
    "Open transaction {} in Meridian Ledger and read its record. If the program asks you to sign on again, the user "
    "is auditor and the password is {{{{secret:portal_password}}}}."
)


@contextmanager
def scratch_home() -> Iterator[Path]:
    """Give Prefect and this library a temporary home; call it before the import of Prefect."""
    with tempfile.TemporaryDirectory(prefix="holo-bench-", ignore_cleanup_errors=True) as scratch:
        home = Path(scratch)
        os.environ.update(
            PREFECT_HOME=str(home / "prefect"),
            HOLO_HOME=str(home / "holo"),
            PREFECT_LOGGING_LEVEL="WARNING",
            PREFECT_SERVER_ANALYTICS_ENABLED="0",
            DO_NOT_TRACK="1",
        )
        yield home


@contextmanager
def prefect_server(*, blocks: bool = False) -> Iterator[str]:
    """Run a Prefect server in this process's home, and let flows use it. Short forms get a server by ``SHARED``."""
    from holo_tasks.prefect_server.temporary import TemporaryServer

    if url := os.environ.get(SHARED):
        os.environ["PREFECT_API_URL"] = url
        yield url
        return
    server = TemporaryServer(os.environ, blocks=blocks)
    server.enter(os.environ)
    try:
        yield server.wait()
    finally:
        server.stop()


@contextmanager
def fresh_home() -> Iterator[dict[str, str]]:
    """Give the environment of a new user, without settings for Prefect or this library."""
    with tempfile.TemporaryDirectory(prefix="holo-bench-", ignore_cleanup_errors=True) as folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "HOLO_"))}
        yield {**kept, "HOME": folder}


@contextmanager
def served(environ: dict[str, str]) -> Iterator[dict[str, str]]:
    """Run a Prefect server in another home; give the variables that a command needs to reach it.

    Short forms get a server by ``SHARED``.
    """
    from holo_tasks.prefect_server.temporary import TemporaryServer

    if url := os.environ.get(SHARED):
        yield {"PREFECT_API_URL": url, "PREFECT_API_AUTH_STRING": os.environ["PREFECT_API_AUTH_STRING"]}
        return
    access: dict[str, str] = {}
    server = TemporaryServer({**environ, "PREFECT_HOME": f"{environ['HOME']}/.prefect"}, blocks=False)
    try:
        server.enter(access)
        server.wait()
        yield access
    finally:
        server.stop()


def starter() -> type[subprocess.Popen[Any]]:
    """Return the class that starts a command.

    If this process was forked for a short form, its commands are forked as well.
    """
    from tests.support import warm

    return subprocess.Popen if warm.beside is None else warm.Popen


def script_starter() -> type[subprocess.Popen[Any]]:
    """Return the class that starts a script or a module of Python, in the same way."""
    from tests.support import warm

    warm.in_tests = warm.beside is not None
    return warm.ScriptPopen


def command(base_url: str) -> list[str]:
    """Return a command that runs a goal on a program with a counting button."""
    from probe_counter import __file__ as counter

    from holo_tasks.desktop import tk_python

    run = [str(Path(sys.executable).with_name("holo-tasks")), "run", "Count.", "--allow", "act", "--json"]
    return [*run, "--base-url", base_url, "--app", shlex.join([tk_python(), counter])]


@contextmanager
def rehearsal(*, latency_ms: int = 0) -> Iterator[str]:
    """Serve the demo's playbook as the demo does; give the base URL."""
    playbook = ROOT / "flows" / "expense_audit.playbook.yaml"
    command = [sys.executable, "-m", "holo_tasks.rehearsal", "--playbook", str(playbook)]
    command += ["--log", "warning", "--latency-ms", str(latency_ms)]
    with script_starter()(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["base_url"]
        server.terminate()


@asynccontextmanager
async def ledger(
    folder: Path, size: Size | None = None, *options: str, still: bool = False
) -> AsyncIterator[VirtualDesktop]:
    """Start the legacy program, with the demo's transactions, on its own desktop.

    With ``still`` its text cursor does not blink.
    """
    from legacy_ledger_db import Transaction, create_database
    from receipts_mailbox import transactions

    from holo_tasks.core.screen.geometry import Size
    from holo_tasks.desktop import VirtualDesktop, tk_python

    own = Path(tempfile.mkdtemp(dir=folder))
    (own / ".Xdefaults").write_text("*insertOffTime: 0\n" if still else "")
    database = own / "ledger.db"
    create_database(database, [Transaction(**cast("dict[str, Any]", row)) for row in transactions()])
    app = shlex.join([tk_python(), str(LEDGER), "--db", str(database), *options])
    async with VirtualDesktop(
        size=size or Size(1280, 800),
        app=app,
        env={"MERIDIAN_PASSWORD": PASSWORD, "HOME": str(own)},
        secrets={"portal_password": PASSWORD},
    ) as desktop:
        yield desktop


@dataclass
class Unrecorded:
    """A recorder without disk writes, for measurements of the steps before it."""

    events: list[Event] = field(default_factory=list)

    async def keep(self, shot: Shot | Attachment) -> None:
        pass

    async def record(self, event: Event) -> None:
        self.events.append(event)


def walk_on(desktop: Desktop, model: Model, task: str, *, region: Box | None = None) -> Walk:
    """Return a walk that may act, through the usual doors except the recorder, without Prefect."""
    from holo_tasks.core.limits.budget import Guard, Limits
    from holo_tasks.core.prompts.transcript import Transcript
    from holo_tasks.loop.services import Services
    from holo_tasks.loop.walk import Walk
    from holo_tasks.models.encoding import ENCODERS
    from holo_tasks.safety.policy import Rules
    from holo_tasks.safety.redaction import NothingToRedact

    services = Services(
        desktop=desktop,
        redactor=NothingToRedact(),
        encoder=ENCODERS["default"],
        model=model,
        policy=Rules(trust="act"),
        recorder=Unrecorded(),
        now_s=time.monotonic,
    )
    return Walk(services, Guard("The benchmark", Limits(), started_s=time.monotonic()), 1, Transcript(task), region)


async def pursue(walk: Walk, *, max_steps: int = 60) -> str:
    """Work on a walk's task without Prefect; return the answer's text."""
    from holo_tasks.loop import loop
    from holo_tasks.loop.executor import Executor

    answered = await loop.pursue(
        Executor(walk, lambda walk, step: walk.act(step)),
        read=str,
        decide=lambda walk, answer_only: walk.decide(answer_only=answer_only),
        max_steps=max_steps,
    )
    return answered.text


def showing(frames: Sequence[Frame]) -> PaintedDesktop:
    """Return a desktop that shows recorded screens, the next one after each gesture."""
    from tests.support.painted_desktop import PaintedDesktop

    class Showing(PaintedDesktop):
        async def look(self, *, after_action: bool = False) -> Frame:
            return frames[len(self.gestures) % len(frames)]

    return Showing()


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, words: int = 1) -> None:
    """Print a plain table; the first ``words`` columns are text and left-aligned, the others right-aligned."""
    cells = [[str(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    print(f"\n{title}")
    for row in cells:
        aligned = [
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print(f"  {'  '.join(aligned).rstrip()}")
    sys.stdout.flush()


def ms(seconds: Sequence[float]) -> str:
    """Write the median of some times in milliseconds."""
    return f"{statistics.median(seconds) * 1000:.1f}"


def load() -> str:
    """Return the load of the machine: times mean little on a busy one."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"


def headline(script: str, what: str) -> None:
    """Print the subject of a benchmark, and the load of the machine at its begin."""
    print(f"\n== {Path(script).stem}: {what} ({load()})")
