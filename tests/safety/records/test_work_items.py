"""Work queues: the order of items, the rights of workers, and the items of dead workers."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from holo_tasks.core.errors import Killed, TokenConflict
from holo_tasks.safety.database.store import Store
from holo_tasks.safety.records import ledger as ledgers
from holo_tasks.safety.records.ledger import CLAIMS, Claim, Ledger
from holo_tasks.safety.records.work_items import GOAL, WORK_ITEMS, NewItem, QueueCounts, TakenItem, WorkItems
from tests.support import warm
from tests.support.command_line import until
from tests.support.spending import open_store

ROOT = Path(__file__).parent.parent.parent.parent
DYING = """
import sys, time
sys.path.insert(0, sys.argv[2])
from tests.support.spending import open_store
from holo_tasks.safety.records.ledger import Ledger
from holo_tasks.safety.records.work_items import GOAL, WorkItems
store = open_store(sys.argv[1])
with Ledger(store).claim("worker:dying", GOAL) as claim:
    taken = WorkItems(store).take("reports", claim)
    print(taken.key, flush=True)
    time.sleep(600)
"""


@contextmanager
def worker(store: Store, name: str = "w") -> Iterator[Claim]:
    with Ledger(store).claim(f"worker:{name}", GOAL) as claim:
        yield claim


def filled(url: str, *items: NewItem) -> tuple[Store, WorkItems]:
    store = open_store(url)
    work = WorkItems(store)
    assert work.add("reports", items) == len(items)
    return store, work


def taken(work: WorkItems, claim: Claim) -> TakenItem:
    item = work.take("reports", claim)
    assert item is not None
    return item


def test_the_most_urgent_is_first_then_the_nearest_deadline_then_the_oldest(store_url: str) -> None:
    store, work = filled(
        store_url,
        NewItem("old", {}),
        NewItem("low", {}, priority="low", due="2026-01-01T00:00:00+00:00"),
        NewItem("due later", {}, due="2026-03-01T00:00:00+00:00"),
        NewItem("due", {}, due="2026-02-01T00:00:00+00:00"),
        NewItem("new", {}),
        NewItem("urgent", {}, priority="high"),
    )
    with worker(store) as claim:
        order = [taken(work, claim).key for _ in range(6)]
        assert work.take("reports", claim) is None
        assert work.take("another list", claim) is None
    assert order == ["urgent", "due", "due later", "old", "new", "low"]


def test_existing_items_are_skipped_and_another_payload_adds_nothing(store_url: str) -> None:
    _, work = filled(store_url, *(NewItem(f"R-{number}", {"n": number}) for number in range(250)))
    again = [NewItem(f"R-{number}", {"n": number}) for number in range(260)]
    assert work.add("reports", again) == 10
    with pytest.raises(TokenConflict, match="R-7"):
        work.add("reports", [NewItem("new", {}), NewItem("R-7", {"n": 8})])
    assert work.find("reports", "new") is None
    assert work.counts("reports").ready == 260


def test_an_item_goes_to_one_of_many_concurrent_workers(store_url: str) -> None:
    store, work = filled(store_url, *(NewItem(str(number), {}) for number in range(40)))
    had: list[str] = []

    def take_all(name: str) -> None:
        with worker(store, name) as claim:
            mine = WorkItems(store)
            while (item := mine.take("reports", claim)) is not None:
                had.append(item.key)
                mine.end_with_result(item)

    workers = [threading.Thread(target=take_all, args=(str(number),)) for number in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert sorted(had, key=int) == [str(number) for number in range(40)]
    assert work.counts("reports") == QueueCounts(done=40)


def test_a_failed_try_is_repeated_after_a_pause_up_to_the_limit(store_url: str) -> None:
    store, work = filled(store_url, NewItem("R-1", {}, most_tries=2))
    with worker(store) as claim:
        assert work.record_failed_try(taken(work, claim), "desktop_failed", "The screen is gone.", 600.0) == "ready"
        assert work.take("reports", claim) is None
        assert work.counts("reports") == QueueCounts(waiting=1)
        with store.transaction() as db:  # as if the clock was set back: longer than any pause
            db.execute(sa.update(WORK_ITEMS).values(not_before_s=store.now_s(db) + 86_400))
        assert work.record_failed_try(taken(work, claim), "desktop_failed", "The screen is gone.", 0.0) == "exhausted"
    assert work.counts("reports") == QueueCounts(exhausted=1)
    assert work.errors("reports") == {("exhausted", "desktop_failed"): 1}
    assert work.again("R-1") == 1
    assert work.counts("reports") == QueueCounts(ready=1, ready_by={"normal": 1})


def test_a_wrong_item_is_not_retried(store_url: str) -> None:
    store, work = filled(store_url, NewItem("R-1", {}, due="2026-01-01T00:00:00+00:00"))
    assert work.counts("reports").late == work.due_before("reports", "2026-01-02") == 1
    with worker(store) as claim:
        item = taken(work, claim)
        work.end_without_result(item, "failed", "invalid", "There is no such report.")
        assert work.take("reports", claim) is None
    found = work.find("reports", "R-1")
    assert found is not None
    assert (found.state, found.reason) == ("failed", "There is no such report.")
    assert work.counts("reports") == QueueCounts(failed=1)


def test_leaving_counts_no_try_and_later_calls_are_refused(store_url: str) -> None:
    store, work = filled(store_url, NewItem("R-1", {}))
    with worker(store) as claim:
        item = taken(work, claim)
        work.leave(claim)
        with pytest.raises(Killed):
            work.end_with_result(item)
        with pytest.raises(Killed):
            work.take("reports", claim)
    with worker(store, "next") as claim:
        assert taken(work, claim).tries == 0


def test_items_of_a_killed_worker_are_free_at_once_on_its_machine(store_url: str) -> None:
    store, work = filled(store_url, NewItem("R-1", {}))
    with warm.ScriptPopen([sys.executable, "-c", DYING, store_url, str(ROOT)], stdout=subprocess.PIPE) as dying:
        assert dying.stdout is not None
        assert dying.stdout.readline() == b"R-1\n"
        assert work.return_lapsed() == 0  # the worker is alive
        dying.kill()
    assert work.return_lapsed("another list") == 0
    assert work.return_lapsed("reports") == 1
    with worker(store) as claim:
        assert taken(work, claim).tries == 1


@pytest.mark.parametrize("set_by_s", [-7200.0, 7200.0])
def test_a_worker_on_another_machine_is_watched_regardless_of_clocks(
    store_url: str, monkeypatch: pytest.MonkeyPatch, set_by_s: float
) -> None:
    monkeypatch.setattr(ledgers, "LEASE_S", 0.4)
    store, work = filled(store_url, NewItem("R-1", {}))
    with worker(store, "far") as claim:
        item = taken(work, claim)
        elsewhere = {"holder": "another machine|1|1", "era": "another" if store.local else "epoch"}
        with store.transaction() as db:
            db.execute(sa.update(CLAIMS).values(expires_s=store.now_s(db) + set_by_s, **elsewhere))
        assert work.return_lapsed() == 0  # the worker may be alive, because it was not watched yet
        with store.transaction() as db:
            db.execute(sa.update(CLAIMS).values(expires_s=store.now_s(db) + set_by_s + 1))  # a renewal
        assert work.return_lapsed() == 0
        until(work.return_lapsed)
        with pytest.raises(Killed):
            work.end_with_result(item)  # the worker returns, and is refused
    assert work.counts("reports").ready == 1


def test_an_item_that_kills_its_workers_is_exhausted(store_url: str) -> None:
    store, work = filled(store_url, NewItem("R-1", {}, most_tries=1))
    with worker(store, "dead") as claim:
        taken(work, claim)
        with store.transaction() as db:
            db.execute(sa.delete(CLAIMS))
        assert work.return_lapsed() == 1
    assert work.counts("reports") == QueueCounts(exhausted=1)
    assert work.errors("reports") == {("exhausted", "worker_lost"): 1}
