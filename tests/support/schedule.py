"""Who of several workers tests what, and when: what takes longest comes first, so that all end together.

Tests that wait leave processors to others: were all taken by their time alone, those that wait would come together, and
after them those that they could have waited beside. So a worker gets what computes longest of all that is left where
the others would not keep the processors busy, and what waits longest where they would. `durations.json` says what each
took when somebody last wrote it anew: ``make durations``. What it does not know counts as if each test computed for a
second.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from xdist.scheduler import LoadScopeScheduling

from holo_tasks.desktop.processes import descendants
from holo_tasks.machine.proc import process, stat_of

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

KEPT = Path(__file__).with_name("durations.json")
PROCESSORS, BESIDE = 2, 2.0
"""How many there are, and how many times as long as alone what computes takes beside all the others."""
COMPUTED = "holo_computed"
APART = (
    "tests/test_commands.py",
    "tests/faults/test_canaries.py",
    "tests/flows/test_expense_audit.py",
    "tests/flows/test_handing_over.py",
    "tests/scripts/test_file_dialogs.py",
)
"""Modules whose tests take long and share nothing that a worker would have to make twice: each test is one's own."""
TOGETHER = {
    f"tests/flows/test_{name}.py": "tests of deployments"
    for name in ("calling_somebody", "deployment", "hand_off_in_pages", "killed_deployment", "suspending")
}
"""Modules that share a server which takes long to start, by what they are called together."""


def unit(test: str) -> str:
    """Return what one worker does in one go: a module, so that its servers and programs are started once."""
    module = test.partition("::")[0]
    return test if module in APART else TOGETHER.get(module, module)


class Took(NamedTuple):
    """Seconds that something took, beside all others, and seconds in which a processor was at work for it."""

    seconds: float
    computed: float

    @property
    def waited(self) -> float:
        """Seconds in which nothing of it could have gone on; what computes has to share processors with others."""
        return max(0.0, self.seconds - self.computed * BESIDE)

    @property
    def busy(self) -> float:
        """The part of its time in which it would keep a processor busy, were it alone."""
        return self.computed / max(self.computed + self.waited, 0.001)


class Mixed(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a worker that is free what computes longest of all that is left, or what waits longest."""

    def __init__(self, config: pytest.Config, log: Any, known: Mapping[str, Took]) -> None:
        super().__init__(config, log)
        self._known = known

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        busy = sum(self._at_work(units).busy for other, units in self.assigned_work.items() if other is not node)
        following = max(self.workqueue, key=self._computes if busy < PROCESSORS else self._waits)
        self.workqueue.move_to_end(following, last=False)
        super()._assign_work_unit(node)

    def _at_work(self, units: Mapping[str, Mapping[str, bool]]) -> Took:
        """Return what the first unit takes of which something is left: the others come after it."""
        left = (self._took(name, tests) for name, tests in units.items() if not all(tests.values()))
        return next(left, Took(0.0, 0.0))

    def _took(self, name: str, tests: Mapping[str, bool]) -> Took:
        return self._known.get(name, Took(float(len(tests)), float(len(tests))))

    def _computes(self, name: str) -> float:
        took = self._took(name, self.workqueue[name])
        return took.computed * took.busy

    def _waits(self, name: str) -> tuple[float, float]:
        took = self._took(name, self.workqueue[name])
        return took.waited * (1 - took.busy), took.seconds


class Computed:
    """In a worker: adds up for how long processors were at work for its units, and for all that they started."""

    def __init__(self, spent: Callable[[], float]) -> None:
        self._spent, self._seconds = spent, defaultdict[str, float](float)
        self._at = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        try:
            return (yield)
        finally:
            if nextitem is None or unit(nextitem.nodeid) != unit(item.nodeid):
                now = self._spent()
                self._seconds[unit(item.nodeid)] += now - self._at
                self._at = now

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        session.config.workeroutput[COMPUTED] = dict(self._seconds)  # type: ignore[attr-defined]


def spent() -> float:
    """Return for how many seconds processors were at work for this process and those that it started."""
    total = 0
    for pid in (os.getpid(), *descendants(os.getpid())):
        try:
            total += sum(map(int, stat_of(process(pid))[11:15]))  # its own and its children's, as `man 5 proc` has them
        except OSError:
            continue
    return total / os.sysconf("SC_CLK_TCK")


class Durations:
    """Adds up what the units of a test run take, set-up of what they share included, and keeps that."""

    def __init__(self, path: Path = KEPT) -> None:
        self._path = path
        self._seconds, self._computed = defaultdict[str, float](float), defaultdict[str, float](float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[unit(report.nodeid)] += report.duration

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController) -> None:
        for name, seconds in node.workeroutput.get(COMPUTED, {}).items():
            self._computed[name] += seconds

    def pytest_sessionfinish(self) -> None:
        kept = {
            name: (round(took, 1), round(self._computed[name], 1))
            for name, took in sorted(self._seconds.items())
            if took >= 0.1
        }
        lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(took)}" for name, took in kept.items())
        self._path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def known(path: Path = KEPT) -> dict[str, Took]:
    """Return what each unit took when that was last kept."""
    return {name: Took(*took) for name, took in json.loads(path.read_text(encoding="utf-8")).items()}
