"""Several workers on one business item: one acts, on both databases; one that was stopped too long is fenced off."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety import ledger as ledgers
from holo_tasks.safety.ledger import Claim, Ledger
from holo_tasks.safety.store import add
from tests.support.postgres import EVERY_DATABASE
from tests.support.spending import fight, open_store, processes
from tests.support.working import GOAL, LEASE_S, RENEW_S, elsewhere, obey, once_each, take_turns


class LookThenTake(Ledger):
    """A naive ledger, which the proofs have to catch: it looks whether an item is free, and takes it afterwards."""

    def _take(self, token: str, goal: str) -> Claim:
        with self._store.transaction() as db:
            row = db.execute(ledgers.CLAIMS.select().where(ledgers.CLAIMS.c.token == token)).one_or_none()
            now, era = self._store.now_s(db), self._store.era
            if row is not None and self._is_held(row, now):
                raise InvalidUsage("busy")
        time.sleep(0.01)  # it may be far from its database
        with self._store.transaction() as db:
            mine = {"holder": ledgers._this_process(), "era": era, "expires_s": now + LEASE_S, "epoch": 1}
            if not add(db, ledgers.CLAIMS, token=token, goal=goal, **mine):
                db.execute(ledgers.CLAIMS.update().where(ledgers.CLAIMS.c.token == token).values(**mine))
        return Claim(self, token, goal, 1, (), valid_until_s=ledgers._now_s() + LEASE_S)


class Worker:
    """A process with a claim; ``do`` has it do something and returns how that went."""

    def __init__(self, process: Any, pipe: Connection) -> None:
        self.process, self._pipe = process, pipe
        self.epoch = self._heard()

    def do(self, order: str, *details: Any) -> Any:
        self._pipe.send((order, *details))
        return self._heard()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def _heard(self) -> Any:
        assert self._pipe.poll(30), "the worker says nothing"
        return self._pipe.recv()


@contextmanager
def worker(url: str, machine: str = "this") -> Iterator[Worker]:
    ours, theirs = processes.Pipe()
    process = processes.Process(target=obey, args=(url, theirs, machine), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Worker(process, ours)
    finally:
        process.kill()
        process.join()
        ours.close()


@pytest.fixture
def ledger(store_url: str, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setattr(ledgers, "LEASE_S", LEASE_S)
    monkeypatch.setattr(ledgers, "RENEW_S", RENEW_S)
    return Ledger(open_store(store_url))


def take_over(ledger: Ledger, within_s: float = 10.0) -> Any:
    """Claim the item as soon as that is possible."""
    until = time.monotonic() + within_s
    while True:
        taken = ledger.claim("R-1", GOAL)
        try:
            return taken, taken.__enter__()
        except InvalidUsage:
            assert time.monotonic() < until, "it did not become free"
            time.sleep(0.05)


def race(url: str, folder: Path, make: type[Ledger] = Ledger, workers: int = 2) -> Counter[str]:
    """Let workers go through the same items at once; return how often each had its effect."""
    tokens, effects = [f"R-{number}" for number in range(12)], folder / "effects"
    effects.write_bytes(b"")
    together = processes.Barrier(workers)
    fight(once_each, [(url, make, tokens, effects, together)] * workers, kills=0, seed=0)
    return Counter(effects.read_text().split())


@EVERY_DATABASE
def test_of_two_workers_on_one_item_one_acts(store_url: str, tmp_path: Path) -> None:
    assert race(store_url, tmp_path) == {f"R-{number}": 1 for number in range(12)}


def test_the_same_race_catches_a_ledger_that_looks_first_and_takes_afterwards(store_url: str, tmp_path: Path) -> None:
    assert max(race(store_url, tmp_path, LookThenTake, workers=4).values()) > 1


def test_fifty_that_claim_at_once_have_it_one_after_the_other(store_url: str, tmp_path: Path) -> None:
    fight(take_turns, [(store_url, tmp_path, 10, seed) for seed in range(5)], kills=0, seed=0)
    turns = sorted(tuple(map(int, mark.name.split()[1:])) for mark in tmp_path.glob("turn *"))
    assert turns == [(number, number) for number in range(1, 51)]
    assert not (tmp_path / "inside").exists()
    assert [intent.number for intent in Ledger(open_store(store_url)).intents("R-1")] == list(range(1, 51))


def test_no_intent_number_is_lost_or_given_twice(ledger: Ledger) -> None:
    with ledger.claim("R-1", GOAL) as claim, ThreadPoolExecutor(12) as pool:
        numbers = list(pool.map(lambda _: ledger.intend(claim, "click", "frame"), range(60)))
    assert sorted(numbers) == list(range(1, 61))


@EVERY_DATABASE
def test_a_worker_that_was_stopped_for_too_long_is_fenced_off(store_url: str, ledger: Ledger) -> None:
    with worker(store_url) as late:
        assert (late.do("still mine"), late.do("intend")) == (True, 1)
        late.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        taken, claim = take_over(ledger)
        assert time.monotonic() - stopped > LEASE_S - 2 * RENEW_S
        assert (claim.epoch, [intent.number for intent in claim.earlier]) == (late.epoch + 1, [1])
        ledger.disregard(claim)
        assert ledger.intend(claim, "click", "frame") == 1
        late.signal(signal.SIGCONT)
        assert late.do("still mine") is False
        assert [late.do(order) for order in ("intend", "finish", "disregard")] == ["Killed"] * 3
        # What it says about its own intents is not said about those of the other, which have the same numbers.
        late.do("void", 1)
        late.do("settle", 1)
        assert [(intent.number, intent.done) for intent in ledger.intents("R-1")] == [(1, False)]
        assert ledger.find("R-1", GOAL, "") is None
        assert claim.left_s() > 0
        taken.__exit__(None, None, None)


def test_a_worker_that_was_stopped_for_a_moment_goes_on(store_url: str, ledger: Ledger) -> None:
    with worker(store_url) as slow:
        slow.signal(signal.SIGSTOP)
        time.sleep(LEASE_S / 4)
        with pytest.raises(InvalidUsage, match="another run"):
            ledger.claim("R-1", GOAL).__enter__()
        slow.signal(signal.SIGCONT)
        assert (slow.do("still mine"), slow.do("intend"), slow.do("finish")) == (True, 1, None)


@pytest.mark.parametrize("machine", ["this", "another"])
def test_the_claim_of_a_killed_worker_is_free_at_once_or_when_its_lease_is_over(
    store_url: str, ledger: Ledger, machine: str
) -> None:
    with worker(store_url, machine) as dead:
        dead.do("intend")
        dead.process.kill()
        dead.process.join()
        killed = time.monotonic()
        if machine == "another":
            with pytest.raises(InvalidUsage, match="another run"):
                ledger.claim("R-1", GOAL).__enter__()
            time.sleep(LEASE_S)
        with ledger.claim("R-1", GOAL) as claim:
            assert (claim.epoch, len(claim.earlier)) == (dead.epoch + 1, 1)
        assert time.monotonic() - killed < LEASE_S + 2


def test_a_living_worker_keeps_its_claim_beyond_the_lease(store_url: str, ledger: Ledger) -> None:
    with worker(store_url, "another") as other:
        until = time.monotonic() + 2 * LEASE_S
        while time.monotonic() < until:
            with pytest.raises(InvalidUsage):
                ledger.claim("R-1", GOAL).__enter__()
            assert other.do("still mine")
            time.sleep(0.2)


def test_what_somebody_works_on_is_not_forgotten(ledger: Ledger) -> None:
    with ledger.claim("R-1", GOAL) as claim:
        ledger.intend(claim, "click", "frame")
        with pytest.raises(InvalidUsage, match="another run"):
            ledger.forget("R-1")
    ledger.forget("R-1")
    assert ledger.intents("R-1") == ()


def test_a_clock_that_is_set_back_or_on_frees_no_claim(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "_this_process", elsewhere)
    real = time.time
    with ledger.claim("R-1", GOAL) as claim:
        for hours in (-1, 24):
            monkeypatch.setattr(time, "time", lambda hours=hours: real() + 3600 * hours)
            with pytest.raises(InvalidUsage):
                ledger.claim("R-1", GOAL).__enter__()
            assert claim.left_s() > 0
