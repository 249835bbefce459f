"""Persist what each scope has spent, so that limits hold over retries, crashes, re-runs and several workers.

`Budgets` reserves the worst-case cost of a model call before the call, and replaces it by the bill afterwards. A
reservation that is never settled stays for good, because the money may have been spent. This happens if the process
dies, or if the bill is unknown.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import sqlalchemy as sa

from holo_tasks.core.errors import StoreLost, TransientModelFault
from holo_tasks.core.limits.budget import WINDOW_S, Guard, Limits, too_expensive, too_many_actions, too_many_calls
from holo_tasks.core.limits.overbilling import Overbilling, Quote
from holo_tasks.safety.database.store import HURRY_S, TABLES, Prose, Store, add
from holo_tasks.safety.records.meters import STALE_S, Meters

T = TypeVar("T")

POLL_S = 0.2
"""Seconds between two looks at whether another run's probe call has returned."""

BUDGETS = sa.Table(
    "budgets",
    TABLES,
    sa.Column("scope", sa.Text, primary_key=True),
    sa.Column("name", Prose, nullable=False),
    sa.Column("spent_micro", sa.BigInteger, nullable=False, default=0),
    sa.Column("held_micro", sa.BigInteger, nullable=False, default=0),
    sa.Column("actions", sa.BigInteger, nullable=False, default=0),
)
HOLDS = sa.Table(
    "holds",
    TABLES,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("scope", sa.Text, primary_key=True),
    sa.Column("worst_micro", sa.BigInteger, nullable=False),
)
CALLS = sa.Table(
    "calls",
    TABLES,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("scope", sa.Text, nullable=False, index=True),
    sa.Column("era", sa.Text, nullable=False),
    sa.Column("at_s", sa.Float, nullable=False),
)


def item_key(token: str, scope: str = "") -> str:
    """Return the budget key of a scope of a business item.

    Without a scope, return the common prefix of all budget keys of the item.
    """
    # Colons are escaped, so that the prefix of token `INV` does not match the keys of token `INV:2024`.
    return f"item:{token.replace('%', '%25').replace(':', '%3A')}:{scope}"


