"""Run the expense audit on the real legacy program, kill it, run it again to its end, and count the flags."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl
import sqlalchemy as sa
from legacy_ledger_db import LedgerFile, Transaction, create_database
from receipts_mailbox import Expected, messages, transactions

from holo_tasks.desktop import tk_python
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.items import Items
from holo_tasks.safety.records.ledger import FINISHED
from tests.faults.clerk import HEIGHT, WIDTH, Clerk
from tests.support import warm
from tests.support.command_line import EXECUTABLE, related

FAULTS = Path(__file__).parent
LEDGER = FAULTS.parent.parent / "flows" / "demo" / "legacy_ledger.py"
MOST_RUNS, RUN_PATIENCE_S = 8, 180.0
OUTCOMES = ("wrong_amount", "match", "unknown_merchant", "unreadable")
"""One receipt of each kind. Two of the four need a flag."""


class Runner:
    """A process that forks one process per run of the flow."""

    def __init__(self, env: dict[str, str]) -> None:
        self._process = warm.ScriptPopen(
            [sys.executable, str(FAULTS / "runner.py")],
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def start(self, job: dict[str, Any]) -> int:
        """Start a run; return its process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        return int(self._line())

    def wait(self) -> int:
        """Return the run's exit code, or minus the signal that killed it."""
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise RuntimeError("the runner ended")
        return line

    def close(self) -> None:
        """Close the runner and wait for its end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@dataclass
class Outcome:
    """Result of one audit that was killed, from the program's own database and the library's lists."""

    fault: str
    killed: int = 0
    runs: list[int] = field(default_factory=list)
    seconds: float = 0.0
    flags: dict[str, int] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)
    handed_over: dict[str, str] = field(default_factory=dict)
    person: int = 0
    unfinished: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    astray: list[str] = field(default_factory=list)
    """Ends of runs with an error other than the library's own."""
    points: list[str] = field(default_factory=list)
    """Every durable call of the runs, on request."""

    @property
    def doubled(self) -> list[str]:
        """Return the transactions with more than one flag."""
        return [reference for reference, count in self.flags.items() if count > 1]

    @property
    def problems(self) -> list[str]:
        """Return all broken promises."""
        ended = not self.handed_over
        checks = {
            f"two flags for {self.doubled}": bool(self.doubled),
            f"neither done nor handed over: {self.unfinished}": bool(self.unfinished),
            f"handed over without a reason: {self.handed_over}": not all(self.handed_over.values()),
            f"flags {self.flags}, not {self.wanted}": ended and sorted(self.flags) != sorted(self.wanted),
            f"rows {self.rows}": ended and set(self.rows.values()) != {1},
            f"two rows for a receipt: {self.rows}": any(count > 1 for count in self.rows.values()),
            f"processes left: {self.left}": bool(self.left),
            f"runs ended {self.runs}": ended and self.runs[-1] != 0,
        }
        return [problem for problem, holds in checks.items() if holds]


