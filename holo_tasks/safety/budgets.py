"""What scopes have spent, in the shared database: limits that hold over retries, crashes, re-runs and many workers.

The worst case of a call is held before it is made and replaced by the bill after it. What nobody settled, because
its process died or because nobody knows the bill, stays held for good: it may have been spent.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import sqlalchemy as sa

from holo_tasks.core.budget import WINDOW_S, Guard, Limits, too_expensive, too_many_actions, too_many_calls
from holo_tasks.core.errors import StoreLost, TransientModelFault
from holo_tasks.core.overbilling import Overbilling, Quote
from holo_tasks.safety.meters import STALE_S, Meters
from holo_tasks.safety.store import HURRY_S, TABLES, Prose, Store, add

T = TypeVar("T")

POLL_S = 0.2

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
    """Name the budget of a scope of a business item; without a scope, what the keys of all of them begin with."""
    # Of tokens such as `INV` and `INV:2024` neither is the beginning of the other.
    return f"item:{token.replace('%', '%25').replace(':', '%3A')}:{scope}"


class Budgets:
    """Keeps the durable side of guardrails; only scopes with a key and a limit are kept."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._meters = Meters(store)
        self._firsts: dict[str, asyncio.Task[None]] = {}
        """What says of each first call that it is still out."""

    async def reserve(self, guard: Guard, worst_micro: int) -> str:
        """Hold the worst case of a call in every durable scope around it, outermost first; return what to settle.

        Raises `LimitReached`, holding nothing, if money or calls in five minutes would be too many.
        """
        return await asyncio.to_thread(self.hold, _durable(guard), worst_micro)

    async def quote(self, guard: Guard, meter: str, patience_s: float) -> Quote:
        """Return what a call is made on: what all durable scopes together leave, and how its server bills.

        The first call to a server of which nobody knows that is made alone, and the others wait for its bill: if it
        is far higher than was held for it, it is the only one. Raises `TransientModelFault` after ``patience_s``.
        """
        scopes = [scope for scope in _durable(guard) if scope.limits.max_cost_micro is not None]
        if not scopes:
            return Quote()
        quote = await _until_told(lambda: self.look(scopes, meter), meter, patience_s)
        self._keep_first(meter, quote)
        return quote

    async def alone(self, quote: Quote, meter: str, patience_s: float) -> Quote | None:
        """Return what a call is made on that cannot afford what is known of its server, if it may find out whether
        that still holds: alone, and only some minutes after the last bill that was too high. None if it may not.

        Without it a server that was mended would be shut out for good: who is refused brings no bill.
        """

        def ask() -> str | None:
            with self._store.transaction() as db:
                return self._meters.alone(db, meter)

        first = await _until_told(ask, meter, patience_s)
        if not first:
            return None
        lone = Quote(quote.headroom_micro, first=first)
        self._keep_first(meter, lone)
        return lone

    async def learn(self, quote: Quote, meter: str, seen: Overbilling | None, *, doubtful: bool = False) -> None:
        """Take in what a call's bill tells, None where it brought none; others need not wait for it any more."""
        if (staying := self._firsts.pop(quote.first, None)) is not None:
            staying.cancel()
        if seen is None:
            if quote.first:
                await asyncio.to_thread(self._meters.give_up, meter, quote.first, doubtful=doubtful)
        elif quote.headroom_micro is None:
            # Without a limit on money nothing depends on it here: it is for the others.
            with suppress(StoreLost):
                await asyncio.to_thread(self._meters.learn, meter, seen, patience_s=HURRY_S)
        elif quote.first or quote.known.after(seen) != quote.known:
            await asyncio.to_thread(self._meters.learn, meter, seen, quote.first)

    def _keep_first(self, meter: str, quote: Quote) -> None:
        if quote.first:
            self._firsts[quote.first] = asyncio.create_task(self._stay_first(meter, quote.first))

    async def _stay_first(self, meter: str, first: str) -> None:
        # Whoever cannot say so loses the place, and nothing else.
        with suppress(StoreLost):
            while True:
                await asyncio.sleep(STALE_S / 4)
                await asyncio.to_thread(self._meters.still_out, meter, first)

    def look(self, scopes: Sequence[Guard], meter: str) -> Quote | None:
        """Return what a call is made on; None while another one is to find out how the server bills."""
        with self._store.transaction() as db:
            known = self._meters.read(db, meter)
            return None if known is None else Quote(self._left(db, scopes), *known)

    def _left(self, db: sa.Connection, scopes: Sequence[Guard]) -> int:
        rows = db.execute(sa.select(BUDGETS).where(BUDGETS.c.scope.in_([scope.key for scope in scopes])))
        used = {row.scope: int(row.spent_micro + row.held_micro) for row in rows}
        return min((scope.limits.max_cost_micro or 0) - used.get(scope.key, 0) for scope in scopes)

    async def settle(self, hold: str, actual_micro: int, still_held_micro: int = 0) -> None:
        """Replace what was held by the bill; ``still_held_micro`` stays held for good, because it may be billed yet."""
        if hold:
            await asyncio.to_thread(self.pay, hold, actual_micro, still_held_micro)

    async def count_action(self, guard: Guard) -> None:
        """Count an action that is about to be done; raise `LimitReached` if it is one too many."""
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
                kept = db.execute(sa.update(BUDGETS).where(BUDGETS.c.scope == scope.key, fits).values(held_micro=held))
                if kept.rowcount != 1:
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
            # Whoever deletes a hold settles it.
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
        # The scope's row is locked by the update before: calls are counted one after the other.
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


