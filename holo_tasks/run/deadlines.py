"""Telling Prefect of lists of work with items that are due soon, for an automation to act on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from prefect.events import emit_event

from holo_tasks.safety.store import Store
from holo_tasks.safety.work_items import WorkItems

DEADLINE_EVENT = "holo.deadline-near"
NEAR_S = 3600.0


@dataclass(frozen=True)
class Due:
    """How many open items of a list are due soon; ``late`` of them are past their deadline."""

    list: str
    near: int
    late: int


def due_soon(store: Store, near_s: float = NEAR_S) -> list[Due]:
    """Return the lists with open items that are due within so many seconds, or late."""
    items = WorkItems(store)
    until = (datetime.now(UTC) + timedelta(seconds=near_s)).isoformat(timespec="seconds")
    near = {name: items.due_before(name, until) for name in items.lists()}
    return [Due(name, number, items.counts(name).late) for name, number in near.items() if number]


def tell_of_deadlines(store: Store, near_s: float = NEAR_S) -> list[Due]:
    """Emit an event for each list that has open items that are due soon; return what it told of.

    Each call tells of the same lists again, as long as that is so: an automation says how often it wants to hear of it.
    """
    found = due_soon(store, near_s)
    for due in found:
        resource = {"prefect.resource.id": f"holo.list.{due.list}", "prefect.resource.name": due.list}
        emit_event(event=DEADLINE_EVENT, resource=resource, payload=asdict(due))
    return found