class Audit:
    """One audit over any number of processes: a mailbox, a ledger, and local state."""

    def __init__(self, folder: Path, outcomes: Sequence[str] = OUTCOMES, bucket: dict[str, str] | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.name = f"faults-{secrets.token_hex(4)}"
        self.expected = self._mailbox(outcomes)
        self.database, self.state = folder / "meridian.db", folder / "state.json"
        create_database(self.database, [Transaction(**row) for row in transactions()])  # type: ignore[arg-type]
        self.log = folder / "points"
        self.home = folder / "holo"
        self.workbook = folder / "audit.xlsx"
        self.clerk = Clerk(self.state)
        self.bucket = bucket
        self._password = secrets.token_urlsafe(12)

    def _mailbox(self, outcomes: Sequence[str]) -> list[Expected]:
        wanted, kept = list(outcomes), []
        for sub in ("cur", "new", "tmp"):
            (self.folder / "mailbox" / sub).mkdir(parents=True)
        for number, (raw, expected) in enumerate(messages()):
            if expected.outcome in wanted:
                wanted.remove(expected.outcome)
                kept.append(expected)
                (self.folder / "mailbox" / "new" / f"{number:03d}.M{number:06d}P1.mail.example").write_bytes(raw)
        return kept

    def __enter__(self) -> Audit:
        self.clerk.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.clerk.__exit__(*exc)

    def blocks(self) -> dict[str, Any]:
        """Return the block values that a person would enter once in the Prefect UI, for the runner."""
        secret = self.folder / "password"
        secret.write_text(self._password)
        app = [tk_python(), str(LEDGER), "--db", str(self.database), "--secret-file", str(secret)]
        app += ["--state-file", str(self.state), "--slow", "0,0", "--tip-after", "0", "--session-actions", "0"]
        told = {"name": self.name, "base_url": self.clerk.base_url, "password": self._password}
        told |= {"app": shlex.join(app), "width": WIDTH, "height": HEIGHT}
        told |= {"audit": self.bucket or {"local_folder": str(self.folder / "evidence")}}
        told |= {"maildir": str(self.folder / "mailbox")}
        return {"blocks": told, "env": {}, "log": str(self.folder / "log")}

    def job(self, fault: str = "", mutant: str = "") -> dict[str, Any]:
        """Return the description of a run for the runner. ``fault`` is as in `kill_points`."""
        source = str(FAULTS / "injection")
        env = {"HOLO_HOME": str(self.home), "PYTHONPATH": source, "PYTHON_HOLO_FAULT_LOG": str(self.log)}
        env |= {"HOLO_REPORTS": str(self.folder)}
        arguments: dict[str, Any] = {"workbook": self.workbook.name, "report": None}
        arguments |= dict.fromkeys(("mailbox", "model", "desktop", "audit"), self.name)
        env |= {"PYTHON_HOLO_FAULT": fault, "PYTHON_HOLO_MUTANT": mutant}
        return {"env": env, "arguments": arguments, "log": str(self.folder / "log")}

    def points(self) -> list[str]:
        """Return every durable call of the runs until now, as ``point number detail``."""
        return self.log.read_text().splitlines()

    # judging afterwards

    def judge(self, outcome: Outcome, *, served: bool = False) -> Outcome:
        """Fill in the state of the program's database, the ledger, the item list and the workbook.

        No process may be left, unless a serving process continues (``served``).
        """
        store = store_at(self.home)
        listed = {item.token: item.reason for item in Items(store).all()}
        outcome.flags = dict(Counter(flag.reference for flag in LedgerFile(self.database).flags()))
        outcome.wanted = [str(item.reference) for item in self.expected if item.flag_reason]
        outcome.handed_over = listed
        done = _finished(self.home)
        outcome.unfinished = [e.receipt_id for e in self.expected if e.receipt_id not in {*done, *listed}]
        outcome.rows = self._rows()
        deadline = time.monotonic() + 20
        while not served and (left := related(str(self.home))):
            outcome.left = left if time.monotonic() > deadline else []
            if outcome.left:
                break
            time.sleep(0.2)
        return outcome

    def table(self) -> list[dict[str, Any]]:
        """Return the rows of the workbook."""
        if not self.workbook.exists():
            return []
        first, *rows = openpyxl.load_workbook(self.workbook)["Audit"].iter_rows(values_only=True)
        return [dict(zip(map(str, first), row, strict=True)) for row in rows if row[0]]

    def _rows(self) -> dict[str, int]:
        found = Counter(str(row["Receipt"]) for row in self.table())
        return {item.receipt_id: found[item.receipt_id] for item in self.expected} | dict(found)

    def ask_person(self) -> int:
        """Answer each item in doubt as a person would after a look into the program; return the number of answers."""
        asked = 0
        flagged = {flag.reference for flag in LedgerFile(self.database).flags()}
        by_token = {item.receipt_id: item.reference for item in self.expected}
        for item in Items(store_at(self.home)).all():
            if item.status != "needs_person" or by_token.get(item.token) in flagged:
                continue
            command = [str(EXECUTABLE), "retry", item.token, "--not-done"]
            subprocess.run(command, env={**os.environ, "HOLO_HOME": str(self.home)}, check=True, timeout=60)
            asked += 1
        return asked


def _finished(home: Path) -> set[str]:
    with store_at(home).transaction() as db:
        rows = db.execute(sa.select(FINISHED.c.token).where(FINISHED.c.goal == "audit receipt"))
        return {row.token for row in rows}


def run(
    runner: Runner,
    audit: Audit,
    *,
    faults: Sequence[str] = (),
    mutant: str = "",
) -> Outcome:
    """Kill the first runs, one for each fault, then run to the end; return the result.

    A fault is a point (`kill_points`) or a moment: ``moment:seconds:process``.
    """
    outcome = Outcome("+".join(faults))
    runner.start(audit.blocks())
    assert runner.wait() == 0, (audit.folder / "log").read_text()
    started = time.monotonic()
    while len(outcome.runs) < MOST_RUNS:
        number = len(outcome.runs)
        fault = faults[number] if number < len(faults) else ""
        at_a_moment = fault.startswith("moment:")
        pid = runner.start(audit.job("" if at_a_moment else fault, mutant))
        _, seconds, who = fault.split(":") if at_a_moment else ("", RUN_PATIENCE_S, "flow")
        watch = _Watch(pid, float(seconds), who)
        code = runner.wait()
        watch.done()
        outcome.runs.append(code)
        outcome.killed += code == -signal.SIGKILL
        if code == 1:
            outcome.astray.append((audit.folder / "log").read_text().splitlines()[-1])
        if code == 0:
            break
        if code > 0 and number >= len(faults):
            outcome.person += (answered := audit.ask_person())
            if not answered and outcome.runs[-3:].count(code) == 3:
                break  # every further run would end the same way
    outcome.seconds = time.monotonic() - started
    return audit.judge(outcome)


class _Watch:
    """Kills a flow's process, its desktop's process, or both after some seconds, unless the flow ends before."""

    def __init__(self, pid: int, seconds: float, who: str) -> None:
        self._timer = threading.Timer(seconds, self._kill, (pid, who))
        self._timer.start()

    def _kill(self, pid: int, who: str) -> None:
        doomed = [pid] if who in ("flow", "both") else []
        for one in [*doomed, *(_desktops(pid) if who in ("desktop", "both") else ())]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)

    def done(self) -> None:
        self._timer.cancel()


def _desktops(pid: int) -> list[int]:
    """Return the processes that own the desktops of a flow's process."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if b"holo_tasks.desktop.session.host" in words and str(pid).encode() in words:
                found.append(int(entry.name))
    return found
