"""The dead-letter list: business items that could not be finished, and why, until somebody drives them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from holo_tasks.safety.store import TABLES, Prose, Store, add

ITEMS = sa.Table(
    "items",
    TABLES,
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column("goal", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", Prose, nullable=False),
    sa.Column("trace", sa.Text, nullable=False),
    sa.Column("flow_run_id", sa.Text, nullable=False),
    sa.Column("how", sa.Text, nullable=False),
    sa.Column("attempts", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class Item:
    """An unfinished item. ``at`` is when it failed last (RFC 3339, UTC).

    ``how`` says how it can be driven again: its ``kind`` ("run", "flow"), a run's ``arguments``, a flow's
    ``deployment_id``; and how it can be said to be done: digest of the ``inputs``, and of a sub-goal ``goal`` and JSON
    schema of what it ``returns``.
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


class Items:
    """Kept in the shared database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def place(self) -> str:
        """Where the list is, for messages and notes."""
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
        anew: bool = True,
    ) -> None:
        """Put an item on the list, or note that it failed again.

        ``anew`` is false for a failure that is on it, told by the sub-goal around the one that failed: then it stays
        known ``how`` that one is finished.
        """
        values = _values(Item(token, goal, status, reason, trace, flow_run_id, how, 1, now_text()))
        with self._store.transaction() as db:
            if not add(db, ITEMS, token=token, attempts=1, **values):
                if not anew:
                    del values["how"]
                again = sa.update(ITEMS).where(ITEMS.c.token == token)
                db.execute(again.values(attempts=ITEMS.c.attempts + int(anew), **values))

    def file_late(self, item: Item) -> bool:
        """Put an item on the list that could not be put there when it failed; say whether it was not there yet."""
        with self._store.transaction() as db:
            return add(db, ITEMS, token=item.token, attempts=1, **_values(item))

    def settle(self, token: str, goal: str | None = None) -> bool:
        """Take an item off the list, if it is there for this goal or none is named; say whether it was."""
        which = (ITEMS.c.token == token, *(() if goal is None else (ITEMS.c.goal == goal,)))
        with self._store.transaction() as db:
            return db.execute(sa.delete(ITEMS).where(*which)).rowcount > 0

    def find(self, token: str) -> Item | None:
        """Return an item of the list."""
        with self._store.transaction() as db:
            row = db.execute(sa.select(ITEMS).where(ITEMS.c.token == token)).one_or_none()
        return _item(row) if row else None

    def all(self) -> list[Item]:
        """Return the whole list, the oldest failure first."""
        with self._store.transaction() as db:
            rows = db.execute(sa.select(ITEMS).order_by(ITEMS.c.at, ITEMS.c.token)).all()
        return [_item(row) for row in rows]


def now_text() -> str:
    """Return the time as items keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _item(row: sa.Row[Any]) -> Item:
    return Item(**{**row._mapping, "how": json.loads(row.how)})


def _values(item: Item) -> dict[str, Any]:
    values = vars(item) | {"how": json.dumps(dict(item.how))}
    return {name: value for name, value in values.items() if name not in ("token", "attempts")}
