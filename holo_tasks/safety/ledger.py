"""What is done, being done and perhaps done, by business token: so that a re-run repeats no effect.

Exactly once is impossible for a click; at most once is not. Before the first input event of an action an intent is
written, after the last one that it is done. Whoever finds an intent of an earlier attempt does not act again before
the effect was looked for: nobody knows whether it came about.
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
from holo_tasks.core.visible_text import exact
from holo_tasks.machine.clock import boot_s
from holo_tasks.machine.proc import process, stat_of
from holo_tasks.safety import budgets
from holo_tasks.safety.database_errors import unanswered
from holo_tasks.safety.store import HURRY_S, TABLES, Prose, Store, add

LEASE_S = 10.0
RENEW_S = 2.0
LEAVE_S = 3.0
"""How long the end of a claim waits for a renewal that is under way."""

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
"""What does the work. Written with a claim: what was done before there was this table has no row, and is anybody's."""
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


class BeingWorkedOn(InvalidUsage):
    """Somebody else is at the same work."""


@dataclass(frozen=True)
class Finished:
    """A stored result, as JSON text, and where its evidence is."""

    result: str
    trace: str


@dataclass(frozen=True)
class Work:
    """What does the work of a goal: two functions may have one name. Either ``name`` or ``code`` tells that it is the
    same: the place of a function, and the digest of the file it is in (empty if that is not known)."""

    name: str
    code: str = ""


@dataclass(frozen=True)
class Intent:
    """An action that was about to be done; ``done`` says that all its input events were sent."""

    number: int
    action: str
    frame: str
    trace: str
    done: bool


