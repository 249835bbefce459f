"""The expense audit three times: by the model, by the playbook of the model's run, and by this playbook in a changed
program.

Each is the program of `make demo` with the whole mailbox, including Prefect, an S3 server, evidence and report. In a
kept folder, a finished audit is not repeated.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common import ROOT, table

DEMO, PLAYBOOK = ROOT / "flows" / "demo.py", "look-up.playbook.yaml"
LOOKS = ["--size", "1600x1000", "--font-size", "13", "--position", "420,170", "--seed", "3"]
"""Differences from the recorded legacy program: size, font, place, and the seed of its moods."""
OUTCOMES = {"match": "match", "no_transaction": "missing: no transaction", "unreadable": "match"}
PATIENCE_S = 3600


@dataclass(frozen=True)
class Audited:
    """Figures of an audit, and the number of receipts with the right row."""

    calls: int
    money: float
    seconds: float
    receipts: int
    right: int
    by_playbook: int


def audits(scratch: Path, model_s: float, *, quick: bool = False) -> int:
    """Run the audit three times and print the figures; ``quick``: one letter of each kind. Return the exit code."""
    with _model(model_s) as (base_url, calls):
        first = scratch / "model"
        ways = {
            f"model, {model_s} s a call": (first, ["--by-model"]),
            "compiled": (scratch / "compiled", []),
            "compiled, and the program looks different": (scratch / "drift", LOOKS),
        }
        found: dict[str, Audited] = {}
        for how, (out, options) in ways.items():
            done = out.with_suffix(".json")
            if done.exists():
                found[how] = Audited(**json.loads(done.read_text()))
            else:
                found[how] = _anew(out, first, base_url, [*options, *["--quick"] * quick], calls)
                done.write_text(json.dumps(asdict(found[how])))
            print(f"  {how}: {found[how]}", flush=True)
    _tell(found, "one letter of each kind" if quick else "the whole mailbox")
    return 0 if all(one.right == one.receipts for one in found.values()) else 1


def _anew(out: Path, first: Path, base_url: str, options: list[str], calls: Callable[[], int]) -> Audited:
    """Run an audit from the beginning, without the files of an unfinished one."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    if out != first:
        shutil.copy(first / PLAYBOOK, out)
    before = calls()
    said = _demo(out, base_url, options)
    return _audited(out, said, calls() - before, quick="--quick" in options)


@contextmanager
def _model(model_s: float) -> Iterator[tuple[str, Any]]:
    """Serve the demo's model; give its address, and a function that counts its requests."""
    from holo_tasks.rehearsal.server import Rehearsal, RehearsalServer
    from holo_tasks.scripts.playbook import load_playbook

    rehearsal = Rehearsal(load_playbook(ROOT / "flows" / "expense_audit.playbook.yaml"))
    server = RehearsalServer(rehearsal, latency_s=model_s)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.base_url, lambda: rehearsal.stats()["requests"]
    finally:
        server.shutdown()
        server.server_close()


def _demo(out: Path, base_url: str, options: list[str]) -> str:
    env = {**os.environ, "HOLO_BASE_URL": base_url, "HOLO_MODEL": "rehearsal", "NO_COLOR": "1", "COLUMNS": "200"}
    command = [sys.executable, str(DEMO), "--out", str(out), *options]
    done = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode:
        sys.exit(f"bench_replay: the audit failed:\n{done.stdout[-4000:]}")
    return done.stdout


def _audited(out: Path, said: str, calls: int, *, quick: bool) -> Audited:
    """Return the figures that the demo printed, and the number of its right rows."""
    import openpyxl
    from receipts_mailbox import expected

    took = re.search(r"steps in (\d+) s, model cost \$([\d.]+)", said)
    assert took is not None, said[-2000:]
    header, *rows = openpyxl.load_workbook(out / "expense-audit.xlsx")["Audit"].iter_rows(values_only=True)
    found: dict[str, Mapping[str, Any]] = {str(row[0]): dict(zip(map(str, header), row, strict=True)) for row in rows}
    wanted = [one for one in expected(one_of_each=quick) if one.outcome != "not_a_receipt"]
    right = [
        found.get(one.receipt_id, {}).get("Status")
        == OUTCOMES.get(one.outcome, f"flagged: {(one.flag_reason or '').lower()}")
        for one in wanted
    ]
    by = sum("playbook" in str(row["By"]) for row in found.values())
    return Audited(calls, float(took[2]), float(took[1]), len(wanted), sum(right), by)


def _tell(found: Mapping[str, Audited], what: str) -> None:
    first = next(iter(found.values()))
    rows = [
        [
            how,
            str(one.calls),
            f"${one.money:.4f}",
            f"{one.seconds:.0f}",
            f"{3600 * one.receipts / one.seconds:.0f}",
            f"{first.seconds / one.seconds:.1f}",
            f"{one.by_playbook} of {one.receipts}",
            f"{one.right} of {one.receipts}",
        ]
        for how, one in found.items()
    ]
    columns = ["how", "calls", "money", "seconds", "receipts an hour", "as fast", "by the playbook", "right"]
    table(f"the expense audit, {what}", columns, rows, words=1)
