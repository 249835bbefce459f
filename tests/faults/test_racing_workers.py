"""Several workers on one business item: one acts, on both databases. A worker that was suspended too long is fenced
off.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage, LimitReached
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.safety.database.store import add
from holo_tasks.safety.records import ledger as ledgers
from holo_tasks.safety.records.budgets import Budgets, item_key
from holo_tasks.safety.records.ledger import Ledger
from tests.support.postgres import EVERY_DATABASE, Postgres
from tests.support.spending import Balance, balance, fight, open_store, processes
from tests.support.working import (
    GOAL,
    LEASE_S,
    RENEW_S,
    LookThenTake,
    claim_apart,
    elsewhere,
    obey,
    once_each,
    take_turns,
)


class Worker:
    """A process with a claim. ``do`` sends it an order and returns the result."""

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


@pytest.fixture
def ledger_on(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Ledger]:
    monkeypatch.setattr(ledgers, "LEASE_S", LEASE_S)
    monkeypatch.setattr(ledgers, "RENEW_S", RENEW_S)
    return lambda url: Ledger(open_store(url))


def take_over(ledger: Ledger, within_s: float = 10.0) -> Any:
    """Claim the item once it is free."""
    until = time.monotonic() + within_s
    while True:
        taken = ledger.claim("R-1", GOAL)
        try:
            return taken, taken.__enter__()
        except InvalidUsage:
            assert time.monotonic() < until, "the item did not become free"
            time.sleep(0.05)


def race(url: str, folder: Path, make: type[Ledger] = Ledger, *, workers: int = 2, items: int = 12) -> Counter[str]:
    """Let workers go through the same items at once; return the number of effects of each item."""
    tokens, effects = [f"R-{number}" for number in range(items)], folder / "effects"
    effects.write_bytes(b"")
    together = processes.Barrier(workers)
    fight(once_each, [(url, make, tokens, effects, together)] * workers, kills=0, seed=0)
    return Counter(effects.read_text().split())


@EVERY_DATABASE
def test_of_two_workers_on_one_item_one_acts(store_url: str, tmp_path: Path) -> None:
    assert race(store_url, tmp_path) == {f"R-{number}": 1 for number in range(12)}


def test_the_race_catches_a_ledger_that_checks_before_it_claims(store_url: str, tmp_path: Path) -> None:
    assert max(race(store_url, tmp_path, LookThenTake, workers=4, items=5).values()) > 1


def test_thirty_simultaneous_claims_are_granted_one_at_a_time(store_url: str, tmp_path: Path) -> None:
    fight(take_turns, [(store_url, tmp_path, 6, processes.Semaphore(0))] * 5, kills=0, seed=0)
    turns = sorted(tuple(map(int, mark.name.split()[1:])) for mark in tmp_path.glob("turn *"))
    assert turns == [(number, number) for number in range(1, 31)]
    assert not (tmp_path / "inside").exists()
    assert [intent.number for intent in Ledger(open_store(store_url)).intents("R-1")] == list(range(1, 31))


def test_no_intent_number_is_lost_or_duplicated(ledger: Ledger) -> None:
    with ledger.claim("R-1", GOAL) as claim, ThreadPoolExecutor(12) as pool:
        numbers = list(pool.map(lambda _: ledger.intend(claim, "click", "frame"), range(60)))
    assert sorted(numbers) == list(range(1, 61))


@EVERY_DATABASE
def test_a_worker_that_was_suspended_too_long_is_fenced_off(store_url: str, ledger: Ledger) -> None:
    with worker(store_url) as late:
        assert (late.do("still mine"), late.do("intend")) == (True, 1)
        late.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        taken, claim = take_over(ledger)
        assert time.monotonic() - stopped > LEASE_S - 2 * RENEW_S
        assert (claim.epoch, [intent.number for intent in claim.earlier]) == (late.epoch + 1, [1])
        ledger.delete_intents(claim)
        assert ledger.intend(claim, "click", "frame") == 1
        late.signal(signal.SIGCONT)
        assert late.do("still mine") is False
        assert [late.do(order) for order in ("intend", "finish", "delete_intents")] == ["Killed"] * 3
        # Its orders about its own intents must not affect the other worker's intents of the same numbers.
        late.do("void", 1)
        late.do("settle", 1)
        assert [(intent.number, intent.done) for intent in ledger.intents("R-1")] == [(1, False)]
        assert ledger.find("R-1", GOAL, "") is None
        assert claim.left_s() > 0
        taken.__exit__(None, None, None)


def test_a_worker_that_was_suspended_briefly_continues(store_url: str, ledger: Ledger) -> None:
    with worker(store_url) as slow:
        slow.signal(signal.SIGSTOP)
        time.sleep(LEASE_S / 4)
        with pytest.raises(InvalidUsage, match="another run"):
            ledger.claim("R-1", GOAL).__enter__()
        slow.signal(signal.SIGCONT)
        assert (slow.do("still mine"), slow.do("intend"), slow.do("finish")) == (True, 1, None)


@pytest.mark.parametrize("machine", ["this", "another"])
def test_a_killed_workers_claim_is_free_at_once_or_after_its_lease(
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
        # A takeover does not trust the server's clock, which may be changed: the claim is observed for a whole lease.
        assert time.monotonic() - killed < 2 * LEASE_S + 2


def test_a_living_worker_keeps_its_claim_beyond_one_lease(store_url: str, ledger: Ledger) -> None:
    with worker(store_url, "another") as other:
        until = time.monotonic() + 2 * LEASE_S
        while time.monotonic() < until:
            with pytest.raises(InvalidUsage):
                ledger.claim("R-1", GOAL).__enter__()
            assert other.do("still mine")
            time.sleep(0.2)


def test_an_item_in_work_cannot_be_freed(ledger: Ledger) -> None:
    with ledger.claim("R-1", GOAL) as claim:
        ledger.intend(claim, "click", "frame")
        with pytest.raises(InvalidUsage, match="another run"):
            ledger.free("R-1", not_done=True)
    ledger.free("R-1", not_done=True)
    assert ledger.intents("R-1") == ()


@EVERY_DATABASE
def test_a_fresh_budget_is_given_only_if_no_run_works_on_the_item(store_url: str) -> None:
    store = open_store(store_url)
    ledger, budgets = Ledger(store), Budgets(store)
    scope = Guard("s", Limits(max_cost_usd=0.05), 0, key=item_key("R-1", "run"))
    with ledger.claim("R-1", GOAL):
        for _ in range(2):
            paid = budgets.hold([scope], 22_000)
            with pytest.raises(InvalidUsage, match="being worked on by another run"):
                ledger.free("R-1", not_done=False)
            budgets.pay(paid, 22_000)
        with pytest.raises(LimitReached):
            budgets.hold([scope], 22_000)
    ledger.free("R-1", not_done=False)
    assert balance(budgets, scope.key) == Balance(0, 0, 0)


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_changed_server_clock_admits_no_second_holder(
    postgres: Postgres, ledger_on: Callable[[str], Ledger], hours: int
) -> None:
    url = postgres.new_database()
    with worker(url) as other:
        ledger = ledger_on(url)
        true_s = ledger._store.now_s
        # This process sees a changed server clock, and so will the holder's next renewal.
        ledger._store.now_s = lambda db: true_s(db) + 3600 * hours  # type: ignore[method-assign]
        for _ in range(3):
            with pytest.raises(InvalidUsage, match="another run"), ledger.claim("R-1", GOAL):
                pass
            assert (other.do("still mine"), other.do("intend") > 0) == (True, True)
        with pytest.raises(InvalidUsage, match="another run"):
            ledger.free("R-1", not_done=False)
        other.process.kill()
        other.process.join()


@pytest.mark.parametrize("hours", [-1, 1])
def test_the_claim_of_a_dead_machine_is_free_after_a_lease_whatever_the_server_clock_shows(
    postgres: Postgres, ledger_on: Callable[[str], Ledger], hours: int
) -> None:
    url = postgres.new_database()
    with worker(url, "another") as dead:
        dead.process.kill()
        dead.process.join()
    ledger = ledger_on(url)
    true_s = ledger._store.now_s
    ledger._store.now_s = lambda db: true_s(db) + 3600 * hours  # type: ignore[method-assign]
    asked = time.monotonic()
    with ledger.claim("R-1", GOAL) as claim:
        assert time.monotonic() - asked >= LEASE_S
        assert claim.epoch == 2


def test_a_claim_from_before_a_reboot_is_observed_before_it_is_taken(
    tmp_path: Path, ledger_on: Callable[[str], Ledger]
) -> None:
    url = f"sqlite:///{tmp_path / 'holo.db'}"
    with worker(url, "another") as other:
        ledger = ledger_on(url)
        ledger._store.era = "another start"
        with pytest.raises(InvalidUsage, match="another run"), ledger.claim("R-1", GOAL):
            pass
        assert other.do("still mine")
        other.process.kill()
        other.process.join()
        with ledger.claim("R-1", GOAL) as claim:
            assert claim.epoch == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a time namespace")
def test_a_process_with_another_monotonic_clock_takes_no_living_claim(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'holo.db'}"
    with worker(url, "another") as other:
        ours, theirs = processes.Pipe()
        process = processes.Process(target=claim_apart, args=(url, theirs), daemon=True)
        process.start()
        theirs.close()
        assert ours.poll(120)
        apart_s, told = ours.recv()
        process.join()
        if not apart_s:
            pytest.skip(f"this machine permits no time namespace: {told}")
        assert apart_s > 90_000
        assert "being worked on by another run" in told
        assert other.do("still mine")


async def test_waiting_for_a_claim_blocks_no_other_work_and_can_be_cancelled(
    postgres: Postgres, ledger_on: Callable[[str], Ledger]
) -> None:
    url = postgres.new_database()
    with worker(url, "another") as dead:
        dead.process.kill()
        dead.process.join()
    ledger = ledger_on(url)
    ledger._store.now_s = lambda db: 1e12  # type: ignore[method-assign]

    async def work() -> None:
        async with ledger.at_work("R-1", GOAL):
            pytest.fail("it was called off")

    waiting = asyncio.create_task(work())
    await asyncio.sleep(0.2)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with ledger.at_work("R-1", GOAL) as claim:
        assert claim.left_s() > 0


async def test_waiting_claims_use_no_shared_threads(
    tmp_path: Path, ledger_on: Callable[[str], Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = ledger_on(f"sqlite:///{tmp_path / 'holo.db'}")
    monkeypatch.setattr(ledgers, "LEASE_S", 20.0)
    tokens, taken = [f"R-{number}" for number in range(3)], []
    with ledger._store.transaction() as db:
        for token in tokens:
            other = {"holder": elsewhere(), "era": "another start", "expires_s": 1e12, "epoch": 1}
            add(db, ledgers.CLAIMS, token=token, goal=GOAL, **other)

    async def work(token: str) -> None:
        async with ledger.at_work(token, GOAL):
            taken.append(token)

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    waiting = [asyncio.create_task(work(token)) for token in tokens]
    await asyncio.sleep(0.2)
    async with ledger.at_work("R-9", GOAL):
        assert taken == []
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def test_a_local_clock_set_back_or_forward_frees_no_claim(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "_this_process", elsewhere)
    real = time.time
    with ledger.claim("R-1", GOAL) as claim:
        for hours in (-1, 24):
            monkeypatch.setattr(time, "time", lambda hours=hours: real() + 3600 * hours)
            with pytest.raises(InvalidUsage):
                ledger.claim("R-1", GOAL).__enter__()
            assert claim.left_s() > 0
