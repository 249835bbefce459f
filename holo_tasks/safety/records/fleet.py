"""Read the state of a fleet: work queues, seats with their holders, and active runs.

`look` returns a `Fleet` for the dashboard and the command line. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from holo_tasks.safety.database.store import HURRY_S, Store
from holo_tasks.safety.records.budgets import BUDGETS
from holo_tasks.safety.records.ledger import CLAIMS, host_and_pid, is_at_work
from holo_tasks.safety.records.run_list import RUNS, RunBook, RunRow
from holo_tasks.safety.records.seats import GOAL as SEAT
from holo_tasks.safety.records.seats import SEATS, seat_number
from holo_tasks.safety.records.work_items import GOAL as WORK
from holo_tasks.safety.records.work_items import WORK_ITEMS, QueueCounts, WorkItems, flow_run_of

_COLUMNS = WORK_ITEMS.c


@dataclass(frozen=True)
class ListState:
    """State of one work queue.

    ``errors`` counts items by state and status. ``cost_micro`` is the spend of ended flow runs with a known price that
    worked on this queue only, in micro-USD. ``cost_items`` is the number of items that they finished.
    """

    name: str
    counts: QueueCounts
    done_last_hour: int
    errors: Mapping[tuple[str, str], int]
    cost_micro: int = 0
    cost_items: int = 0

    @property
    def cost_item_micro(self) -> int | None:
        """Cost per item in micro-USD, or ``None`` if no item with a known cost is done."""
        return round(self.cost_micro / self.cost_items) if self.cost_items else None


@dataclass(frozen=True)
class Holder:
    """The holder of a seat.

    ``alive`` is ``None`` for a process on another machine. ``flow_run_id`` is empty if it is unknown.
    """

    number: int
    machine: str
    process: str
    flow_run_id: str
    alive: bool | None


@dataclass(frozen=True)
class SeatsState:
    """The seats of one name and their holders."""

    name: str
    seats: int
    holders: tuple[Holder, ...]


@dataclass(frozen=True)
class RunState:
    """An active run.

    ``items`` is the number of items that it holds now, and ``lists`` are the queues that it has taken items from.
    ``spent_micro`` is the current spend of its flow run. It is ``None`` without a limit on money, because the spend is
    not recorded then.
    """

    row: RunRow
    lists: tuple[str, ...]
    machine: str
    items: int
    spent_micro: int | None


@dataclass(frozen=True)
class Fleet:
    """All queues, seats and active runs, read at about the same time."""

    lists: tuple[ListState, ...] = ()
    seats: tuple[SeatsState, ...] = ()
    runs: tuple[RunState, ...] = ()


@dataclass(frozen=True)
class _Share:
    """The items of a queue that a flow run was the last to take."""

    name: str
    flow_run_id: str
    taken: int
    done: int


def look(store: Store, only: str | None = None) -> Fleet:
    """Return the state of all queues, or of one queue and the runs that work on it."""
    items, shares = WorkItems(store), _shares(store)
    names = [name for name in items.lists() if only in (None, name)]
    spent = _spend_of_runs(store)
    lists = tuple(_list(items, name, shares, spent) for name in names)
    workers = _workers(store)
    runs = (_run(store, row, shares, workers) for row in RunBook(store).running())
    return Fleet(lists, _seats(store, workers), tuple(run for run in runs if only is None or only in run.lists))


def look_at_list(store: Store, name: str) -> ListState:
    """Return the state of one queue."""
    return _list(WorkItems(store), name, _shares(store), _spend_of_runs(store))


def _list(items: WorkItems, name: str, shares: Sequence[_Share], spent: Mapping[str, int]) -> ListState:
    several = {one.flow_run_id for one in shares if one.name != name}
    sole = [one for one in shares if one.name == name and one.flow_run_id in spent.keys() - several]
    hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    return ListState(
        name,
        items.counts(name),
        items.done_since(name, hour_ago),
        items.errors(name),
        sum(spent[one.flow_run_id] for one in sole),
        sum(one.done for one in sole),
    )


def _shares(store: Store) -> list[_Share]:
    taken, done = (sa.func.sum(sa.case((_COLUMNS.state == state, 1), else_=0)) for state in ("taken", "done"))
    by = (_COLUMNS.list, _COLUMNS.flow_run_id)
    counted = sa.select(*by, taken.label("taken"), done.label("done")).where(_COLUMNS.flow_run_id != "").group_by(*by)
    with store.transaction(HURRY_S) as db:
        return [_Share(row.list, row.flow_run_id, int(row.taken), int(row.done)) for row in db.execute(counted)]


def _spend_of_runs(store: Store) -> dict[str, int]:
    """Return the spend of flow runs with items, if they are over and all of their spend is known."""
    unknown = sa.case(((RUNS.c.status == "running") | RUNS.c.spent_micro.is_(None), 1), else_=0)
    these = RUNS.c.flow_run_id.in_(sa.select(_COLUMNS.flow_run_id).where(_COLUMNS.flow_run_id != ""))
    summed = sa.select(RUNS.c.flow_run_id, sa.func.sum(RUNS.c.spent_micro).label("spent")).where(these)
    known = summed.group_by(RUNS.c.flow_run_id).having(sa.func.sum(unknown) == 0)
    with store.transaction(HURRY_S) as db:
        return {row.flow_run_id: int(row.spent) for row in db.execute(known)}


def _workers(store: Store) -> dict[str, str]:
    """Return the flow runs that work on queues, with the process identity of each."""
    these = sa.select(CLAIMS.c.token, CLAIMS.c.holder).where(CLAIMS.c.goal == WORK, CLAIMS.c.holder != "")
    with store.transaction(HURRY_S) as db:
        found = {flow_run_of(row.token): row.holder for row in db.execute(these)}
    return {flow_run: holder for flow_run, holder in found.items() if flow_run}


def _seats(store: Store, workers: Mapping[str, str]) -> tuple[SeatsState, ...]:
    held = sa.select(CLAIMS.c.token, CLAIMS.c.holder).where(CLAIMS.c.goal == SEAT, CLAIMS.c.holder != "")
    with store.transaction(HURRY_S) as db:
        rows = db.execute(sa.select(SEATS).order_by(SEATS.c.name)).all()
        claims = [(row.token, row.holder) for row in db.execute(held)]
    seen = []
    for row in rows:
        mine = ((seat_number(row.name, token), holder) for token, holder in claims)
        holders = [_holder(number, holder, workers) for number, holder in mine if number is not None]
        seen.append(SeatsState(row.name, row.seats, tuple(sorted(holders, key=lambda one: one.number))))
    return tuple(seen)


def _holder(number: int, holder: str, workers: Mapping[str, str]) -> Holder:
    flow_runs = [flow_run for flow_run, process in workers.items() if process == holder]
    machine, process = host_and_pid(holder)
    return Holder(number, machine, process, flow_runs[0] if len(flow_runs) == 1 else "", is_at_work(holder))


def _run(store: Store, row: RunRow, shares: Sequence[_Share], workers: Mapping[str, str]) -> RunState:
    mine = [one for one in shares if row.flow_run_id and one.flow_run_id == row.flow_run_id]
    machine = host_and_pid(workers[row.flow_run_id])[0] if row.flow_run_id in workers else ""
    spent = None
    if row.flow_run_id and row.limit_micro is not None:  # only then the spend is in the budget table
        spent_query = sa.select(BUDGETS.c.spent_micro).where(BUDGETS.c.scope == f"flow:{row.flow_run_id}")
        with store.transaction(HURRY_S) as db:
            spent = db.execute(spent_query).scalar()
    return RunState(row, tuple(sorted(one.name for one in mine)), machine, sum(one.taken for one in mine), spent)