async def _until_told(ask: Callable[[], T | None], meter: str, patience_s: float) -> T:
    """Ask until no other call is finding out how a server bills; raise `TransientModelFault` if that takes too long."""
    until_s = time.monotonic() + patience_s
    while (told := await asyncio.to_thread(ask)) is None:
        if time.monotonic() > until_s:
            raise TransientModelFault(
                f"Another run has been asking {meter} for {patience_s:.0f} s, and nobody knows until then how it "
                "bills; check that the server is not overloaded."
            )
        await asyncio.sleep(POLL_S)
    return told


def forget(db: sa.Connection, key_prefix: str) -> None:
    """Give a fresh budget to what begins with this key: a person has decided to try again.

    Only where nobody can be at work on it. What is out nevertheless, a call whose bill is late, holds nothing any more,
    and its bill is charged to the fresh budget.
    """

    def mine(table: sa.Table) -> sa.ColumnElement[bool]:
        # Not LIKE, for which SQLite takes "a" and "A" for the same.
        return sa.func.substr(table.c.scope, 1, len(key_prefix)) == key_prefix

    _lock(db, db.scalars(sa.select(BUDGETS.c.scope).where(mine(BUDGETS))).all())
    db.execute(sa.update(BUDGETS).where(mine(BUDGETS)).values(spent_micro=0, held_micro=0, actions=0))
    db.execute(sa.update(HOLDS).where(mine(HOLDS)).values(worst_micro=0))
    db.execute(sa.delete(CALLS).where(mine(CALLS)))


def _durable(guard: Guard) -> list[Guard]:
    return [scope for scope in guard.lineage() if scope.key and scope.limits != Limits()]


def _each_once(scopes: Sequence[Guard]) -> Iterator[tuple[Guard, int]]:
    """Go through scopes, outermost first; of those that share a key all limits count, but only the first is charged."""
    charged: set[str] = set()
    for scope in scopes:
        yield scope, int(scope.key not in charged)
        charged.add(scope.key)


def _open(db: sa.Connection, scopes: Sequence[Guard]) -> None:
    """Make sure that scopes are kept, and lock them: in one order for all, whatever is nested in what."""
    names = {scope.key: scope.name for scope in scopes}
    missing = names.keys() - set(db.scalars(sa.select(BUDGETS.c.scope).where(BUDGETS.c.scope.in_(names))))
    for key in sorted(missing):
        add(db, BUDGETS, scope=key, name=names[key], spent_micro=0, held_micro=0, actions=0)
    _lock(db, names)


def _lock(db: sa.Connection, keys: Iterable[str]) -> None:
    """Lock budgets in the order of their keys, until the transaction ends."""
    rows = sa.select(BUDGETS.c.scope).where(BUDGETS.c.scope.in_(list(keys))).order_by(BUDGETS.c.scope)
    db.execute(rows.with_for_update()).all()
