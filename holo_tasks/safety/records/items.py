"""The dead-letter list in the shared database: business items that could not be finished, until a person retries them.

`Items` is used by `run.items.dead_letters` and the command line.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from holo_tasks.safety.database.store import TABLES, Prose, Store, add

ITEMS = sa.Table(
    "items",
    TABLES,
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column("goal", sa.Text, primary_key=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", Prose, nullable=False),
    sa.Column("trace", sa.Text, nullable=False),
    sa.Column("flow_run_id", sa.Text, nullable=False),
    sa.Column("how", sa.Text, nullable=False),
    sa.Column("attempts", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
)

AT_ONCE = 400
"""Items in one statement. Each takes two values, and an older SQLite takes at most 999."""
WORKER = "worker"
"""Key in ``how``: the identity of the process that added the item, which may still be working on other items."""


@dataclass(frozen=True)
class Item:
    """An unfinished item, identified by token and goal. ``at`` is the time of its last failure (RFC 3339, UTC).

    ``how`` describes how to retry it: its ``kind`` ("run" or "flow"), a run's ``arguments``, a flow's
    ``deployment_id``, and `WORKER`. It also describes how to mark it done: the digest of its ``inputs`` and, for a
    sub-goal, the ``goal`` and ``returns``, the JSON schema of its result.
    """

    token: str
    goal: str
    status: str
    reason: str
    trace: str
    flow_run_id: str
    how: Mapping[str, Any]
    attempts: int
    at: str


@dataclass(frozen=True)
class NestedItems:
    """Items of nested sub-goals that an outer item replaces. Nested sub-goals have one item, that of the outermost.

    ``goals`` are the inner sub-goals under the same token that failed. ``failed`` is the inner sub-goal whose failure
    caused this one. In that case the failure is not counted again, and the inner item's ``how`` is kept.
    """

    goals: Collection[str] = ()
    failed: str = ""


ALONE = NestedItems()
"""For an item that replaces no others."""


class Items:
    """The dead-letter list in the shared database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def place(self) -> str:
        """Location of the database, for messages."""
        return self._store.place

    def file(
        self,
        token: str,
        goal: str,
        *,
        status: str,
        reason: str,
        trace: str,
        flow_run_id: str,
        how: Mapping[str, Any],
        within: NestedItems = ALONE,
    ) -> None:
        """Add an item, or record that it failed again. The items of ``within`` are removed."""
        values = _values(Item(token, goal, status, reason, trace, flow_run_id, how, 1, now_text()))

        def file(db: sa.Connection) -> None:
            inner = _remove_inner(db, token, within)
            if found := inner.get(within.failed):
                values["how"] = found.how
            more = sum(row.attempts for row in inner.values()) + int(found is None)
            if not add(db, ITEMS, token=token, goal=goal, attempts=more, **values):
                again = sa.update(ITEMS).where(*_matches(token, goal))
                db.execute(again.values(attempts=ITEMS.c.attempts + more, **values))

        self._store.do(file)

    def file_late(self, item: Item, within: NestedItems = ALONE) -> bool:
        """Add an item that could not be added when it failed; return whether it was added."""
        values = _values(item)

        def file(db: sa.Connection) -> bool:
            if db.execute(sa.select(ITEMS.c.goal).where(*_matches(item.token, item.goal))).first() is not None:
                return False
            if found := _remove_inner(db, item.token, within).get(within.failed):
                values["how"] = found.how
            return add(db, ITEMS, token=item.token, goal=item.goal, attempts=1, **values)

        return self._store.do(file)

    def driven(self, item: Item, flow_run_id: str) -> None:
        """Record the flow run that retries an item, unless the item has failed again since ``item`` was read."""
        how = {name: value for name, value in item.how.items() if name != WORKER}
        same = (*_matches(item.token, item.goal), ITEMS.c.at == item.at, ITEMS.c.flow_run_id == item.flow_run_id)
        with self._store.transaction() as db:
            db.execute(sa.update(ITEMS).where(*same).values(flow_run_id=flow_run_id, how=json.dumps(how)))

    def settle(self, token: str, goal: str) -> bool:
        """Remove an item; return whether it was on the list."""
        with self._store.transaction() as db:
            return db.execute(sa.delete(ITEMS).where(*_matches(token, goal))).rowcount > 0

    def settle_all(self, works: Sequence[tuple[str, str]]) -> None:
        """Remove finished items by token and goal. Items that are not on the list are ignored."""
        with self._store.transaction() as db:
            for begin in range(0, len(works), AT_ONCE):
                some = sa.tuple_(ITEMS.c.token, ITEMS.c.goal).in_(works[begin : begin + AT_ONCE])
                db.execute(sa.delete(ITEMS).where(some))

    def of(self, token: str) -> list[Item]:
        """Return the items of a token, one for each goal, oldest failure first."""
        return self._items_where(ITEMS.c.token == token)

    def all(self) -> list[Item]:
        """Return all items, oldest failure first."""
        return self._items_where(sa.true())

    def _items_where(self, which: sa.ColumnElement[bool]) -> list[Item]:
        with self._store.transaction() as db:
            rows = db.execute(sa.select(ITEMS).where(which).order_by(ITEMS.c.at, ITEMS.c.token, ITEMS.c.goal)).all()
        return [_item(row) for row in rows]


def now_text() -> str:
    """Return the current time in the format of `Item.at`."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _item(row: sa.Row[Any]) -> Item:
    return Item(**{**row._mapping, "how": json.loads(row.how)})


def _values(item: Item) -> dict[str, Any]:
    values = vars(item) | {"how": json.dumps(dict(item.how))}
    return {name: value for name, value in values.items() if name not in ("token", "goal", "attempts")}


def _matches(token: str, goal: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (ITEMS.c.token == token, ITEMS.c.goal == goal)


def _remove_inner(db: sa.Connection, token: str, within: NestedItems) -> dict[str, sa.Row[Any]]:
    """Remove the items that a new item replaces; return their rows by goal."""
    goals = sorted({*within.goals, within.failed} - {""})
    if not goals:
        return {}
    taken = sa.delete(ITEMS).where(ITEMS.c.token == token, ITEMS.c.goal.in_(goals)).returning(*ITEMS.c)
    return {row.goal: row for row in db.execute(taken).all()}
