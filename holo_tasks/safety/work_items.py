"""Lists of work: business items that wait to be worked on, are being worked on, or came to their end.

A list says what is wanted and how far it is. What was done, and whether anything was, is known to the `Ledger` alone:
an item that is taken once more after its worker died finds there what that one did. Who takes items holds one claim of
the ledger for all of them, which is renewed, and has an epoch: when it lapses, the items go back to the list, and their
late worker is refused.
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
from holo_tasks.core.visible_text import exact
from holo_tasks.safety.ledger import CLAIMS, BeingWorkedOn, Claim, Ledger, Vigil
from holo_tasks.safety.store import HURRY_S, TABLES, Prose, Store

Priority: TypeAlias = Literal["high", "normal", "low"]
PRIORITIES: dict[str, int] = {name: number for number, name in enumerate(get_args(Priority), 1)}
State: TypeAlias = Literal["ready", "taken", "done", "failed", "exhausted", "person"]
"""An item waits for a worker, also after a try (``ready``); has one (``taken``); came to its result (``done``); is
wrong itself, and no try helps (``failed``); was tried as often as it may be (``exhausted``); or waits for a person,
for nobody else knows what was done (``person``)."""
OPEN: tuple[State, ...] = ("ready", "taken")
LONGEST_PAUSE_S = 900.0
"""No item waits longer for its next try; a time further ahead is none of this clock's, which somebody has set back."""
AT_ONCE = 80
"""So many items one statement adds: an older SQLite takes 999 values."""
GOAL = "work list"
"""What workers claim."""

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
_I = WORK_ITEMS.c
sa.Index("work_items_in_order", _I.list, _I.state, _I.priority, _I.due, _I.number)
sa.Index("work_items_by_token", _I.token)


@dataclass(frozen=True)
class NewItem:
    """What is wanted for a list. ``due`` is RFC 3339 in UTC, or empty."""

    key: str
    payload: Mapping[str, Any]
    priority: Priority = "normal"
    due: str = ""
    most_tries: int = 3


