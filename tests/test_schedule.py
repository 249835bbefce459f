"""The order of the tests: the longest come first, by measured durations."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdist.remote import WorkerInteractor

from tests.support import schedule

ROOT = Path(__file__).parent.parent


class Worker:
    """A worker that accepts the tests that it gets."""

    def __init__(self, tests: list[str]) -> None:
        self.tests, self.given = tests, list[str]()

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += [self.tests[index] for index in indices]


def test_the_longest_remaining_unit_is_next() -> None:
    tests = ["tests/a.py::test_one", "tests/b.py::test_two", *(f"tests/c.py::test_{n}[a::b]" for n in range(3))]
    seconds = {"tests/a.py": 1.0, "tests/b.py": 20.0, "tests/gone.py": 50.0}
    config: Any = SimpleNamespace(getvalue=lambda _: ["popen"])
    scheduler = schedule.LongestFirst(config, None, seconds)
    worker: Any = Worker(tests)
    scheduler.registered_collections[worker] = tests
    for test in tests:
        scheduler.workqueue.setdefault(scheduler._split_scope(test), {})[test] = False
    while scheduler.workqueue:
        scheduler._assign_work_unit(worker)
    assert worker.given == [tests[1], *tests[2:], tests[0]], (
        "a module without a measurement counts by its number of tests"
    )


class Telling(WorkerInteractor):
    """A worker that records the messages that it sends."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def sendevent(self, name: str, **told: Any) -> None:
        self.told.append((name, *told.get("data", {}).values()))


def test_a_worker_reports_all_but_quick_successful_setups_and_teardowns() -> None:
    worker = Telling()
    config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugins=lambda: [object(), worker]))
    schedule.tell_less(config)
    reports = [
        (when, outcome, duration)
        for when in ("setup", "call", "teardown")
        for outcome in ("passed", "failed", "skipped")
        for duration in (schedule.UNTOLD_S / 2, schedule.UNTOLD_S)
    ]
    worker.sendevent("logstart")
    for when, outcome, duration in reports:
        worker.sendevent("testreport", data={"when": when, "outcome": outcome, "duration": duration})
    worker.sendevent("logfinish")
    worker.sendevent("runtest_protocol_complete", item_index=0)
    untold = {(when, "passed", schedule.UNTOLD_S / 2) for when in ("setup", "teardown")}
    expected: list[tuple[Any, ...]] = [("testreport", *one) for one in reports if one not in untold]
    assert worker.told == [*expected, ("runtest_protocol_complete",)]


def test_modules_whose_tests_share_no_setup_are_distributed_by_test() -> None:
    apart = f"{schedule.APART[0]}::test_it[x::y]"
    assert schedule.unit(apart) == apart
    assert schedule.unit("tests/loop/test_once.py::TestAll::test_it[x::y]") == "tests/loop/test_once.py"


def test_modules_that_share_a_server_go_to_one_worker() -> None:
    assert {schedule.unit(f"{name}::test_it[x::y]") for name in schedule.TOGETHER} == {"tests of deployments"}


def test_the_listed_modules_exist() -> None:
    assert not [name for name in (*schedule.APART, *schedule.TOGETHER) if not (ROOT / name).exists()]


def test_durations_are_stored(tmp_path: Path) -> None:
    kept = schedule.Durations(tmp_path / "durations.json")
    for took in (0.25, 1.0, 0.25):  # setup, call and teardown
        kept.pytest_runtest_logreport(_report("tests/loop/test_once.py::test_it", took))
    kept.pytest_runtest_logreport(_report("tests/loop/test_notes.py::test_it", 0.01))
    kept.pytest_sessionfinish()
    assert schedule.known(tmp_path / "durations.json") == {"tests/loop/test_once.py": 1.5}


def _report(nodeid: str, took: float) -> pytest.TestReport:
    return pytest.TestReport(nodeid, ("", 0, ""), {}, "passed", None, "call", duration=took)
