"""Work queues in the shared database: business items that are ready, taken by a worker, or ended.

`WorkItems` stores the wanted items and their states. Only the `Ledger` records effects, so an item that is taken again
after its worker died finds the earlier effects there. A worker holds one claim of the ledger for all of its items. The
claim is renewed. When it lapses, `return_lapsed` returns the items to the queue, and later calls of the old worker are
refused. To take an item, a worker must still have the claim. To record a result, it must still have the item: each
item has its own epoch, which serves as a fencing token.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, TypeAlias, get_args
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from holo_tasks.core.errors import Killed, TokenConflict
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.safety.database.store import HURRY_S, TABLES, Prose, Store
from holo_tasks.safety.records.ledger import CLAIMS, Claim, IdleWatch, Ledger, TokenInUse

Priority: TypeAlias = Literal["high", "normal", "low"]
"""Priority of an item on a work list."""
PRIORITIES: dict[str, int] = {name: number for number, name in enumerate(get_args(Priority), 1)}
State: TypeAlias = Literal["ready", "taken", "done", "failed", "exhausted", "person"]
"""State of an item.

* ``ready``: waits for a worker, possibly after a failed try.
* ``taken``: a worker has it.
* ``done``: ended with a result.
* ``failed``: the item itself is wrong, so another try would not help.
* ``exhausted``: all allowed tries failed.
* ``person``: a person must look, because the outcome of the work is unknown.
"""
OPEN: tuple[State, ...] = ("ready", "taken")
"""The states in which an item has not ended."""
LONGEST_PAUSE_S = 900.0
"""Longest pause before the next try, in seconds. A later time was written by a clock that was set back since, and is
ignored.
"""
ITEMS_PER_INSERT = 40
"""Each item has 19 values, and an older SQLite takes at most 999 values in one statement."""
GOAL = "work list"
"""Goal under which the ledger records the claims of workers. Claims on business items have the goal of their item."""

WORK_ITEMS = sa.Table(
    "work_items",
    TABLES,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("list", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("priority", sa.BigInteger, nullable=False),
    sa.Column("due", sa.Text, nullable=False),  # RFC 3339, UTC; empty without a deadline
    sa.Column("most_tries", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("tries", sa.BigInteger, nullable=False),
    sa.Column("era", sa.Text, nullable=False),
    sa.Column("not_before_s", sa.Float, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", Prose, nullable=False),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("flow_run_id", sa.Text, nullable=False),
    sa.Column("added", sa.Text, nullable=False),
    sa.Column("began", sa.Text, nullable=False),
    sa.Column("ended", sa.Text, nullable=False),
    sa.UniqueConstraint("list", "key"),
)
_COLUMNS = WORK_ITEMS.c
sa.Index("work_items_in_order", _COLUMNS.list, _COLUMNS.state, _COLUMNS.priority, _COLUMNS.due, _COLUMNS.number)
sa.Index("work_items_by_token", _COLUMNS.token)


@dataclass(frozen=True)
class NewItem:
    """An item to add to a queue. ``due`` is an RFC 3339 time in UTC, or empty for no deadline."""

    key: str
    payload: Mapping[str, Any]
    priority: Priority = "normal"
    due: str = ""
    most_tries: int = 3


@dataclass(frozen=True)
class TakenItem:
    """An item that a worker holds.

    ``list`` is the name of its queue. ``tries`` counts the failed tries before this one. ``worker`` is the worker's
    claim, whose token the other functions call ``worker``.
    """

    list: str
    key: str
    payload: Mapping[str, Any]
    priority: Priority
    due: str
    tries: int
    most_tries: int
    epoch: int
    worker: Claim


@dataclass(frozen=True)
class QueueRow:
    """One row of the queue. ``status`` and ``reason`` describe the outcome of the item's last try."""

    list: str
    key: str
    payload: Mapping[str, Any]
    priority: Priority
    due: str
    state: State
    tries: int
    most_tries: int
    status: str
    reason: str
    token: str
    flow_run_id: str
    added: str
    began: str
    ended: str


@dataclass(frozen=True)
class QueueCounts:
    """Numbers of items of a queue, by state.

    ``ready`` items can be taken now, and ``ready_by`` splits them by priority. ``waiting`` items are in the pause after
    a failed try. ``late`` items are open and past their deadline.
    """

    ready: int = 0
    waiting: int = 0
    taken: int = 0
    done: int = 0
    failed: int = 0
    exhausted: int = 0
    person: int = 0
    late: int = 0
    ready_by: Mapping[str, int] = field(default_factory=dict)

    @property
    def open(self) -> int:
        """Number of items that have not ended."""
        return self.ready + self.waiting + self.taken

    @property
    def ended(self) -> int:
        """Number of items that have ended, with or without a result."""
        return self.done + self.failed + self.exhausted + self.person


