"""How a fleet is doing, in values: its lists of work, who has which seat, and the runs that are at work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from holo_tasks.safety.budgets import BUDGETS
from holo_tasks.safety.ledger import CLAIMS, is_at_work, where_is
from holo_tasks.safety.run_list import RUNS, RunBook, RunRow
from holo_tasks.safety.seats import GOAL as SEAT
from holo_tasks.safety.seats import SEATS, number_of
from holo_tasks.safety.store import HURRY_S, Store
from holo_tasks.safety.work_items import GOAL as WORK
from holo_tasks.safety.work_items import WORK_ITEMS, Counts, WorkItems, flow_run_of

_I = WORK_ITEMS.c


@dataclass(frozen=True)
class ListSeen:
    """How far a list is. ``errors`` counts items by state and what stopped them.

    ``cost_micro`` is what flow runs have spent that worked on this list alone, are over, and whose price is known;
    ``cost_items`` is how many items they brought to their result.
    """

    name: str
    counts: Counts
    done_last_hour: int
    errors: Mapping[tuple[str, str], int]
    cost_micro: int = 0
    cost_items: int = 0

    @property
    def cost_item_micro(self) -> int | None:
        """What an item cost; None where nobody can say."""
        return round(self.cost_micro / self.cost_items) if self.cost_items else None


@dataclass(frozen=True)
class Holder:
    """Who has a seat. ``alive`` is None of a process on another machine; ``flow_run_id`` is empty if none is known."""

    number: int
    machine: str
    process: str
    flow_run_id: str
    alive: bool | None


@dataclass(frozen=True)
class SeatsSeen:
    """How many seats of a name there are, and who has one."""

    name: str
    seats: int
    holders: tuple[Holder, ...]


@dataclass(frozen=True)
class RunSeen:
    """A run that has not ended. ``items`` are those that it has at present, ``lists`` those that it has taken any of.

    ``spent_micro`` is what its flow run has spent by now, and None where that is not kept: without a limit on money.
    """

    row: RunRow
    lists: tuple[str, ...]
    machine: str
    items: int
    spent_micro: int | None


@dataclass(frozen=True)
class Fleet:
    """All of it, at about one time."""

    lists: tuple[ListSeen, ...] = ()
    seats: tuple[SeatsSeen, ...] = ()
    runs: tuple[RunSeen, ...] = ()


@dataclass(frozen=True)
class _Share:
    """What a flow run has to do with a list: the items that it took last."""

    name: str
    flow_run_id: str
    taken: int
    done: int


def look(store: Store, only: str | None = None) -> Fleet:
    """Look at all lists, or at one and the runs that work on it. Changes nothing."""
    items, shares = WorkItems(store), _shares(store)
    names = [name for name in items.lists() if only in (None, name)]
    spent = _spent(store)
    lists = tuple(_list(items, name, shares, spent) for name in names)
    workers = _workers(store)
    runs = (_run(store, row, shares, workers) for row in RunBook(store).under_way())
    return Fleet(lists, _seats(store, workers), tuple(run for run in runs if only is None or only in run.lists))


def look_at_list(store: Store, name: str) -> ListSeen:
    """Look at one list alone."""
    return _list(WorkItems(store), name, _shares(store), _spent(store))


def _list(items: WorkItems, name: str, shares: Sequence[_Share], spent: Mapping[str, int]) -> ListSeen:
    several = {one.flow_run_id for one in shares if one.name != name}
    sole = [one for one in shares if one.name == name and one.flow_run_id in spent.keys() - several]
    hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    return ListSeen(
        name,
        items.counts(name),
        items.done_since(name, hour_ago),
        items.errors(name),
        sum(spent[one.flow_run_id] for one in sole),
        sum(one.done for one in sole),
    )


def _shares(store: Store) -> list[_Share]:
    taken, done = (sa.func.sum(sa.case((_I.state == state, 1), else_=0)) for state in ("taken", "done"))
    by = (_I.list, _I.flow_run_id)
    counted = sa.select(*by, taken.label("taken"), done.label("done")).where(_I.flow_run_id != "").group_by(*by)
    with store.transaction(HURRY_S) as db:
        return [_Share(row.list, row.flow_run_id, int(row.taken), int(row.done)) for row in db.execute(counted)]


def _spent(store: Store) -> dict[str, int]:
    """Return what flow runs with items have spent, of those alone that are over and whose spend is known."""
    unknown = sa.case(((RUNS.c.status == "running") | RUNS.c.spent_micro.is_(None), 1), else_=0)
    these = RUNS.c.flow_run_id.in_(sa.select(_I.flow_run_id).where(_I.flow_run_id != ""))
    summed = sa.select(RUNS.c.flow_run_id, sa.func.sum(RUNS.c.spent_micro).label("spent")).where(these)
    known = summed.group_by(RUNS.c.flow_run_id).having(sa.func.sum(unknown) == 0)
    with store.transaction(HURRY_S) as db:
        return {row.flow_run_id: int(row.spent) for row in db.execute(known)}


def _workers(store: Store) -> dict[str, str]:
    """Return the flow runs that work on lists, with the process of each."""
    these = sa.select(CLAIMS.c.token, CLAIMS.c.holder).where(CLAIMS.c.goal == WORK, CLAIMS.c.holder != "")
    with store.transaction(HURRY_S) as db:
        found = {flow_run_of(row.token): row.holder for row in db.execute(these)}
    return {flow_run: holder for flow_run, holder in found.items() if flow_run}


def _seats(store: Store, workers: Mapping[str, str]) -> tuple[SeatsSeen, ...]:
    held = sa.select(CLAIMS.c.token, CLAIMS.c.holder).where(CLAIMS.c.goal == SEAT, CLAIMS.c.holder != "")
    with store.transaction(HURRY_S) as db:
        rows = db.execute(sa.select(SEATS).order_by(SEATS.c.name)).all()
        claims = [(row.token, row.holder) for row in db.execute(held)]
    seen = []
    for row in rows:
        mine = ((number_of(row.name, token), holder) for token, holder in claims)
        holders = [_holder(number, holder, workers) for number, holder in mine if number is not None]
        seen.append(SeatsSeen(row.name, row.seats, tuple(sorted(holders, key=lambda one: one.number))))
    return tuple(seen)


def _holder(number: int, holder: str, workers: Mapping[str, str]) -> Holder:
    flow_runs = [flow_run for flow_run, process in workers.items() if process == holder]
    machine, process = where_is(holder)
    return Holder(number, machine, process, flow_runs[0] if len(flow_runs) == 1 else "", is_at_work(holder))


def _run(store: Store, row: RunRow, shares: Sequence[_Share], workers: Mapping[str, str]) -> RunSeen:
    mine = [one for one in shares if row.flow_run_id and one.flow_run_id == row.flow_run_id]
    machine = where_is(workers[row.flow_run_id])[0] if row.flow_run_id in workers else ""
    spent = None
    if row.flow_run_id and row.limit_micro is not None:  # then it is known what each call costs
        kept = sa.select(BUDGETS.c.spent_micro).where(BUDGETS.c.scope == f"flow:{row.flow_run_id}")
        with store.transaction(HURRY_S) as db:
            spent = db.execute(kept).scalar()
    return RunSeen(row, tuple(sorted(one.name for one in mine)), machine, sum(one.taken for one in mine), spent)
