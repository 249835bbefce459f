"""Every command named in README, docs and Makefile works: each runs here in a short form."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.support import warm

ROOT = Path(__file__).parent.parent
SHARED = "HOLO_BENCH_PREFECT"
"""The common options of the benchmarks."""
SHORT = {
    "tests/bench/bench.py": "--steps 3",
    "tests/bench/bench_beside.py": "--clicks 2 --allowed 2 --read-seconds 0 --kinds clock --traps word --runs 0",
    "tests/bench/bench_cache.py": "--runs 1 --pairs 1 --model-ms 0 --cases 1",
    "tests/bench/bench_calibration.py": "--scales 1.25 --toolkits Qt",
    "tests/bench/bench_concurrency.py": "--model-seconds 0.2 --conversations 2 --repeats 1",
    "tests/bench/bench_cpu.py": "--toolkits tk --items 1",
    "tests/bench/bench_discovery.py": "--tasks 1 --programs Qt --arms inventory",
    "tests/bench/bench_elements.py": "--repeats 1 --rows 12",
    "tests/bench/bench_erring.py": "--short --rates 0 60 --arms naive plain --tasks double --seeds 1 --out OUT",
    "tests/bench/bench_fleet.py": "--items 2 --by model --desktops 1 --again 0 --model-seconds 0.1 --out OUT",
    "tests/bench/bench_images.py": "--repeats 1 --looks 1 --sizes 1280x800 1600x1000 --rows 1",
    "tests/bench/bench_mcp.py": "--starts 1",
    "tests/bench/bench_memory.py": "--steps 2 --actions 4",
    "tests/bench/bench_pool.py": "--desktops 2 --items 1 --steps 2 --model-seconds 0.1",
    "tests/bench/bench_prefix.py": "--steps 8",
    "tests/bench/bench_redaction.py": "4",
    "tests/bench/bench_replay.py": "--toolkits tk --recorded 1 --drifts none",
    "tests/bench/bench_skipping.py": "--items 20 --new 1",
    "tests/bench/bench_start.py": "--starts 1 --at-once 1 --homes fresh --loaded openai",
    "tests/bench/bench_states.py": "--rounds 1",
    "tests/bench/bench_trace.py": "50",
    "tests/bench/bench_waiting.py": "--short",
    "tests/faults/faults.py": "--only settle:inside:5:flow --moments 0 --workers 1 --receipts wrong_amount --out OUT",
    "tests/faults/latch_trials.py": "1",
    "tests/nasty/runs.py": "--kinds popups --seeds 0 --mode careful --latency 0.4 --out OUT",
    "tests.fuzz.fuzz": "--seconds 1.2 --seed 1",
}


ON_A_SHARED_SERVER = {
    *(
        f"tests/bench/bench{name}.py"
        for name in ("", "_cache", "_cpu", "_discovery", "_erring", "_fleet", "_memory", "_pool", "_skipping", "_start")
    ),
    *("tests/faults/faults.py", "tests/faults/latch_trials.py", "tests/nasty/runs.py"),
}


SLOWEST = {
    *(f"tests/bench/bench_{name}.py" for name in ("beside", "cache", "cpu", "erring", "fleet", "images", "waiting")),
    "tests/faults/faults.py",
}
"""Benchmarks whose short form takes about half a minute. Only `make test-long` runs them."""


def named() -> set[str]:
    """Return the scripts named in the README, the docs and the Makefile."""
    texts = [ROOT / "README.md", ROOT / "Makefile", *(ROOT / "docs").rglob("*.md")]
    found = {name for path in texts for name in re.findall(r"tests/[\w/]+\.py", path.read_text(encoding="utf-8"))}
    modules = re.findall(r"-m (tests[\w.]+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    # Test helpers are tested by the tests that use them.
    commands = {name for name in found if not Path(name).name.startswith("test_")} | set(modules)
    return {name for name in commands if not name.startswith(("tests/support/", "tests.support."))}


def test_every_named_command_is_tested_here() -> None:
    assert named() == SHORT.keys()


def _access(prefect_url: str) -> dict[str, str]:
    names = ("PREFECT_API_AUTH_STRING", "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED")
    return {SHARED: prefect_url, **{name: os.environ[name] for name in names}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "options"),
    [pytest.param(*each, marks=pytest.mark.long if each[0] in SLOWEST else ()) for each in SHORT.items()],
    ids=lambda text: Path(text).stem if "/" in text or "fuzz" in text else "",
)
def test_the_command_works_in_its_short_form(command: str, options: str, tmp_path: Path, prefect_url: str) -> None:
    how = [str(ROOT / command)] if command.endswith(".py") else ["-m", command]
    # As a user runs it: without this test run's home folders, and with its shared server where possible. A command
    # without a server, which bench_start measures, starts its own.
    env = {name: text for name, text in os.environ.items() if not name.startswith(("PREFECT_", "HOLO_", "PYTEST_"))}
    home = {"HOLO_HOME": str(tmp_path / "holo"), "PREFECT_HOME": str(tmp_path / "prefect")}
    home |= _access(prefect_url) if command in ON_A_SHARED_SERVER else {}
    ran = warm.run_script(
        [sys.executable, *how, *options.replace("OUT", str(tmp_path / "out")).split()],
        env=env | home,
        cwd=ROOT,
        timeout=900,
    )
    assert ran.returncode == 0, f"{ran.stdout[-4000:]}\n{ran.stderr[-4000:]}"
    assert ran.stdout.strip()
