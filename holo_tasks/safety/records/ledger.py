"""Record, by business token, which work is finished, in progress or possibly done, so that no effect is repeated.

A click cannot be made exactly-once, but it can be made at-most-once. `Ledger` writes an intent before the first input
event of an action, and marks it done after the last one. The outcome of an earlier attempt's intent is unknown. A new
attempt therefore does not act again until the effect was looked for.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from holo_tasks.core.errors import HoloError, InvalidUsage, Killed, TokenConflict
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.machine.clock import boot_s
from holo_tasks.machine.proc import process, stat_of
from holo_tasks.safety.database.database_errors import no_answer_error
from holo_tasks.safety.database.store import HURRY_S, TABLES, Prose, Store, add
from holo_tasks.safety.records import budgets

LEASE_S = 10.0
RENEW_S = 2.0
"""Seconds that a claim is valid after its last renewal, and seconds between renewals."""
LEAVE_S = 3.0
"""Seconds that the end of a claim waits for a renewal in progress."""

FINISHED = sa.Table(
    "finished",
    TABLES,
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column("goal", sa.Text, primary_key=True),
    sa.Column("inputs", sa.Text, nullable=False),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("trace", sa.Text, nullable=False),
)
WORKS = sa.Table(
    "works",
    TABLES,
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column("goal", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("code", sa.Text, nullable=False),
)
"""The function that does the work, written with its claim. Older work has no row and fits any function."""
CLAIMS = sa.Table(
    "claims",
    TABLES,
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column("goal", sa.Text, primary_key=True),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("era", sa.Text, nullable=False),
    sa.Column("expires_s", sa.Float, nullable=False),
)
INTENTS = sa.Table(
    "intents",
    TABLES,
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column("goal", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("action", Prose, nullable=False),
    sa.Column("frame", sa.Text, nullable=False),
    sa.Column("trace", sa.Text, nullable=False),
    sa.Column("done", sa.Boolean, nullable=False),
)


class TokenInUse(InvalidUsage):
    """Another process is working on the same token and goal."""

    lasting = False


@dataclass(frozen=True)
class Finished:
    """The stored result of finished work, as JSON text, and the location of its trace."""

    result: str
    trace: str


@dataclass(frozen=True)
class WorkIdentity:
    """Identity of the function that does the work of a goal: the same if either field is equal.

    ``name`` is the function's module and name. ``code`` is the digest of its file, empty if unknown.
    """

    name: str
    code: str = ""


@dataclass(frozen=True)
class Intent:
    """An action that was about to be performed. ``done`` is true once all of its input events were sent."""

    number: int
    action: str
    frame: str
    trace: str
    done: bool


@dataclass
class Claim:
    """The exclusive right to work on one token and goal, while it is renewed.

    ``earlier`` are the intents of attempts before this one. A process that takes over a lapsed claim gets the next
    ``epoch``, and the old epoch is refused from then on. ``taken_over`` is true once this process has seen that. A
    claim that was not renewed in time may still be valid; only the database can tell.
    """

    ledger: Ledger
    token: str
    goal: str
    epoch: int
    earlier: tuple[Intent, ...]
    trace: str = ""
    valid_until_s: float = field(default=0.0, repr=False)
    taken_over: bool = False
    lost: str = "Another worker has taken over this work."
    """The message for the user if the claim is taken over."""
    begun: dict[int, str] = field(default_factory=dict)
    """The actions of this attempt, by number. Their outcome is unknown until the work is finished."""

    def left_s(self) -> float:
        """Return the seconds until another process could take over, without asking the database."""
        return self.valid_until_s - boot_s()

    def renewal_error(self) -> str:
        """Return the error text for a database that does not renew this claim."""
        return self.ledger.renewal_error(LEASE_S - self.left_s())

    async def intend(self, action: str, frame: str) -> int:
        """Record an action before its first input event; return its number. Raises `Killed` after a takeover."""
        number = await asyncio.to_thread(self.ledger.intend, self, action, frame)
        self.begun[number] = action
        return number

    async def done(self, number: int) -> None:
        """Record that all input events of an action were sent."""
        await asyncio.to_thread(self.ledger.settle, self, number)

    async def void(self, number: int) -> None:
        """Delete an intent, because no input event of its action was sent."""
        await asyncio.to_thread(self.ledger.void, self, number)
        self.begun.pop(number, None)


class Ledger:
    """Record of finished and unfinished work in the shared database.

    Each call is one transaction, durable when it returns. ``token`` names the business item, ``goal`` the kind of work
    on it. Reusing both with other inputs or another ``work`` raises `TokenConflict`, because the stored result would
    answer another question.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def store(self) -> Store:
        """The database of this ledger."""
        return self._store

    def find(self, token: str, goal: str, inputs: str, work: WorkIdentity | None = None) -> Finished | None:
        """Return the stored result of finished work, or ``None``.

        Raises `TokenConflict` for other inputs or ``work``.
        """
        with self._store.transaction() as db:
            row = db.execute(sa.select(FINISHED).where(*_matches(FINISHED, token, goal))).one_or_none()
            if row is not None and work is not None and (other := _other_work(db, token, goal, work)):
                raise _other_work_error(token, goal, other, work)
            if row is not None and row.inputs != inputs:
                raise TokenConflict(
                    f"Token {token!r} was already used for {goal!r} with other inputs; use a new token for new work."
                )
            if row is not None and work is not None:  # an old result without a function: bind it to this one
                add(db, WORKS, token=token, goal=goal, name=work.name, code=work.code)
        return None if row is None else Finished(row.result, row.trace)

    def stored(self, token: str, goal: str) -> Finished | None:
        """Return the stored result of finished work for any inputs, or ``None``."""
        with self._store.transaction() as db:
            row = db.execute(sa.select(FINISHED).where(*_matches(FINISHED, token, goal))).one_or_none()
        return None if row is None else Finished(row.result, row.trace)

    def finish(self, claim: Claim, inputs: str, result: str, trace: str) -> None:
        """Store a result, unless one is stored already. Raises `Killed` if the claim was taken over."""

        def finish(db: sa.Connection) -> None:
            self.check(db, claim)
            add(db, FINISHED, token=claim.token, goal=claim.goal, inputs=inputs, result=result, trace=trace)

        self._store.do(finish)

    @contextmanager
    def claim(self, token: str, goal: str, work: WorkIdentity | None = None) -> Iterator[Claim]:
        """Hold a claim within this block. It ends with the block, or some seconds after this process dies.

        Raises `TokenInUse` if another process has the claim, and `TokenConflict` if other ``work`` has begun or
        finished it. If no clock can tell whether an old claim has lapsed, watch it for one lease first.
        """
        watch = IdleWatch()
        while (claim := self._try_claim(token, goal, work, watch)) is None:
            time.sleep(watch.pause_s)
        leave = self._start_renewal(claim)
        try:
            yield claim
        finally:
            leave()

    @asynccontextmanager
    async def at_work(self, token: str, goal: str, work: WorkIdentity | None = None) -> AsyncIterator[Claim]:
        """Hold a claim like `claim`, without blocking the event loop."""
        watch = IdleWatch()
        # The thread pool is small, so the pause is here and not in a thread.
        while (claim := await self._try_in_thread(token, goal, work, watch)) is None:
            await asyncio.sleep(watch.pause_s)
        leave = self._start_renewal(claim)
        try:
            yield claim
        finally:
            await asyncio.to_thread(leave)

    @asynccontextmanager
    async def one_of(self, tokens: Sequence[str], goal: str, waits: Callable[[], float]) -> AsyncIterator[Claim]:
        """Hold the first free claim of several tokens. ``waits`` returns the seconds until the next look."""
        watches = {token: IdleWatch() for token in tokens}
        while (claim := await self._first_free(watches, goal)) is None:
            await asyncio.sleep(waits())
        leave = self._start_renewal(claim)
        try:
            yield claim
        finally:
            await asyncio.to_thread(leave)

    def release_if_dead(self, token: str, goal: str, watch: IdleWatch) -> bool | None:
        """Release the claim of a dead holder and fence the holder off. Raises `TokenInUse` if the holder is alive.

        Returns ``False`` without a holder, and ``None`` if it is not known yet whether the holder is dead.
        """
        with self._store.transaction() as db:
            holder = db.execute(sa.select(CLAIMS.c.holder).where(*_matches(CLAIMS, token, goal))).scalar()
        if not holder:
            return False
        claim = self._try_claim(token, goal, None, watch)
        if claim is not None:
            self._release(claim)
        return None if claim is None else True

    def free(self, token: str, *, not_done: bool, goals: Collection[str] | None = None) -> None:
        """Allow an item to be worked on again with a fresh budget, because a person decided so.

        With ``not_done``, delete the intents of earlier attempts, because the person saw that their effects are
        missing. ``goals`` restricts that to some goals. The budget belongs to the token and covers all of its goals.
        Raises `TokenInUse` while a process works on the item, because its work would spend the fresh budget as well.
        """
        watch = IdleWatch()

        def free(db: sa.Connection) -> bool:
            now = self._store.now_s(db)
            rows = sa.select(CLAIMS).where(*_matches(CLAIMS, token, None)).order_by(CLAIMS.c.goal).with_for_update()
            # Check every row, so that all claims are watched in parallel.
            doubtful = [row for row in db.execute(rows).all() if not self._is_free(row, now, watch)]
            if doubtful:
                return False
            if not_done:
                these = sa.true() if goals is None else INTENTS.c.goal.in_(sorted(goals))
                db.execute(sa.delete(INTENTS).where(*_matches(INTENTS, token, None), these))
            budgets.forget(db, budgets.item_key(token))
            return True

        while not self._store.do(free):
            time.sleep(watch.pause_s)

    def delete_with(self, claim: Claim, leave: Callable[[sa.Connection], None]) -> None:
        """Delete a claim and run ``leave`` in the same transaction. Raises `Killed` if the claim was taken over.

        Only for a token that will never be claimed again, because its epochs are forgotten.
        """

        def delete_with(db: sa.Connection) -> None:
            self.check(db, claim)
            leave(db)
            db.execute(sa.delete(CLAIMS).where(*_matches(CLAIMS, claim.token, claim.goal)))

        self._store.do(delete_with, HURRY_S)

    def delete_lapsed(self, token: str, watch: IdleWatch, leave: Callable[[sa.Connection], int]) -> int | None:
        """Delete the claims of a token whose holders are dead, and run ``leave`` in the same transaction.

        The old holders are refused from then on, and the token must never be claimed again. Returns the result of
        ``leave``, or ``None`` if it is not known yet whether a holder is dead: then call again later with the same
        watch. Raises `TokenInUse` while a holder is alive.
        """

        def delete_lapsed(db: sa.Connection) -> int | None:
            now = self._store.now_s(db)
            rows = sa.select(CLAIMS).where(*_matches(CLAIMS, token, None)).order_by(CLAIMS.c.goal).with_for_update()
            if [row for row in db.execute(rows).all() if not self._is_free(row, now, watch)]:
                return None
            db.execute(sa.delete(CLAIMS).where(*_matches(CLAIMS, token, None)))
            return leave(db)

        return self._store.do(delete_lapsed)

    def renewal_error(self, for_s: float) -> str:
        """Return the error text for a database that has not answered for ``for_s`` seconds."""
        return str(no_answer_error(self._store.place, for_s, local=self._store.local))

    def delete_intents(self, claim: Claim) -> None:
        """Delete the intents of earlier attempts, which had no effect. Raises `Killed` if the claim was taken over."""

        def delete_intents(db: sa.Connection) -> None:
            self.check(db, claim)
            earlier = INTENTS.c.epoch < claim.epoch
            db.execute(sa.delete(INTENTS).where(*_matches(INTENTS, claim.token, claim.goal), earlier))

        self._store.do(delete_intents, HURRY_S)

    def intents(self, token: str, goal: str | None = None) -> tuple[Intent, ...]:
        """Return the intents of a token in order, of all goals if ``goal`` is ``None``."""
        with self._store.transaction() as db:
            return self._intents(db, token, goal)

    def intend(self, claim: Claim, action: str, frame: str) -> int:
        def intend(db: sa.Connection) -> int:
            self.check(db, claim)
            last = db.execute(
                sa.select(sa.func.max(INTENTS.c.number)).where(*_matches(INTENTS, claim.token, claim.goal))
            ).scalar()
            number = (last or 0) + 1
            db.execute(
                sa.insert(INTENTS).values(
                    token=claim.token,
                    goal=claim.goal,
                    number=number,
                    epoch=claim.epoch,
                    action=action,
                    frame=frame,
                    trace=claim.trace,
                    done=False,
                )
            )
            return number

        return self._store.do(intend, HURRY_S)

    def settle(self, claim: Claim, number: int) -> None:
        with self._store.transaction(HURRY_S) as db:
            db.execute(sa.update(INTENTS).where(*_own_intent(claim, number)).values(done=True))

    def void(self, claim: Claim, number: int) -> None:
        with self._store.transaction(HURRY_S) as db:
            db.execute(sa.delete(INTENTS).where(*_own_intent(claim, number), ~INTENTS.c.done))

    async def _first_free(self, watches: dict[str, IdleWatch], goal: str) -> Claim | None:
        for token in watches:
            try:
                if (claim := await self._try_in_thread(token, goal, None, watches[token])) is not None:
                    return claim
            except TokenInUse:
                watches[token] = IdleWatch()
        return None

    async def _try_in_thread(self, token: str, goal: str, work: WorkIdentity | None, watch: IdleWatch) -> Claim | None:
        """Try to claim in a thread. Release the claim if this coroutine is cancelled meanwhile."""
        trying = asyncio.ensure_future(asyncio.to_thread(self._try_claim, token, goal, work, watch))
        try:
            return await asyncio.shield(trying)
        except asyncio.CancelledError:
            with suppress(HoloError):  # the claim was not free
                if (claim := await trying) is not None:
                    await asyncio.to_thread(self._release, claim)
            raise

    def _try_claim(self, token: str, goal: str, work: WorkIdentity | None, watch: IdleWatch) -> Claim | None:
        """Return a claim, or ``None`` if it may be free later. Raises `TokenInUse` if its holder is alive."""

        def take(db: sa.Connection) -> Claim | None:
            asked = boot_s()
            now = self._store.now_s(db)
            values = {"holder": _this_process(), "era": self._store.era, "expires_s": now + LEASE_S}
            if add(db, CLAIMS, token=token, goal=goal, epoch=1, **values):
                epoch = 1
            else:
                row = db.execute(sa.select(CLAIMS).where(*_matches(CLAIMS, token, goal)).with_for_update()).one()
                # Read the clock again, because waiting for the row lock may have taken a while.
                now = self._store.now_s(db)
                if not self._is_free(row, now, watch):
                    return None
                epoch = row.epoch + 1
                taken = values | {"epoch": epoch, "expires_s": now + LEASE_S}
                db.execute(sa.update(CLAIMS).where(*_matches(CLAIMS, token, goal)).values(**taken))
            earlier = self._intents(db, token, goal)
            if work is not None:
                self._bind_to(db, token, goal, work, begun=bool(earlier))
            return Claim(self, token, goal, epoch, earlier, valid_until_s=asked + LEASE_S)

        return self._store.do(take)

    def _bind_to(self, db: sa.Connection, token: str, goal: str, work: WorkIdentity, *, begun: bool) -> None:
        """Bind the token and goal to a function. Raises `TokenConflict` if work of another function exists."""
        other = _other_work(db, token, goal, work)
        if other and (begun or db.execute(sa.select(FINISHED.c.goal).where(*_matches(FINISHED, token, goal))).first()):
            raise _other_work_error(token, goal, other, work)
        values = {"name": work.name, "code": work.code}
        if not add(db, WORKS, token=token, goal=goal, **values):
            db.execute(sa.update(WORKS).where(*_matches(WORKS, token, goal)).values(**values))

    def _is_free(self, row: sa.Row[Any], now_s: float, watch: IdleWatch) -> bool:
        """Return whether the holder of a claim is certainly dead. Raises `TokenInUse` if it is alive.

        The monotonic clock of this machine tells when a lease is over. A database server's clock may be set, and times
        of another boot or another machine cannot be compared. In those cases the claim is watched for a lease.
        """
        if not row.holder or _has_ended(row.holder):
            return True
        if row.era == self._store.era:
            left_s = row.expires_s - now_s
            if left_s > 0 and (self._store.local or left_s <= LEASE_S):
                raise _busy_error(row.token)
            if self._store.local:
                return True
        return watch.found_idle(row)

    def _start_renewal(self, claim: Claim) -> Callable[[], None]:
        """Start a thread that renews a claim; return a function that stops the thread and releases the claim."""
        ended = threading.Event()
        keeper = threading.Thread(
            target=self._renew_until, args=(claim, ended), name=f"claim {exact(claim.token)}", daemon=True
        )
        keeper.start()

        def leave() -> None:
            ended.set()
            # Do not wait long for a database that hangs: the claim also ends when its lease is over.
            keeper.join(LEAVE_S)
            with suppress(InvalidUsage):
                self._release(claim)

        return leave

    def _renew_until(self, claim: Claim, ended: threading.Event) -> None:
        """Renew a claim until ``ended`` is set, or the claim was taken over. Retry while the database is away."""
        while not ended.wait(RENEW_S):
            asked = boot_s()
            try:
                with self._store.transaction(HURRY_S) as db:
                    now = self._store.now_s(db)
                    mine = (*_matches(CLAIMS, claim.token, claim.goal), CLAIMS.c.epoch == claim.epoch)
                    if db.execute(sa.update(CLAIMS).where(*mine).values(expires_s=now + LEASE_S)).rowcount != 1:
                        claim.taken_over, claim.valid_until_s = True, 0.0
                        return
            except InvalidUsage:
                continue  # the database is away; the claim is valid until its lease is over
            claim.valid_until_s = asked + LEASE_S

    def _release(self, claim: Claim) -> None:
        with self._store.transaction(HURRY_S) as db:
            mine = (*_matches(CLAIMS, claim.token, claim.goal), CLAIMS.c.epoch == claim.epoch)
            db.execute(sa.update(CLAIMS).where(*mine).values(holder="", expires_s=0.0))

    def check(self, db: sa.Connection, claim: Claim) -> None:
        """Raise `Killed` if the claim was taken over, within a transaction that relies on it."""
        row = db.execute(
            sa.select(CLAIMS.c.epoch).where(*_matches(CLAIMS, claim.token, claim.goal)).with_for_update()
        ).one_or_none()
        if row is None or row.epoch != claim.epoch:
            claim.taken_over = True
            raise Killed(f"Another worker has taken over {claim.token!r}; this one stops.")

    def _intents(self, db: sa.Connection, token: str, goal: str | None) -> tuple[Intent, ...]:
        rows = db.execute(sa.select(INTENTS).where(*_matches(INTENTS, token, goal)).order_by(INTENTS.c.number))
        return tuple(Intent(row.number, row.action, row.frame, row.trace, row.done) for row in rows)