@dataclass(frozen=True)
class Taken:
    """An item that a worker has. ``tries`` are those that came to nothing before."""

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
class Listed:
    """An item as it stands. ``status`` is what its last try ended with, and ``reason`` says why, for people."""

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
class Counts:
    """How far a list is: ``ready`` can be begun now (``ready_by`` priority), ``waiting`` after a pause.

    ``late`` are open and past their deadline.
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
        """How many have not come to an end."""
        return self.ready + self.waiting + self.taken

    @property
    def ended(self) -> int:
        """How many have, well or not."""
        return self.done + self.failed + self.exhausted + self.person


class WorkItems:
    """Kept in the shared database; each call is one transaction."""

    def __init__(self, store: Store, ledger: Ledger | None = None) -> None:
        self._store = store
        self._ledger = ledger or Ledger(store)
        self._vigils: dict[str, Vigil] = {}
        self.lost: set[str] = set()
        """The flow runs of workers that were found to be gone."""

    def add(self, name: str, items: Sequence[NewItem]) -> int:
        """Put items on a list; return how many were not there yet. All are, or none.

        Raises `TokenConflict` for a key that is there with another payload.
        """
        new = {item.key: item for item in items}
        if len(new) < len(items):
            for item in items:
                if new[item.key].payload != item.payload:
                    raise _conflict(name, item.key)
        return self._store.do(lambda db: self._add(db, name, list(new.values())))

    def take(self, name: str, worker: Claim, flow_run_id: str = "") -> Taken | None:
        """Give a worker the most urgent item that is ready; None if none is. Raises `Killed` if its claim is lost."""

        def take(db: sa.Connection) -> Taken | None:
            self._ledger.check(db, worker)
            first = (
                sa.select(_I.number)
                .where(_I.list == name, _I.state == "ready", self._may_begin(db))
                .order_by(_I.priority, _I.due == "", _I.due, _I.number)
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
            taken = sa.update(WORK_ITEMS).where(_I.number == number).values(epoch=_I.epoch + 1, **values)
            row = db.execute(taken.returning(*_I)).one()
            return Taken(
                row.list,
                row.key,
                json.loads(row.payload),
                _name_of(row.priority),
                row.due,
                row.tries,
                row.most_tries,
                row.epoch,
                worker,
            )

        return self._store.do(take)

    def name_token(self, taken: Taken, token: str) -> None:
        """Note under which business token an item is worked on, which `again` finds it by."""
        with self._store.transaction() as db:
            self._change(db, taken, {"token": token})

    def done(self, taken: Taken) -> None:
        """Note that an item came to its result. Raises `Killed` if it is another worker's by now."""
        with self._store.transaction() as db:
            self._change(db, taken, {"state": "done", "status": "done", "reason": "", **_ENDED, "ended": _now()})

    def failed(self, taken: Taken, state: State, status: str, reason: str) -> None:
        """Note that an item came to its end without a result."""
        with self._store.transaction() as db:
            self._change(db, taken, {"state": state, "status": status, "reason": reason, **_ENDED, "ended": _now()})

    def tried(self, taken: Taken, status: str, reason: str, pause_s: float) -> State:
        """Note a try that came to nothing; return whether the item is ready for the next one, or exhausted."""
        state: State = "ready" if taken.tries + 1 < taken.most_tries else "exhausted"
        with self._store.transaction() as db:
            until_s = self._store.now_s(db) + min(pause_s, LONGEST_PAUSE_S)
            values = {"state": state, "tries": taken.tries + 1, "status": status, "reason": reason, **_ENDED}
            pause = {"era": self._store.era, "not_before_s": until_s}
            self._change(db, taken, values | pause | {"ended": _now() if state != "ready" else ""})
        return state

    def leave(self, worker: Claim) -> None:
        """End a worker, in good order: what it has still goes back to the list, and no try is counted."""
        self._ledger.dismiss(worker, lambda db: _back(db, worker.token))

    def return_lapsed(self, name: str | None = None) -> int:
        """Put items back whose workers are gone, a try counted; return how many.

        A worker on another machine is known to be gone after some seconds: ask again, of the same `WorkItems`.
        """
        with self._store.transaction() as db:
            these = (_I.state == "taken", sa.true() if name is None else _I.list == name)
            workers = set(db.execute(sa.select(_I.worker).where(*these).distinct()).scalars())
            if name is None:  # also those that had nothing just then
                workers |= set(db.execute(sa.select(CLAIMS.c.token).where(CLAIMS.c.goal == GOAL)).scalars())
        self._vigils = {worker: self._vigils.get(worker, Vigil()) for worker in sorted(workers)}
        returned = 0
        for worker in sorted(workers):
            try:
                found = self._ledger.bury(worker, self._vigils[worker], partial(_lost, worker=worker))
            except BeingWorkedOn:
                self._vigils.pop(worker)
                continue
            if found is not None:
                self._vigils.pop(worker)
                self.lost.add(flow_run_of(worker))
                returned += found
        self.lost.discard("")
        return returned

    @property
    def doubtful(self) -> bool:
        """Whether it was not known yet, of any worker, if it is gone."""
        return bool(self._vigils)

    def again(self, token: str) -> int:
        """Make items ready once more that ended without a result, by business token or key; return how many.

        A person has looked.
        """
        ended = _I.state.in_(("failed", "exhausted", "person"))
        values = {"state": "ready", "tries": 0, "not_before_s": 0.0, "ended": ""}
        which = (_I.token == token) | ((_I.token == "") & (_I.key == token))
        with self._store.transaction() as db:
            return db.execute(sa.update(WORK_ITEMS).where(ended, which).values(**values)).rowcount

    def counts(self, name: str) -> Counts:
        """Return how far a list is."""
        with self._store.transaction(HURRY_S) as db:
            now, by = _now(), (_I.state, _I.priority)
            soon = self._may_begin(db)
            late = sa.func.sum(sa.case(((_I.due != "") & (_I.due < now), 1), else_=0))
            begun = sa.func.sum(sa.case((soon, 1), else_=0))
            found = sa.select(*by, sa.func.count().label("all"), late.label("late"), begun.label("may_begin"))
            rows = db.execute(found.where(_I.list == name).group_by(*by)).all()
        states = {state: sum(row.all for row in rows if row.state == state) for state in get_args(State)}
        ready: dict[str, int] = {
            _name_of(row.priority): int(row.may_begin) for row in rows if row.state == "ready" and row.may_begin
        }
        may_begin = sum(ready.values())
        return Counts(
            **(states | {"ready": may_begin}),
            waiting=states["ready"] - may_begin,
            late=sum(int(row.late) for row in rows if row.state in OPEN),
            ready_by=ready,
        )

    def lists(self) -> list[str]:
        """Return the names of all lists that ever had an item."""
        with self._store.transaction(HURRY_S) as db:
            return list(db.execute(sa.select(_I.list).distinct().order_by(_I.list)).scalars())

    def errors(self, name: str) -> dict[tuple[str, str], int]:
        """Return how many items ended without a result, or wait for their next try, by state and what stopped them."""
        unwell = (_I.list == name, _I.state != "done", _I.status != "")
        counted = sa.select(_I.state, _I.status, sa.func.count().label("all")).where(*unwell)
        with self._store.transaction(HURRY_S) as db:
            return {(row.state, row.status): row.all for row in db.execute(counted.group_by(_I.state, _I.status))}

    def done_since(self, name: str, since: str) -> int:
        """Return how many items came to their result since a time (RFC 3339, UTC)."""
        with self._store.transaction(HURRY_S) as db:
            these = (_I.list == name, _I.state == "done", _I.ended >= since)
            return int(db.execute(sa.select(sa.func.count()).where(*these)).scalar_one())

    def due_before(self, name: str, until: str) -> int:
        """Return how many open items have a deadline before a time (RFC 3339, UTC)."""
        with self._store.transaction(HURRY_S) as db:
            these = (_I.list == name, _I.state.in_(OPEN), _I.due != "", _I.due < until)
            return int(db.execute(sa.select(sa.func.count()).where(*these)).scalar_one())

    def all(self, name: str, states: Collection[State] = get_args(State), most: int = 1000) -> list[Listed]:
        """Return items of a list in these states, the oldest first."""
        these = sa.select(WORK_ITEMS).where(_I.list == name, _I.state.in_(states)).order_by(_I.number).limit(most)
        with self._store.transaction() as db:
            rows = db.execute(these).all()
        return [_listed(row) for row in rows]

    def find(self, name: str, key: str) -> Listed | None:
        """Return an item as it stands; None if it was never on the list."""
        with self._store.transaction() as db:
            row = db.execute(sa.select(WORK_ITEMS).where(_I.list == name, _I.key == key)).one_or_none()
        return None if row is None else _listed(row)

    def _add(self, db: sa.Connection, name: str, items: Sequence[NewItem]) -> int:
        insert = postgresql.insert if db.dialect.name == "postgresql" else sqlite.insert
        added = 0
        for begin in range(0, len(items), AT_ONCE // 2):
            some = {item.key: _row(name, item) for item in items[begin : begin + AT_ONCE // 2]}
            adding = insert(WORK_ITEMS).values(list(some.values())).on_conflict_do_nothing()
            new = set(db.execute(adding.returning(_I.key)).scalars())
            added += len(new)
            before = sa.select(_I.key, _I.payload).where(_I.list == name, _I.key.in_(sorted(some.keys() - new)))
            for row in db.execute(before) if len(new) < len(some) else ():
                if row.payload != some[row.key]["payload"]:
                    raise _conflict(name, row.key)
        return added

    def _may_begin(self, db: sa.Connection) -> sa.ColumnElement[bool]:
        """Pick items whose pause is over, or was reckoned by a clock that says nothing now."""
        now_s = self._store.now_s(db)
        return (_I.not_before_s <= now_s) | (_I.not_before_s > now_s + LONGEST_PAUSE_S) | (_I.era != self._store.era)

    def _change(self, db: sa.Connection, taken: Taken, values: Mapping[str, Any]) -> None:
        mine = (_I.list == taken.list, _I.key == taken.key, _I.epoch == taken.epoch, _I.worker == taken.worker.token)
        if db.execute(sa.update(WORK_ITEMS).where(*mine, _I.state == "taken").values(**values)).rowcount != 1:
            raise Killed(f"Another worker has taken over {taken.key!r}; this one stops.")


_ENDED = {"worker": ""}


def new_worker(flow_run_id: str) -> str:
    """Return the token that a worker claims, in this flow run."""
    return f"worker:{flow_run_id}:{uuid4().hex}"


def flow_run_of(worker: str) -> str:
    """Return the flow run of a worker; empty outside of one."""
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


def _listed(row: sa.Row[Any]) -> Listed:
    values = {name: row._mapping[name] for name in Listed.__dataclass_fields__}
    return Listed(**values | {"payload": json.loads(row.payload), "priority": _name_of(row.priority)})


def _name_of(priority: int) -> Priority:
    return get_args(Priority)[priority - 1]  # type: ignore[no-any-return]


def _back(db: sa.Connection, worker: str) -> None:
    """Put back what a worker has not begun, or was stopped at."""
    mine = (_I.worker == worker, _I.state == "taken")
    db.execute(sa.update(WORK_ITEMS).where(*mine).values(state="ready", worker="", not_before_s=0.0))


def _lost(db: sa.Connection, worker: str) -> int:
    """Put back what a worker had as it died. An item that this happens to each time is what it dies of."""
    mine = (_I.worker == worker, _I.state == "taken")
    died = {
        "status": "worker_lost",
        "reason": "The process that worked on it is gone.",
        "worker": "",
        "not_before_s": 0.0,
    }
    over = {"state": "exhausted", "ended": _now()}
    last = sa.update(WORK_ITEMS).where(*mine, _I.tries + 1 >= _I.most_tries).values(tries=_I.tries + 1, **died, **over)
    more = sa.update(WORK_ITEMS).where(*mine).values(tries=_I.tries + 1, state="ready", **died)
    return db.execute(last).rowcount + db.execute(more).rowcount


def _conflict(name: str, key: str) -> TokenConflict:
    return TokenConflict(
        f"{exact(key)} is on the list {exact(name)} with another payload; use a new key for new work. "
        "Nothing was added."
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
