"""The benchmark command with a real program: killed and resumed, with all its output files."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.audit import open_trace
from tests.support import warm
from tests.support.prefect_api import PrefectAPI

pytestmark = pytest.mark.desktop

FLOWS = Path(__file__).parents[2] / "flows"
RUN = f"""
import sys
sys.path[:0] = [{str(FLOWS / "demo")!r}, {str(FLOWS)!r}]
from benchmarks.__main__ import parser, run_and_print
sys.exit(run_and_print(parser().parse_args()))
"""
PATIENCE_S = 120


def started(prefect: str, out: Path, *options: str) -> subprocess.Popen[str]:
    """Start the command on the shared server; `main` would start its own."""
    environ = {**os.environ, "PREFECT_API_URL": prefect, "HOLO_HOME": str(out / "holo"), "HOLO_REPORTS": str(out)}
    for name in ("HAI_API_KEY", "HOLO_BASE_URL"):
        environ.pop(name, None)
    words = [sys.executable, "-c", RUN, "--suite", "office", "--tasks", "terminal", "--out", str(out), *options]
    return warm.ScriptPopen(words, env=environ, stdout=subprocess.PIPE, text=True, start_new_session=True)


def traces(out: Path) -> set[str]:
    """Return the existing traces. Each item of this suite is a separate run."""
    return {each.parent.name for each in out.glob("*/evidence/**/events.jsonl")}


def rows(out: Path) -> list[dict[str, Any]]:
    (table,) = out.glob("*/results.csv")
    with table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_killed_benchmark_resumes_and_writes_all_documented_files(prefect: str, tmp_path: Path) -> None:
    out, end_s = tmp_path / "out", time.monotonic() + PATIENCE_S
    killed = started(prefect, out, "--seeds", "3")
    while len(traces(out)) < 2:
        assert killed.poll() is None, "it ended before its second item"
        assert time.monotonic() < end_s
        time.sleep(0.02)
    killed.kill()
    killed.communicate()
    (name,) = (each.parent.name for each in out.glob("*/plan.json"))
    done_before = {each for each in traces(out) if closed(out, each)}

    again = started(prefect, out, "--seeds", "3", "--desktops", "2")
    said, _ = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0
    assert "Decided by the oracle, which is not a model." in said
    assert f"page      {out / name / 'index.html'}" in said
    assert [line.split()[:5] for line in said.splitlines() if line.startswith("all ")] == [
        ["all", "3", "100.0%", "(43.9%", "to"]
    ]
    found = rows(out)
    assert [(row["task"], row["seed"], row["word"]) for row in found] == [
        ("terminal", seed, "success") for seed in "012"
    ]
    assert Path(found[0]["trace"]).name in done_before, "the first item must not be repeated"
    assert all(
        float(row["decide_s"]) > 0 and float(row["perceive_s"]) > 0 and int(row["micro_usd"]) > 0 for row in found
    )
    first, second = (sides(open_trace(row["trace"])) for row in found[1:])
    assert first[0] < second[1], "with two desktops"
    assert second[0] < first[1], "the two items must overlap in time"
    page = (out / name / "index.html").read_text()
    assert "No model was measured" in page
    told = PrefectAPI(prefect).post("/artifacts/latest/filter", {"sort": "KEY_ASC"})
    kept = {each["key"]: each["data"] for each in told}
    assert f"{out / name / 'index.html'}" in kept[f"benchmark-page-{name}"]
    assert '"items": "3"' in kept[f"benchmark-{name}"]
    assert name in kept["benchmark-history"]


def closed(out: Path, trace: str) -> bool:
    (events,) = out.glob(f"*/evidence/**/{trace}/events.jsonl")
    return '"run_closed"' in events.read_text()


def sides(trace: Any) -> tuple[str, str]:
    """Return the times of a run's begin and end."""
    times = [record.at for record in trace.records()]
    return times[0], times[-1]