class IdleWatch:
    """Watches claims whose clocks cannot be compared: a live holder renews in time. Look every ``pause_s`` seconds."""

    def __init__(self) -> None:
        self.pause_s = RENEW_S / 2
        self._seen: dict[str, tuple[tuple[int, float], float]] = {}

    def found_idle(self, row: sa.Row[Any]) -> bool:
        """Return whether the claim was not renewed during a whole lease. Raises `TokenInUse` once it is renewed."""
        state, now_s = (row.epoch, row.expires_s), boot_s()
        first, since_s = self._seen.setdefault(row.goal, (state, now_s))
        if first != state:
            raise _busy_error(row.token)
        return now_s - since_s >= LEASE_S


def _matches(table: sa.Table, token: str, goal: str | None) -> tuple[sa.ColumnElement[bool], ...]:
    return (table.c.token == token, *(() if goal is None else (table.c.goal == goal,)))


def _other_work(db: sa.Connection, token: str, goal: str, work: WorkIdentity) -> str:
    """Return the name of the other function that a token and goal belong to, or an empty string."""
    row = db.execute(sa.select(WORKS).where(*_matches(WORKS, token, goal))).one_or_none()
    if row is None or row.name == work.name or (work.code and row.code == work.code):
        return ""
    return str(row.name)


