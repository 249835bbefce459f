"""The dead-letter list: business items that could not be finished, and why, until somebody drives them again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from holo_tasks.safety.store import TABLES, Prose, Store, add

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
"""So many items one statement names: two values each, of which an older SQLite takes 999."""
WORKER = "worker"
"""In ``how``: the process that put the item on the list, which may go on with other ones."""


@dataclass(frozen=True)
class Item:
    """An unfinished item, known by token and goal, as work is. ``at`` is when it failed last (RFC 3339, UTC).

    ``how`` says how it can be driven again: its ``kind`` ("run", "flow"), a run's ``arguments``, a flow's
    ``deployment_id`` and `WORKER`; and how it can be said to be done: digest of the ``inputs``, and of a sub-goal
    ``goal`` and JSON schema of what it ``returns``.
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
class Within:
    """What of an item's work is on the list already: of sub-goals inside each other the outermost is, with one item.

    ``goals`` are those inside under the same token that failed. If the item failed because one of them did, that is
    ``failed``: it is no other failure, and it stays known ``how`` that one is finished.
    """

    goals: Collection[str] = ()
    failed: str = ""


ALONE = Within()


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
        within: Within = ALONE,
    ) -> None:
        """Put an item on the list, or note that it failed again; what it failed over ``within`` makes way for it."""
        values = _values(Item(token, goal, status, reason, trace, flow_run_id, how, 1, now_text()))

        def file(db: sa.Connection) -> None:
            inner = _taken(db, token, within)
            if found := inner.get(within.failed):
                values["how"] = found.how
            more = sum(row.attempts for row in inner.values()) + int(found is None)
            if not add(db, ITEMS, token=token, goal=goal, attempts=more, **values):
                again = sa.update(ITEMS).where(*_of(token, goal))
                db.execute(again.values(attempts=ITEMS.c.attempts + more, **values))

        self._store.do(file)

    def file_late(self, item: Item, within: Within = ALONE) -> bool:
        """Put an item on the list that could not be put there when it failed; say whether it was not there yet."""
        values = _values(item)

        def file(db: sa.Connection) -> bool:
            if db.execute(sa.select(ITEMS.c.goal).where(*_of(item.token, item.goal))).first() is not None:
                return False
            if found := _taken(db, item.token, within).get(within.failed):
                values["how"] = found.how
            return add(db, ITEMS, token=item.token, goal=item.goal, attempts=1, **values)

        return self._store.do(file)

    def driven(self, item: Item, flow_run_id: str) -> None:
        """Note which flow run drives an item now; one that failed again since then is left as it is."""
        how = {name: value for name, value in item.how.items() if name != WORKER}
        same = (*_of(item.token, item.goal), ITEMS.c.at == item.at, ITEMS.c.flow_run_id == item.flow_run_id)
        with self._store.transaction() as db:
            db.execute(sa.update(ITEMS).where(*same).values(flow_run_id=flow_run_id, how=json.dumps(how)))

    def settle(self, token: str, goal: str) -> bool:
        """Take an item off the list; say whether it was there."""
        with self._store.transaction() as db:
            return db.execute(sa.delete(ITEMS).where(*_of(token, goal))).rowcount > 0

    def settle_all(self, works: Sequence[tuple[str, str]]) -> None:
        """Take what is finished off the list, by token and goal, whether it was there or not."""
        with self._store.transaction() as db:
            for begin in range(0, len(works), AT_ONCE):
                some = sa.tuple_(ITEMS.c.token, ITEMS.c.goal).in_(works[begin : begin + AT_ONCE])
                db.execute(sa.delete(ITEMS).where(some))

    def of(self, token: str) -> list[Item]:
        """Return what is on the list for a token, the oldest failure first: one item for each goal."""
        return self._listed(ITEMS.c.token == token)

    def all(self) -> list[Item]:
        """Return the whole list, the oldest failure first."""
        return self._listed(sa.true())

    def _listed(self, which: sa.ColumnElement[bool]) -> list[Item]:
        with self._store.transaction() as db:
            rows = db.execute(sa.select(ITEMS).where(which).order_by(ITEMS.c.at, ITEMS.c.token, ITEMS.c.goal)).all()
        return [_item(row) for row in rows]


def now_text() -> str:
    """Return the time as items keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _item(row: sa.Row[Any]) -> Item:
    return Item(**{**row._mapping, "how": json.loads(row.how)})


def _values(item: Item) -> dict[str, Any]:
    values = vars(item) | {"how": json.dumps(dict(item.how))}
    return {name: value for name, value in values.items() if name not in ("token", "goal", "attempts")}


def _of(token: str, goal: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (ITEMS.c.token == token, ITEMS.c.goal == goal)


def _taken(db: sa.Connection, token: str, within: Within) -> dict[str, sa.Row[Any]]:
    """Take off the list what an item is there instead of; return it by goal."""
    goals = sorted({*within.goals, within.failed} - {""})
    if not goals:
        return {}
    taken = sa.delete(ITEMS).where(ITEMS.c.token == token, ITEMS.c.goal.in_(goals)).returning(*ITEMS.c)
    return {row.goal: row for row in db.execute(taken).all()}
