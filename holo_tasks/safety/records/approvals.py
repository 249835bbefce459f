"""Approvals in the shared database: a person's yes to one action on one screen, usable once and for a limited time.

`Approvals` stores them. `OnRequest` lets a run end with a request, and use the approval when it is run again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from holo_tasks.core.errors import InvalidUsage, NeedsPerson
from holo_tasks.loop.approval import ApprovalQuestion
from holo_tasks.safety.database.store import HURRY_S, TABLES, Prose, Store

TTL_S = 900.0
"""Default validity of an approval, in seconds."""
LONGEST_S = 86_400.0
"""Longest validity of an approval, in seconds."""

APPROVALS = sa.Table(
    "approvals",
    TABLES,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("scope", sa.Text, nullable=False, index=True),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("frame", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("words", Prose, nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
    sa.Column("asked_at", sa.Text, nullable=False),
    sa.Column("granted_by", sa.Text, nullable=False),
    sa.Column("era", sa.Text, nullable=False),
    sa.Column("expires_s", sa.Float, nullable=False),
    sa.Column("taken", sa.Boolean, nullable=False),
    sqlite_autoincrement=True,
)
_ROW = APPROVALS.c
_WAITING = sa.and_(_ROW.granted_by == "", ~_ROW.taken)


@dataclass(frozen=True)
class WaitingApproval:
    """An action that waits for a person's approval."""

    id: int
    scope: str
    run_id: str
    words: str
    evidence: str
    asked_at: str


class Approvals:
    """Requested and granted approvals.

    ``scope`` is the business item or run that an approval is valid for. ``action`` and ``frame`` are digests.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def request(self, run_id: str, scope: str, action: str, frame: str, words: str, evidence: str = "") -> int:
        """Record a request for an approval; return its number. A request that is already waiting keeps its number."""
        with self._store.transaction() as db:
            same = sa.and_(_WAITING, *_matches(scope, action, frame))
            known = db.execute(sa.select(sa.func.min(_ROW.id)).where(same)).scalar_one()
            if known is not None:
                return int(known)
            values = {"run_id": run_id, "scope": scope, "action": action, "frame": frame, "words": words}
            values |= {"evidence": evidence, "asked_at": datetime.now(UTC).isoformat(timespec="seconds")}
            unanswered = {"granted_by": "", "era": "", "expires_s": 0.0, "taken": False}
            added = db.execute(sa.insert(APPROVALS).values(**values, **unanswered).returning(_ROW.id))
            return int(added.scalar_one())

    def grant(self, number: int, by: str, ttl_s: float = TTL_S) -> WaitingApproval:
        """Approve a waiting request; return it. The approval can be used once within ``ttl_s`` seconds.

        Raises `InvalidUsage` if the number is unknown or already answered.
        """
        if not 0 < ttl_s <= LONGEST_S:
            raise InvalidUsage(f"A yes is valid for more than 0 and at most {LONGEST_S:g} seconds, not {ttl_s:g}.")
        if not by.strip():
            raise InvalidUsage("A yes needs the name of the person who gives it.")
        if any("\ud800" <= character <= "\udfff" for character in by):
            raise InvalidUsage("The name of the person is not valid UTF-8 text.")
        with self._store.transaction() as db:
            until = self._store.now_s(db) + ttl_s
            changes = {"granted_by": by.strip(), "era": self._store.era, "expires_s": until}
            if db.execute(sa.update(APPROVALS).where(_ROW.id == number, _WAITING).values(**changes)).rowcount != 1:
                known = db.execute(sa.select(_ROW.granted_by).where(_ROW.id == number)).scalar_one_or_none()
                reason = f"was answered already by {known}" if known else "is not known"
                raise InvalidUsage(f"Approval {number} {reason}; `holo-tasks approve` lists the open requests.")
            found = db.execute(sa.select(APPROVALS).where(_ROW.id == number)).one()
        return _waiting(found)

    def take(self, action: str, frame: str, scope: str) -> str | None:
        """Use up an approval for exactly this action and frame; return the approver's name, or ``None``."""
        with self._store.transaction(HURRY_S) as db:
            # The conditions are part of the UPDATE, so that only one of two concurrent callers gets it.
            usable = sa.and_(
                *_matches(scope, action, frame),
                _ROW.granted_by != "",
                ~_ROW.taken,
                _ROW.era == self._store.era,
                _ROW.expires_s > self._store.now_s(db),
            )
            first = sa.select(sa.func.min(_ROW.id)).where(usable).scalar_subquery()
            taken = sa.update(APPROVALS).where(_ROW.id == first, usable).values(taken=True).returning(_ROW.granted_by)
            by = db.execute(taken).scalar_one_or_none()
        return None if by is None else str(by)

    def unused(self, scope: str, action: str) -> bool:
        """Return whether an action has an approval that was not used, for any frame and of any age."""
        row = sa.and_(_ROW.scope == scope, _ROW.action == action, _ROW.granted_by != "", ~_ROW.taken)
        with self._store.transaction() as db:
            return db.execute(sa.select(_ROW.id).where(row).limit(1)).first() is not None

    def waiting(self) -> list[WaitingApproval]:
        """Return the waiting requests, oldest first."""
        with self._store.transaction() as db:
            found = db.execute(sa.select(APPROVALS).where(_WAITING).order_by(_ROW.id)).all()
        return [_waiting(row) for row in found]


class OnRequest:
    """Approver that ends the run with a request. The action is performed when the run is repeated after the approval.

    Without a business token, an approval is valid for this run only. ``flow_run_id`` extends that to the Prefect flow
    run and its retries.
    """

    def __init__(self, approvals: Approvals, *, run_id: str, trace: str, flow_run_id: str = "") -> None:
        self._approvals = approvals
        self._run_id = run_id
        self._run = flow_run_id or run_id
        self._trace = trace

    async def take(self, asked: ApprovalQuestion) -> str | None:
        return await asyncio.to_thread(self._approvals.take, asked.action, asked.frame, self._scope_of(asked))

    async def ask(self, asked: ApprovalQuestion) -> None:
        raise NeedsPerson(await asyncio.to_thread(self._note, asked))

    def _note(self, asked: ApprovalQuestion) -> str:
        scope, evidence = self._scope_of(asked), f"{self._trace} (picture {asked.picture[:12]})"
        number = self._approvals.request(self._run_id, scope, asked.action, asked.frame, asked.words, evidence)
        unused = self._approvals.unused(scope, asked.action)
        but = " An earlier yes has expired, or was for a screen that looked different." if unused else ""
        again = (
            "run it again"
            if asked.token
            else "retry this flow run. A run of the command line needs --token to use the yes; or let it wait for "
            "the yes with --hand-off SECONDS"
        )
        return f"{asked.words}: say yes with `holo-tasks approve {number}`, then {again}.{but}"

    def _scope_of(self, asked: ApprovalQuestion) -> str:
        return f"token {asked.token}" if asked.token else f"run {self._run}"


def _matches(scope: str, action: str, frame: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (_ROW.scope == scope, _ROW.action == action, _ROW.frame == frame)


def _waiting(row: sa.Row[tuple[object, ...]]) -> WaitingApproval:
    return WaitingApproval(row.id, row.scope, row.run_id, row.words, row.evidence, row.asked_at)