class WorkItems:
    """Work queues in the shared database. Each call is one transaction, except `return_lapsed`, which has several."""

    def __init__(self, store: Store, ledger: Ledger | None = None) -> None:
        self._store = store
        self._ledger = ledger or Ledger(store)
        self._watches: dict[str, IdleWatch] = {}
        self.lost: set[str] = set()
        """The flow runs whose workers were found dead by `return_lapsed`."""

    def add(self, name: str, items: Sequence[NewItem]) -> int:
        """Add items to a queue, all or none; return how many were new.

        An item whose key and payload are already there is skipped. Raises `TokenConflict` if the key is there with
        another payload.
        """
        new = {item.key: item for item in items}
        if len(new) < len(items):
            for item in items:
                if new[item.key].payload != item.payload:
                    raise _conflict(name, item.key)
        return self._store.do(lambda db: self._add(db, name, list(new.values())))

    def take(self, name: str, worker: Claim, flow_run_id: str = "") -> TakenItem | None:
        """Give the most urgent ready item to a worker; return ``None`` if no item is ready.

        Raises `Killed` if the worker's claim was taken over.
        """

        def take(db: sa.Connection) -> TakenItem | None:
            self._ledger.check(db, worker)
            first = (
                sa.select(_COLUMNS.number)
                .where(_COLUMNS.list == name, _COLUMNS.state == "ready", self._may_begin(db))
                .order_by(_COLUMNS.priority, _COLUMNS.due == "", _COLUMNS.due, _COLUMNS.number)
                .limit(1)
                .with_for_update(skip_locked=True)
            )
            number = db.execute(first).scalar()
            if number is None:
                return None
            values = {
                "state": "taken",
                "worker": worker.token,
                "flow_run_id": flow_run_id,
                "began": _now(),
                "ended": "",
            }
            taken = sa.update(WORK_ITEMS).where(_COLUMNS.number == number).values(epoch=_COLUMNS.epoch + 1, **values)
            row = db.execute(taken.returning(*_COLUMNS)).one()
            return TakenItem(
                row.list,
                row.key,
                json.loads(row.payload),
                _priority_name(row.priority),
                row.due,
                row.tries,
                row.most_tries,
                row.epoch,
                worker,
            )

        return self._store.do(take)

    def name_token(self, taken: TakenItem, token: str) -> None:
        """Record the business token under which the ledger records the item's effects. `again` finds the item by it."""
        with self._store.transaction() as db:
            self._change(db, taken, {"token": token})

    def end_with_result(self, taken: TakenItem) -> None:
        """End an item with a result. Raises `Killed` if another worker has the item."""
        with self._store.transaction() as db:
            self._change(db, taken, {"state": "done", "status": "done", "reason": "", **_ENDED, "ended": _now()})

    def end_without_result(self, taken: TakenItem, state: State, status: str, reason: str) -> None:
        """End an item without a result, in the state "failed" or "person".

        Use `record_failed_try` for a failure after which another try may help. Raises `Killed` if another worker has
        the item.
        """
        with self._store.transaction() as db:
            self._change(db, taken, {"state": state, "status": status, "reason": reason, **_ENDED, "ended": _now()})

    def record_failed_try(self, taken: TakenItem, status: str, reason: str, pause_s: float) -> State:
        """Record a failed try. Return the item's new state: "ready" if another try follows, otherwise "exhausted"."""
        state: State = "ready" if taken.tries + 1 < taken.most_tries else "exhausted"
        with self._store.transaction() as db:
            until_s = self._store.now_s(db) + min(pause_s, LONGEST_PAUSE_S)
            values = {"state": state, "tries": taken.tries + 1, "status": status, "reason": reason, **_ENDED}
            pause = {"era": self._store.era, "not_before_s": until_s}
            self._change(db, taken, values | pause | {"ended": _now() if state != "ready" else ""})
        return state

    def leave(self, worker: Claim) -> None:
        """End a worker in good order: return its unfinished items to the queue without counting a try."""
        self._ledger.delete_with(worker, lambda db: _return_items(db, worker.token))

    def return_lapsed(self, name: str | None = None) -> int:
        """Return the items of dead workers to the queue and count a try for each; return the number of items.

        It takes some seconds to find out that a worker on another machine is dead. Call again on the same `WorkItems`
        object. Without a ``name``, look at all queues and at workers without items.
        """
        with self._store.transaction() as db:
            these = (_COLUMNS.state == "taken", sa.true() if name is None else _COLUMNS.list == name)
            workers = set(db.execute(sa.select(_COLUMNS.worker).where(*these).distinct()).scalars())
            if name is None:  # include workers that hold no item
                workers |= set(db.execute(sa.select(CLAIMS.c.token).where(CLAIMS.c.goal == GOAL)).scalars())
        self._watches = {worker: self._watches.get(worker, IdleWatch()) for worker in sorted(workers)}
        returned = 0
        for worker in sorted(workers):
            try:
                found = self._ledger.delete_lapsed(
                    worker, self._watches[worker], partial(_return_from_dead, worker=worker)
                )
            except TokenInUse:
                self._watches.pop(worker)
                continue
            if found is not None:
                self._watches.pop(worker)
                self.lost.add(flow_run_of(worker))
                returned += found
        self.lost.discard("")
        return returned

    @property
    def is_unsure(self) -> bool:
        """Whether some worker may be alive or dead, so that `return_lapsed` must be called again."""
        return bool(self._watches)

    def again(self, token: str) -> int:
        """Make ended items without a result ready again, by business token or key; return their number.

        Items without a token are matched by key. Call it after a person has looked at the items.
        """
        ended = _COLUMNS.state.in_(("failed", "exhausted", "person"))
        values = {"state": "ready", "tries": 0, "not_before_s": 0.0, "ended": ""}
        which = (_COLUMNS.token == token) | ((_COLUMNS.token == "") & (_COLUMNS.key == token))
        with self._store.transaction() as db:
            return db.execute(sa.update(WORK_ITEMS).where(ended, which).values(**values)).rowcount

    def counts(self, name: str) -> QueueCounts:
        """Return the numbers of items of a queue."""
        with self._store.transaction(HURRY_S) as db:
            now, by = _now(), (_COLUMNS.state, _COLUMNS.priority)
            soon = self._may_begin(db)
            late = sa.func.sum(sa.case(((_COLUMNS.due != "") & (_COLUMNS.due < now), 1), else_=0))
            begun = sa.func.sum(sa.case((soon, 1), else_=0))
            found = sa.select(*by, sa.func.count().label("all"), late.label("late"), begun.label("may_begin"))
            rows = db.execute(found.where(_COLUMNS.list == name).group_by(*by)).all()
        states = {state: sum(row.all for row in rows if row.state == state) for state in get_args(State)}
        ready: dict[str, int] = {
            _priority_name(row.priority): int(row.may_begin) for row in rows if row.state == "ready" and row.may_begin
        }
        may_begin = sum(ready.values())
        return QueueCounts(
            **(states | {"ready": may_begin}),
            waiting=states["ready"] - may_begin,
            late=sum(int(row.late) for row in rows if row.state in OPEN),
            ready_by=ready,
        )

    def lists(self) -> list[str]:
        """Return the names of all queues that ever had an item, in order."""
        with self._store.transaction(HURRY_S) as db:
            return list(db.execute(sa.select(_COLUMNS.list).distinct().order_by(_COLUMNS.list)).scalars())

    def errors(self, name: str) -> dict[tuple[str, str], int]:
        """Count the items with a failed last try, by state and status. Items that are done do not count."""
        unwell = (_COLUMNS.list == name, _COLUMNS.state != "done", _COLUMNS.status != "")
        counted = sa.select(_COLUMNS.state, _COLUMNS.status, sa.func.count().label("all")).where(*unwell)
        with self._store.transaction(HURRY_S) as db:
            return {
                (row.state, row.status): row.all
                for row in db.execute(counted.group_by(_COLUMNS.state, _COLUMNS.status))
            }

    def done_since(self, name: str, since: str) -> int:
        """Count the items that were done at or after a time (RFC 3339, UTC)."""
        with self._store.transaction(HURRY_S) as db:
            these = (_COLUMNS.list == name, _COLUMNS.state == "done", _COLUMNS.ended >= since)
            return int(db.execute(sa.select(sa.func.count()).where(*these)).scalar_one())

    def due_before(self, name: str, until: str) -> int:
        """Count the open items whose deadline is before a time (RFC 3339, UTC)."""
        with self._store.transaction(HURRY_S) as db:
            these = (_COLUMNS.list == name, _COLUMNS.state.in_(OPEN), _COLUMNS.due != "", _COLUMNS.due < until)
            return int(db.execute(sa.select(sa.func.count()).where(*these)).scalar_one())

    def all(self, name: str, states: Collection[State] = get_args(State), most: int = 1000) -> list[QueueRow]:
        """Return up to ``most`` items of a queue in the given states, oldest first."""
        these = (
            sa.select(WORK_ITEMS)
            .where(_COLUMNS.list == name, _COLUMNS.state.in_(states))
            .order_by(_COLUMNS.number)
            .limit(most)
        )
        with self._store.transaction() as db:
            rows = db.execute(these).all()
        return [_listed(row) for row in rows]

    def find(self, name: str, key: str) -> QueueRow | None:
        """Return an item, or ``None`` if its key was never on the queue."""
        with self._store.transaction() as db:
            row = db.execute(sa.select(WORK_ITEMS).where(_COLUMNS.list == name, _COLUMNS.key == key)).one_or_none()
        return None if row is None else _listed(row)

    def _add(self, db: sa.Connection, name: str, items: Sequence[NewItem]) -> int:
        insert = postgresql.insert if db.dialect.name == "postgresql" else sqlite.insert
        added = 0
        for begin in range(0, len(items), ITEMS_PER_INSERT):
            some = {item.key: _row(name, item) for item in items[begin : begin + ITEMS_PER_INSERT]}
            adding = insert(WORK_ITEMS).values(list(some.values())).on_conflict_do_nothing()
            new = set(db.execute(adding.returning(_COLUMNS.key)).scalars())
            added += len(new)
            before = sa.select(_COLUMNS.key, _COLUMNS.payload).where(
                _COLUMNS.list == name, _COLUMNS.key.in_(sorted(some.keys() - new))
            )
            for row in db.execute(before) if len(new) < len(some) else ():
                if row.payload != some[row.key]["payload"]:
                    raise _conflict(name, row.key)
        return added

    def _may_begin(self, db: sa.Connection) -> sa.ColumnElement[bool]:
        """Match items that may begin now.

        Their pause is over, or it was set by a clock that cannot be compared with the present one (`Store.era`) or was
        set back since.
        """
        now_s = self._store.now_s(db)
        return (
            (_COLUMNS.not_before_s <= now_s)
            | (_COLUMNS.not_before_s > now_s + LONGEST_PAUSE_S)
            | (_COLUMNS.era != self._store.era)
        )

    def _change(self, db: sa.Connection, taken: TakenItem, values: Mapping[str, Any]) -> None:
        mine = (
            _COLUMNS.list == taken.list,
            _COLUMNS.key == taken.key,
            _COLUMNS.epoch == taken.epoch,
            _COLUMNS.worker == taken.worker.token,
        )
        if db.execute(sa.update(WORK_ITEMS).where(*mine, _COLUMNS.state == "taken").values(**values)).rowcount != 1:
            raise Killed(f"Another worker has taken over {taken.key!r}; this one stops.")