def _other_work_error(token: str, goal: str, other: str, work: WorkIdentity) -> TokenConflict:
    return TokenConflict(
        f"Token {token!r} was already used for {goal!r} by another function: by {exact(other)}, and this is "
        f"{exact(work.name)}. If both are the same work, such as in a moved file or a new release's folder, write "
        f"@subgoal(ledger={other!r}) at its definition. Keep that name from then on. If it is other work, use "
        "another token."
    )


def _own_intent(claim: Claim, number: int) -> tuple[sa.ColumnElement[bool], ...]:
    """Match an intent of this claim. The epoch tells apart equal numbers of other attempts."""
    return (*_matches(INTENTS, claim.token, claim.goal), INTENTS.c.epoch == claim.epoch, INTENTS.c.number == number)


def _busy_error(token: str) -> TokenInUse:
    return TokenInUse(f"{token!r} is being worked on by another run; wait until it ends, then ask again.")


def worker() -> str:
    """Return the identity of this process, for `is_at_work`."""
    return _this_process()


def is_at_work(worker: str) -> bool | None:
    """Return whether a process is alive, or ``None`` if it is on another machine."""
    return not _has_ended(worker) if worker.partition("|")[0] == _machine() else None


def host_and_pid(worker: str) -> tuple[str, str]:
    """Return the host name and the process id in an identity made by `worker`."""
    machine, _, rest = worker.partition("|")
    return machine.partition("/")[0], rest.partition("|")[0]


def _this_process() -> str:
    """Return the identity of this process: machine, process id and start time."""
    return "|".join((_machine(), str(os.getpid()), _started(os.getpid()) or ""))


def _has_ended(holder: str) -> bool:
    """Return whether a claim's process has certainly ended, and is not just hidden or on another machine."""
    machine, _, rest = holder.partition("|")
    pid, _, started = rest.partition("|")
    return machine == _machine() and pid.isdigit() and _started(int(pid)) not in (started, None)


def _machine() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{socket.gethostname()}/{boot}/{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115


def _started(pid: int) -> str | None:
    """Return the start time of a process in clock ticks since boot; empty if it has ended, ``None`` if it is hidden.

    A `/proc` mounted with ``hidepid`` hides processes of other users, and non-dumpable processes such as ours.
    """
    try:
        fields = stat_of(process(pid))
    except OSError:
        return None if _is_there(pid) else ""
    return "" if fields[0] in "ZX" else fields[19]


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        pass
    return True
