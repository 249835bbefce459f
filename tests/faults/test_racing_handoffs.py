"""Of several answers to a hand-off one counts, and of an answer and a time-out one counts; on both databases."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs

ROUNDS = 25


@pytest.fixture
def handoffs(store_url: str, monkeypatch: pytest.MonkeyPatch) -> Handoffs:
    monkeypatch.setenv(DATABASE_VARIABLE, store_url)
    return Handoffs(store_at(Path("unused")))


def others() -> Handoffs:
    """Return the hand-offs through a new database connection."""
    return Handoffs(store_at(Path("unused")))


def answered(handoffs: Handoffs, id: str, by: str) -> bool:
    try:
        return handoffs.answer(id, "done", by=by).by == by
    except InvalidUsage:
        return False


def race(handoffs: Handoffs, *racers: Callable[[Handoffs, str], bool]) -> list[int]:
    """Let racers act on each hand-off at once; return the number of successes for each hand-off."""
    ids = [handoffs.open("Solve it", ("done",), run_id="R", timeout_s=60).id for _ in range(ROUNDS)]
    start = Barrier(len(racers))

    def run(racer: Callable[[Handoffs, str], bool]) -> list[bool]:
        mine = others()
        found = []
        for id in ids:
            start.wait()
            found.append(racer(mine, id))
        return found

    with ThreadPoolExecutor(len(racers)) as pool:
        told = list(pool.map(run, racers))
    return [sum(each) for each in zip(*told, strict=True)]


def test_of_two_answers_one_counts(handoffs: Handoffs) -> None:
    ada, bob = (lambda their, id: answered(their, id, "ada")), (lambda their, id: answered(their, id, "bob"))
    assert race(handoffs, ada, bob) == [1] * ROUNDS
    assert handoffs.waiting() == []


def test_of_an_answer_and_a_timeout_one_counts(handoffs: Handoffs) -> None:
    late = lambda their, id: their.close(id, "expired")  # noqa: E731
    assert race(handoffs, lambda their, id: answered(their, id, "ada"), late) == [1] * ROUNDS
