"""The expense audit, killed −9 at durable writes, between button down and up, and at random moments.

The model is careless on purpose: it never checks whether a flag is on file. This is the short form; `make faults` runs
all points and 300 random moments.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.faults import points_of
from tests.faults.harness import Audit, Outcome, Runner, run
from tests.support.long import few

pytestmark = [pytest.mark.slow, pytest.mark.desktop]

SMALL = ("wrong_amount", "unreadable")
"""One receipt that needs a flag: its fifth action saves the flag, with the eighth mouse press."""
POINTS = (
    "down:after:8:both",  # between button down and up
    "settle:inside:5",  # in the middle of writing DONE; in `test_commands`, `faults.py` kills there
    "finish:before:2",  # all is done, but its result is not stored
    "intend:after:5",  # the INTENT of the save is written, but no input event was sent
    "down:before:8:desktop+disregard:after:1",  # a second kill, during recovery from the first
)
_seeded = random.Random(4)
MOMENTS = (f"moment:{_seeded.uniform(3, 18):.1f}:both",)
MUTANT = "settle:before:5"


@pytest.fixture(scope="module")
def outcomes(
    prefect_url: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[str, Outcome]]:
    """Results of the audits that the selected tests need. Two audits run at a time."""
    here = [item for item in request.session.items if item.path == request.path]
    wanted = [item.callspec.params["fault"] for item in here if hasattr(item, "callspec")]
    folder = tmp_path_factory.mktemp("kills")
    runners: dict[int, Runner] = {}

    def one(number: int, fault: str, mutant: str = "", receipts: Sequence[str] = SMALL) -> Outcome:
        worker = threading.get_ident()
        if worker not in runners:
            runners[worker] = Runner({"PREFECT_API_URL": prefect_url})
        with Audit(folder / str(number), receipts) as audit:
            outcome = run(runners[worker], audit, faults=fault.split("+"), mutant=mutant)
            outcome.points = audit.points()
            return outcome

    with ThreadPoolExecutor(2) as pool:
        waiting = {fault: pool.submit(one, number, fault) for number, fault in enumerate(wanted)}
        waiting["mutant"] = pool.submit(one, len(wanted), MUTANT, "forgets", SMALL[:1])
        found = {name: outcome.result() for name, outcome in waiting.items()}
    yield found
    for runner in runners.values():
        runner.close()


@pytest.mark.parametrize("fault", few(POINTS))
def test_a_kill_at_a_durable_write_neither_doubles_nor_loses_a_flag(outcomes: dict[str, Outcome], fault: str) -> None:
    outcome = outcomes[fault]
    assert outcome.runs[0] != 0, "the fault was injected"
    assert outcome.problems == []
    assert outcome.flags == {"TX-10716": 1}
    assert outcome.handed_over == {}


@pytest.mark.parametrize("fault", few(MOMENTS, first=0))
def test_a_kill_at_a_random_moment_neither_doubles_nor_loses_a_flag(outcomes: dict[str, Outcome], fault: str) -> None:
    assert outcomes[fault].problems == []


def test_every_durable_write_of_a_run_is_listed_as_a_kill_point(outcomes: dict[str, Outcome]) -> None:
    """As `make faults` lists them from a run without a kill."""
    lines = outcomes["mutant"].points
    listed = {name.removesuffix(":flow") for name, _ in points_of(lines[lines.index("killed") + 1 :], most=10_000)}
    assert {*POINTS[:4], MUTANT} <= listed


def test_a_journal_that_ignores_earlier_intents_doubles_a_flag(outcomes: dict[str, Outcome]) -> None:
    assert outcomes["mutant"].doubled == ["TX-10716"]