@dataclass
class Claim:
    """The right to work on one token and goal, while it is renewed. ``earlier`` is what attempts before this one did.

    Whoever takes over from a holder that does not renew gets the next ``epoch``; from then on the old one is refused.
    ``taken_over`` says that this was seen. Until then a claim that could not be renewed in time may still be good, and
    is once the database answers; but meanwhile nobody knows.
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
    """What there is to say when that happened."""
    begun: dict[int, str] = field(default_factory=dict)
    """The actions that this attempt has begun, by number: nobody knows what came of them until the work is finished."""

    def left_s(self) -> float:
        """Return for how many seconds nobody can take over, without asking the database."""
        return self.valid_until_s - boot_s()

    def unheard(self) -> str:
        """Say for how long the database did not renew this claim."""
        return self.ledger.unheard(LEASE_S - self.left_s())

    async def intend(self, action: str, frame: str) -> int:
        """Write down an action before its first input event; return its number. Raises `Killed` if taken over."""
        number = await asyncio.to_thread(self.ledger.intend, self, action, frame)
        self.begun[number] = action
        return number

    async def done(self, number: int) -> None:
        """Write down that all input events of an action were sent."""
        await asyncio.to_thread(self.ledger.settle, self, number)

    async def void(self, number: int) -> None:
        """Take back an intent of which no input event was sent."""
        await asyncio.to_thread(self.ledger.void, self, number)
        self.begun.pop(number, None)


class Ledger:
    """Kept in the shared database; each call is one transaction, durable when it returns.

    ``token`` names the business item, ``goal`` the kind of work done on it. The same token and goal with other
    inputs, or by another function (``work``, where it is known), is an error (`TokenConflict`): it would hand back an
    answer to another question.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def store(self) -> Store:
        """The database that it is kept in."""
        return self._store

    def find(self, token: str, goal: str, inputs: str, work: Work | None = None) -> Finished | None:
        """Return the stored result of finished work, or None."""
        with self._store.transaction() as db:
            row = db.execute(sa.select(FINISHED).where(*_of(FINISHED, token, goal))).one_or_none()
            if row is not None and work is not None and (other := _other_work(db, token, goal, work)):
                raise _of_another(token, goal, other, work)
            if row is not None and row.inputs != inputs:
                raise TokenConflict(
                    f"Token {token!r} was already used for {goal!r} with other inputs; use a new token for new work."
                )
            if row is not None and work is not None:  # done before functions were told apart: who asks first has it
                add(db, WORKS, token=token, goal=goal, name=work.name, code=work.code)
        return None if row is None else Finished(row.result, row.trace)

    def stored(self, token: str, goal: str) -> Finished | None:
        """Return the stored result of finished work whatever its inputs were, or None."""
        with self._store.transaction() as db:
            row = db.execute(sa.select(FINISHED).where(*_of(FINISHED, token, goal))).one_or_none()
        return None if row is None else Finished(row.result, row.trace)

    def finish(self, claim: Claim, inputs: str, result: str, trace: str) -> None:
        """Store a result; the first one stays. Raises `Killed` if another worker has taken over."""

        def finish(db: sa.Connection) -> None:
            self.check(db, claim)
            add(db, FINISHED, token=claim.token, goal=claim.goal, inputs=inputs, result=result, trace=trace)

        self._store.do(finish)

    @contextmanager
    def claim(self, token: str, goal: str, work: Work | None = None) -> Iterator[Claim]:
        """Keep others from the same work; the claim ends with this block, or some seconds after this process does.

        Raises `InvalidUsage` if somebody else is at it, `TokenConflict` if other ``work`` has done something already.
        A claim whose end no clock can tell is watched for a lease first.
        """
        vigil = Vigil()
        while (claim := self._try(token, goal, work, vigil)) is None:
            time.sleep(vigil.pause_s)
        leave = self._keep_up(claim)
        try:
            yield claim
        finally:
            leave()

    @asynccontextmanager
    async def at_work(self, token: str, goal: str, work: Work | None = None) -> AsyncIterator[Claim]:
        """As `claim`, without holding up whatever else this process does meanwhile."""
        vigil = Vigil()
        # Threads are few, and who waits in one keeps it from others: they look, and the waiting is done here.
        while (claim := await self._try_aside(token, goal, work, vigil)) is None:
            await asyncio.sleep(vigil.pause_s)
        leave = self._keep_up(claim)
        try:
            yield claim
        finally:
            await asyncio.to_thread(leave)

    @asynccontextmanager
    async def one_of(self, tokens: Sequence[str], goal: str, waits: Callable[[], float]) -> AsyncIterator[Claim]:
        """Claim whichever of some tokens is free first. ``waits`` is called where none is: for how long, in seconds."""
        vigils = {token: Vigil() for token in tokens}
        while (claim := await self._any_of(vigils, goal)) is None:
            await asyncio.sleep(waits())
        leave = self._keep_up(claim)
        try:
            yield claim
        finally:
            await asyncio.to_thread(leave)

    def let_go(self, token: str, goal: str, vigil: Vigil) -> bool | None:
        """Free a claim whose holder is gone, who is refused from then on; False if nobody held it, None if unknown yet.

        Raises `BeingWorkedOn` while somebody holds it.
        """
        with self._store.transaction() as db:
            holder = db.execute(sa.select(CLAIMS.c.holder).where(*_of(CLAIMS, token, goal))).scalar()
        if not holder:
            return False
        claim = self._try(token, goal, None, vigil)
        if claim is not None:
            self._release(claim)
        return None if claim is None else True

    def free(self, token: str, *, not_done: bool, goals: Collection[str] | None = None) -> None:
        """Let an item be worked on again with a fresh budget: a person has decided to spend more on it.

        With ``not_done`` what earlier attempts did is forgotten, of these ``goals`` if they are given: the person has
        looked, and its effect is not there. The budget is the token's, whatever work is done under it. Raises
        `InvalidUsage` while somebody is at it: their work would spend the fresh budget beside the old one.
        """
        vigil = Vigil()

        def free(db: sa.Connection) -> bool:
            now = self._store.now_s(db)
            rows = sa.select(CLAIMS).where(*_of(CLAIMS, token, None)).order_by(CLAIMS.c.goal).with_for_update()
            # Each is looked at: all are watched at the same time.
            doubtful = [row for row in db.execute(rows).all() if not self._is_free(row, now, vigil)]
            if doubtful:
                return False
            if not_done:
                these = sa.true() if goals is None else INTENTS.c.goal.in_(sorted(goals))
                db.execute(sa.delete(INTENTS).where(*_of(INTENTS, token, None), these))
            budgets.forget(db, budgets.item_key(token))
            return True

        while not self._store.do(free):
            time.sleep(vigil.pause_s)

    def dismiss(self, claim: Claim, leave: Callable[[sa.Connection], None]) -> None:
        """End a claim for good, and ``leave`` what hangs on it, in one transaction. Raises `Killed` if taken over.

        Only for a token that nobody claims again: its epochs are forgotten.
        """

        def dismiss(db: sa.Connection) -> None:
            self.check(db, claim)
            leave(db)
            db.execute(sa.delete(CLAIMS).where(*_of(CLAIMS, claim.token, claim.goal)))

        self._store.do(dismiss, HURRY_S)

    def bury(self, token: str, vigil: Vigil, leave: Callable[[sa.Connection], int]) -> int | None:
        """End the claims on a token that nobody can hold any more, and ``leave`` what hangs on them, all or nothing.

        Whoever held them is refused from then on, and nobody may claim that token again. Returns what ``leave`` does;
        None if it cannot be known yet whether somebody holds them: ask again later, with the same ``vigil``. Raises
        `BeingWorkedOn` while somebody does.
        """

        def bury(db: sa.Connection) -> int | None:
            now = self._store.now_s(db)
            rows = sa.select(CLAIMS).where(*_of(CLAIMS, token, None)).order_by(CLAIMS.c.goal).with_for_update()
            if [row for row in db.execute(rows).all() if not self._is_free(row, now, vigil)]:
                return None
            db.execute(sa.delete(CLAIMS).where(*_of(CLAIMS, token, None)))
            return leave(db)

        return self._store.do(bury)

    def unheard(self, for_s: float) -> str:
        """Say that the database has not answered for so long."""
        return str(unanswered(self._store.place, for_s, local=self._store.local))

    def disregard(self, claim: Claim) -> None:
        """Forget what attempts before this one did: they came to nothing. Raises `Killed` if taken over."""

        def disregard(db: sa.Connection) -> None:
            self.check(db, claim)
            earlier = INTENTS.c.epoch < claim.epoch
            db.execute(sa.delete(INTENTS).where(*_of(INTENTS, claim.token, claim.goal), earlier))

        self._store.do(disregard, HURRY_S)

    def intents(self, token: str, goal: str | None = None) -> tuple[Intent, ...]:
        """Return what attempts at unfinished work did, in order."""
        with self._store.transaction() as db:
            return self._intents(db, token, goal)

    def intend(self, claim: Claim, action: str, frame: str) -> int:
        def intend(db: sa.Connection) -> int:
            self.check(db, claim)
            last = db.execute(
                sa.select(sa.func.max(INTENTS.c.number)).where(*_of(INTENTS, claim.token, claim.goal))
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
            db.execute(sa.update(INTENTS).where(*_own(claim, number)).values(done=True))

    def void(self, claim: Claim, number: int) -> None:
        with self._store.transaction(HURRY_S) as db:
            db.execute(sa.delete(INTENTS).where(*_own(claim, number), ~INTENTS.c.done))

    async def _any_of(self, vigils: dict[str, Vigil], goal: str) -> Claim | None:
        for token in vigils:
            try:
                if (claim := await self._try_aside(token, goal, None, vigils[token])) is not None:
                    return claim
            except BeingWorkedOn:
                vigils[token] = Vigil()
        return None

    async def _try_aside(self, token: str, goal: str, work: Work | None, vigil: Vigil) -> Claim | None:
        """Try it in a thread. Whoever is cancelled meanwhile keeps nothing."""
        trying = asyncio.ensure_future(asyncio.to_thread(self._try, token, goal, work, vigil))
        try:
            return await asyncio.shield(trying)
        except asyncio.CancelledError:
            with suppress(HoloError):  # it was not free
                if (claim := await trying) is not None:
                    await asyncio.to_thread(self._release, claim)
            raise

    def _try(self, token: str, goal: str, work: Work | None, vigil: Vigil) -> Claim | None:
        """Return a claim, or None if it cannot be known yet whether it is free; raise `InvalidUsage` if it is not."""

        def take(db: sa.Connection) -> Claim | None:
            asked = boot_s()
            now = self._store.now_s(db)
            values = {"holder": _this_process(), "era": self._store.era, "expires_s": now + LEASE_S}
            if add(db, CLAIMS, token=token, goal=goal, epoch=1, **values):
                epoch = 1
            else:
                row = db.execute(sa.select(CLAIMS).where(*_of(CLAIMS, token, goal)).with_for_update()).one()
                # The clock is read again: the row may have been another's for a while.
                now = self._store.now_s(db)
                if not self._is_free(row, now, vigil):
                    return None
                epoch = row.epoch + 1
                taken = values | {"epoch": epoch, "expires_s": now + LEASE_S}
                db.execute(sa.update(CLAIMS).where(*_of(CLAIMS, token, goal)).values(**taken))
            earlier = self._intents(db, token, goal)
            if work is not None:
                self._belongs_to(db, token, goal, work, begun=bool(earlier))
            return Claim(self, token, goal, epoch, earlier, valid_until_s=asked + LEASE_S)

        return self._store.do(take)

    def _belongs_to(self, db: sa.Connection, token: str, goal: str, work: Work, *, begun: bool) -> None:
        """Note what does the work. Once something was done, raise `TokenConflict` for anything else."""
        other = _other_work(db, token, goal, work)
        if other and (begun or db.execute(sa.select(FINISHED.c.goal).where(*_of(FINISHED, token, goal))).first()):
            raise _of_another(token, goal, other, work)
        values = {"name": work.name, "code": work.code}
        if not add(db, WORKS, token=token, goal=goal, **values):
            db.execute(sa.update(WORKS).where(*_of(WORKS, token, goal)).values(**values))

    def _is_free(self, row: sa.Row[Any], now_s: float, vigil: Vigil) -> bool:
        """Say whether nobody can be at the work of a claim, or it cannot be known yet; raise `InvalidUsage` if one is.

        The clock of a machine that nobody sets tells when a lease is over. That of a database's server may be set,
        and times of another start of a machine, or of another machine, say nothing: there the claim is watched.
        """
        if not row.holder or _is_gone(row.holder):
            return True
        if row.era == self._store.era:
            left_s = row.expires_s - now_s
            if left_s > 0 and (self._store.local or left_s <= LEASE_S):
                raise _busy(row.token)
            if self._store.local:
                return True
        return vigil.found_idle(row)

    def _keep_up(self, claim: Claim) -> Callable[[], None]:
        """Renew a claim from now on; return what ends that, and the claim with it."""
        ended = threading.Event()
        keeper = threading.Thread(
            target=self._keep, args=(claim, ended), name=f"claim {exact(claim.token)}", daemon=True
        )
        keeper.start()

        def leave() -> None:
            ended.set()
            # A database that hangs holds up nobody for long: others wait until the lease is over.
            keeper.join(LEAVE_S)
            with suppress(InvalidUsage):
                self._release(claim)

        return leave

    def _keep(self, claim: Claim, ended: threading.Event) -> None:
        """Renew a claim until it ends; one that could not be renewed in time is not relied on meanwhile."""
        while not ended.wait(RENEW_S):
            asked = boot_s()
            try:
                with self._store.transaction(HURRY_S) as db:
                    now = self._store.now_s(db)
                    mine = (*_of(CLAIMS, claim.token, claim.goal), CLAIMS.c.epoch == claim.epoch)
                    if db.execute(sa.update(CLAIMS).where(*mine).values(expires_s=now + LEASE_S)).rowcount != 1:
                        claim.taken_over, claim.valid_until_s = True, 0.0
                        return
            except InvalidUsage:
                continue  # the database is away: what is left of the lease still holds
            claim.valid_until_s = asked + LEASE_S

    def _release(self, claim: Claim) -> None:
        with self._store.transaction(HURRY_S) as db:
            mine = (*_of(CLAIMS, claim.token, claim.goal), CLAIMS.c.epoch == claim.epoch)
            db.execute(sa.update(CLAIMS).where(*mine).values(holder="", expires_s=0.0))

    def check(self, db: sa.Connection, claim: Claim) -> None:
        """Raise `Killed`, in a transaction that rests on a claim, if another worker has taken over."""
        row = db.execute(
            sa.select(CLAIMS.c.epoch).where(*_of(CLAIMS, claim.token, claim.goal)).with_for_update()
        ).one_or_none()
        if row is None or row.epoch != claim.epoch:
            claim.taken_over = True
            raise Killed(f"Another worker has taken over {claim.token!r}; this one stops.")

    def _intents(self, db: sa.Connection, token: str, goal: str | None) -> tuple[Intent, ...]:
        rows = db.execute(sa.select(INTENTS).where(*_of(INTENTS, token, goal)).order_by(INTENTS.c.number))
        return tuple(Intent(row.number, row.action, row.frame, row.trace, row.done) for row in rows)


class Vigil:
    """Watches claims whose end no clock can tell, by the clock of this machine: who is at work renews them in time.

    ``pause_s`` is after how long it is worth to look again.
    """

    def __init__(self) -> None:
        self.pause_s = RENEW_S / 2
        self._seen: dict[str, tuple[tuple[int, float], float]] = {}

    def found_idle(self, row: sa.Row[Any]) -> bool:
        """Say whether a claim was seen not to be renewed for a whole lease; raise `InvalidUsage` once it was."""
        state, now_s = (row.epoch, row.expires_s), boot_s()
        first, since_s = self._seen.setdefault(row.goal, (state, now_s))
        if first != state:
            raise _busy(row.token)
        return now_s - since_s >= LEASE_S


def _of(table: sa.Table, token: str, goal: str | None) -> tuple[sa.ColumnElement[bool], ...]:
    return (table.c.token == token, *(() if goal is None else (table.c.goal == goal,)))


def _other_work(db: sa.Connection, token: str, goal: str, work: Work) -> str:
    """Return the name of the other work that this token and goal belong to; empty if they are this one's, or free."""
    row = db.execute(sa.select(WORKS).where(*_of(WORKS, token, goal))).one_or_none()
    if row is None or row.name == work.name or (work.code and row.code == work.code):
        return ""
    return str(row.name)


def _of_another(token: str, goal: str, other: str, work: Work) -> TokenConflict:
    return TokenConflict(
        f"Token {token!r} was already used for {goal!r} by another function: by {exact(other)}, and this is "
        f"{exact(work.name)}. If it is the same work, whose file was moved or came in a new release's folder, write"
        f" @subgoal(ledger={other!r}) where it is defined, and keep that name from then on; if it is other work, use"
        " another token."
    )


def _own(claim: Claim, number: int) -> tuple[sa.ColumnElement[bool], ...]:
    """Pick an intent of this claim: numbers begin anew when earlier attempts are forgotten."""
    return (*_of(INTENTS, claim.token, claim.goal), INTENTS.c.epoch == claim.epoch, INTENTS.c.number == number)


def _busy(token: str) -> BeingWorkedOn:
    return BeingWorkedOn(f"{token!r} is being worked on by another run; wait until it ends, then ask again.")


def worker() -> str:
    """Name this process, for `is_at_work`."""
    return _this_process()


def is_at_work(worker: str) -> bool | None:
    """Say whether a process lives; None of one on another machine."""
    return not _is_gone(worker) if worker.partition("|")[0] == _machine() else None


def where_is(worker: str) -> tuple[str, str]:
    """Return the name of the machine and the number of a process, as it was named for `is_at_work`."""
    machine, _, rest = worker.partition("|")
    return machine.partition("/")[0], rest.partition("|")[0]


def _this_process() -> str:
    """Name this process so that others on this machine can tell when it is gone."""
    return "|".join((_machine(), str(os.getpid()), _started(os.getpid()) or ""))


def _is_gone(holder: str) -> bool:
    """Say whether the process that holds a claim has ended; one on another machine, or one that hides, may be there."""
    machine, _, rest = holder.partition("|")
    pid, _, started = rest.partition("|")
    return machine == _machine() and pid.isdigit() and _started(int(pid)) not in (started, None)


def _machine() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{socket.gethostname()}/{boot}/{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115


def _started(pid: int) -> str | None:
    """When a process began, in clock ticks since the machine did; empty if it has ended, None if nobody tells.

    Where `/proc` is mounted with ``hidepid`` it does not show the processes of others, nor those that are closed to
    others of the same user, as ours are.
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
    except PermissionError:  # somebody else's
        pass
    return True