class Budgets:
    """Shared budgets of guarded scopes. A scope is kept here only if it has a key and at least one limit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._meters = Meters(store)
        self._renewals: dict[str, asyncio.Task[None]] = {}
        """The tasks that renew the probe calls of this process, by the call's name."""

    async def reserve(self, guard: Guard, worst_micro: int) -> str:
        """Reserve the worst-case cost of a call in every durable scope, outermost first; return the reservation's id.

        Raises `LimitReached` without reserving anything if the call would exceed a limit on money, or on calls in five
        minutes.
        """
        return await asyncio.to_thread(self.hold, _durable(guard), worst_micro)

    async def quote(self, guard: Guard, meter: str, patience_s: float) -> Quote:
        """Return the money that all durable scopes leave, and the known overbilling of the server.

        The first call to an unknown server is a probe call: it is made alone, and other callers wait for its bill. If
        the server bills far too much, only one call is affected. Raises `TransientModelFault` if the bill has not
        arrived after ``patience_s``.
        """
        scopes = [scope for scope in _durable(guard) if scope.limits.max_cost_micro is not None]
        if not scopes:
            return Quote()
        quote = await _poll(lambda: self.look(scopes, meter), meter, patience_s)
        self._start_renewal(meter, quote)
        return quote

    async def alone(self, quote: Quote, meter: str, patience_s: float) -> Quote | None:
        """Return a quote for a probe call that the known overbilling would forbid, or ``None`` if none is allowed now.

        Such a probe call is allowed some minutes after the last bill that was too high, one at a time. Without it, a
        server that was repaired would be refused for good, because refused calls bring no bills.
        """

        def ask() -> str | None:
            with self._store.transaction() as db:
                return self._meters.alone(db, meter)

        first = await _poll(ask, meter, patience_s)
        if not first:
            return None
        lone = Quote(quote.headroom_micro, probe=first)
        self._start_renewal(meter, lone)
        return lone

    async def learn(self, quote: Quote, meter: str, seen: Overbilling | None, *, doubtful: bool = False) -> None:
        """Record the overbilling seen on a call's bill, and end its probe.

        ``seen`` is ``None`` if the call brought no bill.
        """
        if (staying := self._renewals.pop(quote.probe, None)) is not None:
            staying.cancel()
        if seen is None:
            if quote.probe:
                await asyncio.to_thread(self._meters.give_up, meter, quote.probe, doubtful=doubtful)
        elif quote.headroom_micro is None:
            # This run has no limit on money. The bill only helps other runs, so ignore a lost database.
            with suppress(StoreLost):
                await asyncio.to_thread(self._meters.learn, meter, seen, patience_s=HURRY_S)
        elif quote.probe or quote.known.after_bill(seen) != quote.known:
            await asyncio.to_thread(self._meters.learn, meter, seen, quote.probe)

    def _start_renewal(self, meter: str, quote: Quote) -> None:
        if quote.probe:
            self._renewals[quote.probe] = asyncio.create_task(self._renew(meter, quote.probe))

    async def _renew(self, meter: str, first: str) -> None:
        # If the database is away, the probe only becomes stale, and another call takes over.
        with suppress(StoreLost):
            while True:
                await asyncio.sleep(STALE_S / 4)
                await asyncio.to_thread(self._meters.renew, meter, first)

    def look(self, scopes: Sequence[Guard], meter: str) -> Quote | None:
        """Return a quote, or ``None`` while another call probes how the server bills."""
        with self._store.transaction() as db:
            known = self._meters.read(db, meter)
            return None if known is None else Quote(self._headroom(db, scopes), *known)

    def _headroom(self, db: sa.Connection, scopes: Sequence[Guard]) -> int:
        rows = db.execute(sa.select(BUDGETS).where(BUDGETS.c.scope.in_([scope.key for scope in scopes])))
        used = {row.scope: int(row.spent_micro + row.held_micro) for row in rows}
        return min((scope.limits.max_cost_micro or 0) - used.get(scope.key, 0) for scope in scopes)

    async def settle(self, hold: str, actual_micro: int, still_held_micro: int = 0) -> None:
        """Replace a reservation by the bill.

        ``still_held_micro`` stays reserved for good, because it may be billed later.
        """
        if hold:
            await asyncio.to_thread(self.pay, hold, actual_micro, still_held_micro)

    async def count_action(self, guard: Guard) -> None:
        """Count an action before it is performed. Raises `LimitReached` if the limit is exceeded."""
        scopes = _durable(guard)
        if scopes:
            await asyncio.to_thread(self.act, scopes)

    def hold(self, scopes: Sequence[Guard], worst_micro: int) -> str:
        if not scopes:
            return ""
        name = secrets.token_hex(12)

        def hold(db: sa.Connection) -> None:
            _open(db, scopes)
            for scope, more in _each_once(scopes):
                most = scope.limits.max_cost_micro
                held = BUDGETS.c.held_micro + more * worst_micro
                # The condition is part of the update: checking first and adding afterwards lets two workers through.
                fits = sa.true() if most is None else BUDGETS.c.spent_micro + held <= most
                result = db.execute(
                    sa.update(BUDGETS).where(BUDGETS.c.scope == scope.key, fits).values(held_micro=held)
                )
                if result.rowcount != 1:
                    raise too_expensive(scope, worst_micro, *self._used(db, scope))
                if more and worst_micro:
                    db.execute(sa.insert(HOLDS).values(id=name, scope=scope.key, worst_micro=worst_micro))
                self._count_call(db, scope, more)

        self._store.do(hold)
        return name

    def pay(self, hold: str, actual_micro: int, still_held_micro: int = 0) -> None:
        def pay(db: sa.Connection) -> None:
            # Budgets are locked before their holds, in the order of their keys, as everywhere.
            scopes = db.scalars(sa.select(HOLDS.c.scope).where(HOLDS.c.id == hold)).all()
            _lock(db, scopes)
            # Deleting the reservation settles it: a second settlement finds no row.
            paid = db.execute(sa.delete(HOLDS).where(HOLDS.c.id == hold).returning(HOLDS.c.scope, HOLDS.c.worst_micro))
            for scope, worst_micro in sorted(paid.all()):
                db.execute(
                    sa.update(BUDGETS)
                    .where(BUDGETS.c.scope == scope)
                    .values(
                        held_micro=BUDGETS.c.held_micro - worst_micro + still_held_micro,
                        spent_micro=BUDGETS.c.spent_micro + actual_micro,
                    )
                )

        self._store.do(pay)

    def act(self, scopes: Sequence[Guard]) -> None:
        def act(db: sa.Connection) -> None:
            _open(db, scopes)
            for scope, more in _each_once(scopes):
                most, actions = scope.limits.max_actions, BUDGETS.c.actions + more
                fits = sa.true() if most is None else actions <= most
                counted = db.execute(
                    sa.update(BUDGETS).where(BUDGETS.c.scope == scope.key, fits).values(actions=actions)
                )
                if counted.rowcount != 1:
                    raise too_many_actions(scope)

        self._store.do(act, HURRY_S)

    def _used(self, db: sa.Connection, scope: Guard) -> tuple[int, int]:
        found = db.execute(sa.select(BUDGETS).where(BUDGETS.c.scope == scope.key)).one_or_none()
        return (found.spent_micro, found.held_micro) if found else (0, 0)

    def _count_call(self, db: sa.Connection, scope: Guard, more: int) -> None:
        # The update before has locked the scope's row, so calls are counted one at a time.
        most = scope.limits.max_calls_per_5_minutes
        if most is None:
            return
        now, era = self._store.now_s(db), self._store.era
        recent = sa.and_(CALLS.c.scope == scope.key, CALLS.c.era == era, CALLS.c.at_s > now - WINDOW_S)
        if db.execute(sa.select(sa.func.count()).where(recent)).scalar_one() + more > most:
            raise too_many_calls(scope)
        db.execute(sa.delete(CALLS).where(CALLS.c.scope == scope.key, ~recent))
        if more:
            db.execute(sa.insert(CALLS).values(scope=scope.key, era=era, at_s=now))


