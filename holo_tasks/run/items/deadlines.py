"""Emit a Prefect event for each work list with items that are due soon, so that an automation can act.

`announce_deadlines` is called by the janitor flow. `due_soon` finds the lists.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from prefect.events import emit_event

from holo_tasks.machine.home import holo_home
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.work_items import WorkItems

DEADLINE_EVENT = "holo.deadline-near"
NEAR_S = 3600.0
"""Seconds before its deadline from which an item counts as due soon."""


@dataclass(frozen=True)
class DueList:
    """A work list with ``near`` open items that are due soon or late, including ``late`` items past their deadline."""

    list: str
    near: int
    late: int


def due_soon(store: Store, near_s: float = NEAR_S) -> list[DueList]:
    """Return the lists with open items that are late, or due within ``near_s`` seconds."""
    items = WorkItems(store)
    until = (datetime.now(UTC) + timedelta(seconds=near_s)).isoformat(timespec="seconds")
    near = {name: items.due_before(name, until) for name in items.lists()}
    return [DueList(name, number, items.counts(name).late) for name, number in near.items() if number]


def announce_deadlines(store: Store | None = None, near_s: float = NEAR_S) -> list[DueList]:
    """Emit one Prefect event ``holo.deadline-near`` for each list that has open items due soon; return these lists.

    An item is due soon within ``near_s`` seconds of its deadline. ``store`` is by default the shared database.
    Each call emits the events again while the items stay open. The automation decides how often it reacts.
    """
    found = due_soon(store or store_at(holo_home()), near_s)
    for due in found:
        resource = {"prefect.resource.id": f"holo.list.{due.list}", "prefect.resource.name": due.list}
        emit_event(event=DEADLINE_EVENT, resource=resource, payload=asdict(due))
    return found