_ENDED = {"worker": ""}


def new_worker(flow_run_id: str) -> str:
    """Return a new claim token for a worker in this flow run."""
    return f"worker:{flow_run_id}:{uuid4().hex}"


def flow_run_of(worker: str) -> str:
    """Return the flow run id in a worker's claim token, or an empty string."""
    return worker.split(":")[1] if worker.count(":") == 2 else ""


def _row(name: str, item: NewItem) -> dict[str, Any]:
    return {
        "list": name,
        "key": item.key,
        "payload": json.dumps(dict(item.payload), sort_keys=True, ensure_ascii=False),
        "priority": PRIORITIES[item.priority],
        "due": item.due,
        "most_tries": item.most_tries,
        "state": "ready",
        "tries": 0,
        "era": "",
        "not_before_s": 0.0,
        "worker": "",
        "epoch": 0,
        "status": "",
        "reason": "",
        "token": "",
        "flow_run_id": "",
        "added": _now(),
        "began": "",
        "ended": "",
    }


def _listed(row: sa.Row[Any]) -> QueueRow:
    values = {name: row._mapping[name] for name in QueueRow.__dataclass_fields__}
    return QueueRow(**values | {"payload": json.loads(row.payload), "priority": _priority_name(row.priority)})


def _priority_name(priority: int) -> Priority:
    return get_args(Priority)[priority - 1]  # type: ignore[no-any-return]


