"""Distribute test modules over the workers, longest first, so that all workers end together.

`durations.json` has the seconds of each module, written by ``make durations``. A module without an entry counts as one
second per test.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.remote import WorkerInteractor
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

KEPT = Path(__file__).with_name("durations.json")
APART = (
    "tests/test_commands.py",
    "tests/faults/test_canaries.py",
    "tests/flows/test_expense_audit.py",
    "tests/flows/test_handing_over.py",
    "tests/scripts/test_file_dialogs.py",
)
"""Modules whose tests are long and share no setup. Their tests are distributed one by one."""
TOGETHER = {
    f"tests/flows/test_{name}.py": "tests of deployments"
    for name in ("calling_somebody", "deployment", "hand_off_in_pages", "killed_deployment", "suspending")
}
"""Modules that share a server with a slow start, by the name of their group."""

UNTOLD_S = 0.005
"""Shorter durations are not listed as long."""


def unit(test: str) -> str:
    """Return the unit of distribution of a test: its module, so that module-wide servers and programs start once."""
    module = test.partition("::")[0]
    return test if module in APART else TOGETHER.get(module, module)


class LongestFirst(LoadScopeScheduling):  # type: ignore[misc]
    """Gives the longest remaining unit to a free worker."""

    def __init__(self, config: pytest.Config, log: Any, seconds: Mapping[str, float]) -> None:
        super().__init__(config, log)
        self._seconds = seconds

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        longest = max(self.workqueue, key=self._expected)
        self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)

    def _expected(self, name: str) -> float:
        return self._seconds.get(name, float(len(self.workqueue[name])))


class Durations:
    """Adds up the durations of the units of a test run, including setup, and stores them."""

    def __init__(self, path: Path = KEPT) -> None:
        self._path, self._seconds = path, defaultdict[str, float](float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[unit(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        kept = {name: round(took, 1) for name, took in sorted(self._seconds.items()) if took >= 0.1}
        self._path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def tell_less(config: pytest.Config) -> None:
    """Let a worker report only facts that are read later, because each message takes as long as many tests do.

    Omits successful setups and teardowns without a duration, and the start and end of each test.
    """
    worker = next((one for one in config.pluginmanager.get_plugins() if isinstance(one, WorkerInteractor)), None)
    if worker is None:
        return
    send = worker.sendevent

    def said(name: str, **told: Any) -> None:
        report = told.get("data", {})
        quick = name == "testreport" and report["when"] != "call" and report["duration"] < UNTOLD_S
        if name not in ("logstart", "logfinish") and not (quick and report["outcome"] == "passed"):
            send(name, **told)

    worker.sendevent = said


def known(path: Path = KEPT) -> dict[str, float]:
    """Return the stored seconds of each unit."""
    found: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
    return found
