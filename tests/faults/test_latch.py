"""No input is sent after a kill or a deadline, whatever hangs; naive gates break that promise and are caught."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.latch_trials import HANGS, STOPS, Trial, Trials
from tests.support import prefect_shared
from tests.support.long import few

pytestmark = [pytest.mark.desktop, pytest.mark.slow]

ENDS = {"kill": {"killed"}, "deadline": {"limit"}, "silence": {"killed", "desktop_failed"}}
TRIES = 4
CASES = [(stop, hang) for hang in HANGS[:3] for stop in STOPS[:2]]
FIRST = CASES[1:]
"""`test_commands` runs the short form of `latch_trials.py` for a kill with a hung model. It fails in the same way."""


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    folder = tmp_path_factory.mktemp("latch")
    with prefect_shared.in_its_place(folder / "recording"):  # the test only needs a server that can be stopped
        made = Trials(folder, seed=7)
    yield made
    made.close()


def keeps_the_promise(trial: Trial) -> bool:
    return trial.late == 0 and trial.held == 0


@pytest.mark.parametrize(("stop", "hang"), few([*FIRST, *CASES, CASES[0]], len(FIRST)))
def test_nothing_is_sent_after_a_stop(trials: Trials, stop: str, hang: str) -> None:
    trial = trials.run(stop, hang)
    assert keeps_the_promise(trial), trial
    assert trial.events > 10
    assert trial.ended in ENDS[stop], trial


def test_nothing_is_sent_for_an_agent_process_that_was_suspended(trials: Trials) -> None:
    trial = trials.run("silence", "process stopped")
    assert keeps_the_promise(trial), trial
    assert trial.ended in ENDS["silence"], trial


@pytest.mark.parametrize(
    ("mutant", "stop"), [("between_gestures", "kill"), ("in_the_parent", "kill"), ("without_a_lease", "silence")]
)
def test_a_naive_gate_is_caught(trials: Trials, mutant: str, stop: str) -> None:
    found = [trials.run(stop, "process stopped", mutant)]
    while keeps_the_promise(found[-1]) and len(found) < TRIES:
        found.append(trials.run(stop, "process stopped", mutant))
    assert not keeps_the_promise(found[-1]), found
