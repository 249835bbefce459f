"""The order of the tests: what takes longest comes first, and what waits beside what computes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import schedule

ROOT = Path(__file__).parent.parent
PIPES: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}


class Worker:
    """Takes what it is given."""

    def __init__(self, tests: list[str]) -> None:
        self.tests, self.given = tests, list[str]()

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += [self.tests[index] for index in indices]


WAITS, COMPUTES, UNKNOWN = "tests/a.py::test_one", "tests/b.py::test_two", "tests/c.py::test_three[a::b]"
SHORT = "tests/d.py::test_four"
MIXED = [SHORT, WAITS, COMPUTES, UNKNOWN]


@pytest.mark.parametrize(
    ("beside", "order"),
    [
        ([], [COMPUTES, UNKNOWN, SHORT, WAITS]),
        ([COMPUTES, UNKNOWN], [COMPUTES, UNKNOWN, SHORT, WAITS]),  # a processor and a half
        ([COMPUTES, UNKNOWN, UNKNOWN], [WAITS, COMPUTES, UNKNOWN, SHORT]),
    ],
)
def test_what_computes_longest_is_next_until_processors_are_busy_and_then_what_waits_longest(
    beside: list[str], order: list[str]
) -> None:
    took = {
        "tests/a.py": (50.0, 2.0),
        "tests/b.py": (44.0, 15.0),
        "tests/gone.py": (90.0, 3.0),
        "tests/d.py": (0.9, 0.5),
    }
    config: Any = SimpleNamespace(getvalue=lambda _: ["popen"])
    scheduler = schedule.Mixed(config, None, {name: schedule.Took(*one) for name, one in took.items()})
    for test in beside:
        units = {WAITS: {WAITS: True}, schedule.unit(test): {test: False}, SHORT: {SHORT: False}}
        scheduler.assigned_work[Worker([])] = units
    worker: Any = Worker(MIXED)
    scheduler.registered_collections[worker] = MIXED
    for test in MIXED:
        scheduler.workqueue.setdefault(scheduler._split_scope(test), {})[test] = False
    while scheduler.workqueue:
        scheduler._assign_work_unit(worker)
    assert worker.given == order, "a module that nobody measured computes for as many seconds as it has tests"


def test_modules_whose_tests_share_nothing_are_taken_apart() -> None:
    apart = f"{schedule.APART[0]}::test_it[x::y]"
    assert schedule.unit(apart) == apart
    assert schedule.unit("tests/core/test_once.py::TestAll::test_it[x::y]") == "tests/core/test_once.py"


def test_modules_that_share_a_server_are_done_by_one_worker() -> None:
    assert {schedule.unit(f"{name}::test_it[x::y]") for name in schedule.TOGETHER} == {"tests of deployments"}


def test_what_is_taken_apart_or_together_is_still_here() -> None:
    assert not [name for name in (*schedule.APART, *schedule.TOGETHER) if not (ROOT / name).exists()]


def test_durations_are_kept(tmp_path: Path) -> None:
    kept = schedule.Durations(tmp_path / "durations.json")
    for took in (0.25, 1.0, 0.25):  # set-up, call and what comes after it
        kept.pytest_runtest_logreport(_report("tests/core/test_once.py::test_it", took))
    kept.pytest_runtest_logreport(_report("tests/core/test_notes.py::test_it", 0.01))
    for computed in ({"tests/core/test_once.py": 0.26}, {"tests/core/test_once.py": 0.3}):
        kept.pytest_testnodedown(SimpleNamespace(workeroutput={schedule.COMPUTED: computed}))  # type: ignore[arg-type]
    kept.pytest_sessionfinish()
    assert schedule.known(tmp_path / "durations.json") == {"tests/core/test_once.py": (1.5, 0.6)}


def test_a_worker_adds_up_what_its_units_computed() -> None:
    told = iter([3.0, 10.0, 12.5])
    computed = schedule.Computed(lambda: next(told))
    items: list[Any] = [SimpleNamespace(nodeid=f"tests/{name}.py::test_it") for name in "aab"]
    for item, following in zip(items, [*items[1:], None], strict=True):
        protocol = computed.pytest_runtest_protocol(item, following)
        next(protocol)
        with pytest.raises(StopIteration):
            protocol.send(None)
    session: Any = SimpleNamespace(config=SimpleNamespace(workeroutput={}))
    computed.pytest_sessionfinish(session)
    assert session.config.workeroutput == {schedule.COMPUTED: {"tests/a.py": 7.0, "tests/b.py": 2.5}}


def test_what_was_spent_includes_what_was_started() -> None:
    before = schedule.spent()
    loop = "import os, time\nwhile time.process_time() < 0.2: pass\n"
    ended = [sys.executable, "-I", "-c", loop]
    subprocess.run(ended, check=True)
    assert (after := schedule.spent()) >= before + 0.15
    with subprocess.Popen([*ended[:-1], f"{loop}print(flush=True)\ninput()"], **PIPES) as living:
        living.stdout.readline()  # type: ignore[union-attr]
        assert schedule.spent() >= after + 0.15
        living.communicate(b"\n")


def _report(nodeid: str, took: float) -> pytest.TestReport:
    return pytest.TestReport(nodeid, ("", 0, ""), {}, "passed", None, "call", duration=took)