async def _poll(ask: Callable[[], T | None], meter: str, patience_s: float) -> T:
    """Poll until no other call probes how a server bills. Raises `TransientModelFault` after ``patience_s``."""
    until_s = time.monotonic() + patience_s
    while (found := await asyncio.to_thread(ask)) is None:
        if time.monotonic() > until_s:
            raise TransientModelFault(
                f"Another run has waited {patience_s:.0f} s for the first reply of {meter}, which shows the cost of "
                "a call. Check that the server is not overloaded."
            )
        await asyncio.sleep(POLL_S)
    return found


def forget(db: sa.Connection, key_prefix: str) -> None:
    """Reset the budgets whose keys begin with ``key_prefix``, because a person decided to try again.

    Call it only while no run works on the item. The bill of a call that is still out is charged to the new budget,
    without a reservation.
    """

    def mine(table: sa.Table) -> sa.ColumnElement[bool]:
        # LIKE would ignore the case of ASCII letters on SQLite.
        return sa.func.substr(table.c.scope, 1, len(key_prefix)) == key_prefix

    _lock(db, db.scalars(sa.select(BUDGETS.c.scope).where(mine(BUDGETS))).all())
    db.execute(sa.update(BUDGETS).where(mine(BUDGETS)).values(spent_micro=0, held_micro=0, actions=0))
    db.execute(sa.update(HOLDS).where(mine(HOLDS)).values(worst_micro=0))
    db.execute(sa.delete(CALLS).where(mine(CALLS)))


def _durable(guard: Guard) -> list[Guard]:
    return [scope for scope in guard.lineage() if scope.key and scope.limits != Limits()]


def _each_once(scopes: Sequence[Guard]) -> Iterator[tuple[Guard, int]]:
    """Yield each scope, outermost first, with 1 if it is to be charged.

    A scope is yielded with 0 if an outer scope with the same key was charged.
    """
    charged: set[str] = set()
    for scope in scopes:
        yield scope, int(scope.key not in charged)
        charged.add(scope.key)


def _open(db: sa.Connection, scopes: Sequence[Guard]) -> None:
    """Insert the missing budget rows, then lock all rows in the order of their keys."""
    names = {scope.key: scope.name for scope in scopes}
    missing = names.keys() - set(db.scalars(sa.select(BUDGETS.c.scope).where(BUDGETS.c.scope.in_(names))))
    for key in sorted(missing):
        add(db, BUDGETS, scope=key, name=names[key], spent_micro=0, held_micro=0, actions=0)
    _lock(db, names)


def _lock(db: sa.Connection, keys: Iterable[str]) -> None:
    """Lock budgets in the order of their keys, until the transaction ends."""
    rows = sa.select(BUDGETS.c.scope).where(BUDGETS.c.scope.in_(list(keys))).order_by(BUDGETS.c.scope)
    db.execute(rows.with_for_update()).all()