def _return_items(db: sa.Connection, worker: str) -> None:
    """Return a worker's items to the queue without counting a try."""
    mine = (_COLUMNS.worker == worker, _COLUMNS.state == "taken")
    db.execute(sa.update(WORK_ITEMS).where(*mine).values(state="ready", worker="", not_before_s=0.0))


def _return_from_dead(db: sa.Connection, worker: str) -> int:
    """Return a dead worker's items to the queue and count a try; return their number.

    Counting the try ends an item that kills each of its workers.
    """
    mine = (_COLUMNS.worker == worker, _COLUMNS.state == "taken")
    died = {
        "status": "worker_lost",
        "reason": "The process that worked on it has ended.",
        "worker": "",
        "not_before_s": 0.0,
    }
    over = {"state": "exhausted", "ended": _now()}
    last = (
        sa.update(WORK_ITEMS)
        .where(*mine, _COLUMNS.tries + 1 >= _COLUMNS.most_tries)
        .values(tries=_COLUMNS.tries + 1, **died, **over)
    )
    more = sa.update(WORK_ITEMS).where(*mine).values(tries=_COLUMNS.tries + 1, state="ready", **died)
    return db.execute(last).rowcount + db.execute(more).rowcount


def _conflict(name: str, key: str) -> TokenConflict:
    return TokenConflict(
        f"{exact(key)} is already on the list {exact(name)} with another payload; use a new key for new work. "
        "Nothing was added."
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
