"""Hand-offs in the shared database: questions that a person answers, and the single answer to each.

`Handoffs` stores them for `handoff`, which waits for the answers, and for the command line.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.home import holo_home
from holo_tasks.safety.database.store import TABLES, Prose, Store, store_at

State = Literal["open", "answered", "expired", "cancelled", "killed"]
HEARD_S, GONE_S = 15.0, 90.0
"""Seconds between two signs of life of a waiting run, and seconds without one until the run counts as dead."""
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
"""Letters and digits of an id, without those that look alike, such as 0 and o."""
LONGEST_NOTE, LONGEST_CHOICE = 4000, 80
"""Characters in a note and in a choice."""

HANDOFFS = sa.Table(
    "handoffs",
    TABLES,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("flow_run_id", sa.Text, nullable=False),
    sa.Column("api_url", sa.Text, nullable=False),
    sa.Column("trace", sa.Text, nullable=False),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("question", Prose, nullable=False),
    sa.Column("choices", sa.Text, nullable=False),
    sa.Column("picture", sa.Text, nullable=False),
    sa.Column("live", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("opened_at", sa.Text, nullable=False),
    sa.Column("expires_at", sa.Text, nullable=False),
    sa.Column("era", sa.Text, nullable=False),
    sa.Column("expires_s", sa.Float, nullable=False),
    sa.Column("heard_s", sa.Float, nullable=False),
    sa.Column("state", sa.Text, nullable=False, index=True),
    sa.Column("closed_at", sa.Text, nullable=False),
    sa.Column("choice", Prose, nullable=False),
    sa.Column("note", Prose, nullable=False),
    sa.Column("by", Prose, nullable=False),
)
_ROW = HANDOFFS.c
_OPEN = _ROW.state == "open"

SUSPENSIONS = sa.Table(
    "suspensions",
    TABLES,
    sa.Column("handoff", sa.Text, primary_key=True),
    sa.Column("flow_run_id", sa.Text, nullable=False, index=True),
    sa.Column("asker", sa.Text, nullable=False),
    sa.Column("asked", sa.Text, nullable=False),
    sa.Column("attempt", sa.Text, nullable=False),
)
"""Hand-offs without a waiting process: the flow run was suspended, and starts again with the answer.

``asker`` is the attempt that asked. ``attempt`` is the attempt that continues with the answer, or `_NONE` or `_OVER`.
"""
_ALL = sa.select(HANDOFFS, SUSPENSIONS.c.handoff).select_from(
    HANDOFFS.outerjoin(SUSPENSIONS, SUSPENSIONS.c.handoff == _ROW.id)
)
_NONE, _OVER = "", "over"
"""Values of ``attempt`` without an attempt: none uses the answer yet, and none may use it any more."""


@dataclass(frozen=True)
class Handoff:
    """One hand-off of one attempt. Only that attempt sees the answer, or the attempt that the answer starts.

    ``live`` is the address of the live desktop on ``host``; the link alone grants access. ``picture`` is the SHA-256 of
    the screenshot in the trace. ``lost`` is true if no process has waited for the answer for `GONE_S`; it is always
    false for a ``suspended`` run.
    """

    id: str
    run_id: str
    flow_run_id: str
    api_url: str
    trace: str
    token: str
    question: str
    choices: tuple[str, ...]
    picture: str
    live: str
    host: str
    opened_at: str
    expires_at: str
    state: State
    closed_at: str
    choice: str
    note: str
    by: str
    lost: bool
    suspended: bool


class Handoffs:
    """Hand-offs in the shared database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(
        self,
        question: str,
        choices: Sequence[str],
        *,
        run_id: str,
        timeout_s: float,
        flow_run_id: str = "",
        api_url: str = "",
        trace: str = "",
        token: str = "",
        picture: str = "",
        live: str = "",
        suspended: tuple[str, str] | None = None,
    ) -> Handoff:
        """Create an open hand-off with a new id that is easy to type.

        If the flow run is to be suspended, ``suspended`` holds the id of this attempt and the digest of the question.
        """
        check_choices(choices)
        opened = datetime.now(UTC)
        values: dict[str, Any] = {
            "id": _new_id(),
            "run_id": run_id,
            "flow_run_id": flow_run_id,
            "api_url": api_url,
            "trace": trace,
            "token": token,
            "question": question,
            "choices": json.dumps(list(choices), ensure_ascii=False),
            "picture": picture,
            "live": live,
            "host": socket.gethostname(),
            "opened_at": opened.isoformat(timespec="seconds"),
            "expires_at": (opened + timedelta(seconds=timeout_s)).isoformat(timespec="seconds"),
            **dict.fromkeys(("closed_at", "choice", "note", "by"), ""),
        }
        with self._store.transaction() as db:
            now_s = self._store.now_s(db)
            values |= {"era": self._store.era, "expires_s": now_s + timeout_s, "heard_s": now_s, "state": "open"}
            db.execute(sa.insert(HANDOFFS).values(**values))
            if suspended:
                asker, asked = suspended
                row = {"handoff": values["id"], "flow_run_id": flow_run_id, "asker": asker, "asked": asked}
                db.execute(sa.insert(SUSPENSIONS).values(**row, attempt=_NONE))
            return self._read(db, values["id"])

    def answer(self, id: str, choice: str, *, note: str = "", by: str, taken: bool = False) -> Handoff:
        """Record an answer; the first one wins.

        Raises `InvalidUsage` for an invalid answer, or if the hand-off is closed. ``taken`` is true if Prefect has
        already accepted the answer for a suspended run. The deadline was checked by Prefect then, and is not checked
        here.
        """
        with self._store.transaction() as db:
            found = self._read(db, id)
            note = check_answer(found, choice, note, by)
            # The conditions are part of the UPDATE, so that only one of two concurrent answers succeeds.
            in_time = sa.and_(_ROW.era == self._store.era, _ROW.expires_s > self._store.now_s(db))
            matching = sa.and_(_ROW.id == found.id, _OPEN, sa.true() if taken else in_time)
            changes = {"state": "answered", "choice": choice, "note": note, "by": by, "live": "", "closed_at": _now()}
            if db.execute(sa.update(HANDOFFS).where(matching).values(**changes)).rowcount != 1:
                raise InvalidUsage(too_late(self._read(db, id)))
            return self._read(db, id)

    def close(self, id: str, state: State) -> bool:
        """Close a hand-off without an answer; return whether it was open."""
        with self._store.transaction() as db:
            row = sa.update(HANDOFFS).where(_ROW.id == id, _OPEN)
            return db.execute(row.values(state=state, live="", closed_at=_now())).rowcount == 1

    def renew_wait(self, id: str) -> None:
        """Record that a process still waits for the answer."""
        with self._store.transaction() as db:
            now_s = self._store.now_s(db)
            db.execute(sa.update(HANDOFFS).where(_ROW.id == id, _OPEN).values(heard_s=now_s))

    def find(self, id: str) -> Handoff:
        """Return a hand-off. Raises `InvalidUsage` if the id is unknown."""
        with self._store.transaction() as db:
            return self._read(db, id)

    def waiting(self) -> list[Handoff]:
        """Return the hand-offs that can be answered, oldest first."""
        with self._store.transaction() as db:
            in_time = sa.and_(_ROW.era == self._store.era, _ROW.expires_s > self._store.now_s(db))
            # A suspended run survives a restart of this machine, so its deadline is in wall-clock time.
            suspended = sa.and_(SUSPENSIONS.c.handoff.is_not(None), _ROW.expires_at > _now())
            matching = (_OPEN, sa.or_(in_time, suspended))
            rows = db.execute(_ALL.where(*matching).order_by(_ROW.opened_at, _ROW.id)).all()
            return [self._handoff(row, self._store.now_s(db)) for row in rows]

    def unanswered(self, flow_run_id: str, attempt: str) -> list[Handoff]:
        """Return the open hand-offs with which earlier attempts of a flow run suspended it."""
        with self._store.transaction() as db:
            mine = sa.and_(SUSPENSIONS.c.flow_run_id == flow_run_id, SUSPENSIONS.c.asker != attempt)
            return [self._handoff(row, self._store.now_s(db)) for row in db.execute(_ALL.where(mine, _OPEN)).all()]

    def answer_for(self, flow_run_id: str, attempt: str, question: str, *, begun: bool) -> Handoff | None:
        """Return the answered hand-off of a suspended flow run for this attempt to continue with, or ``None``.

        An attempt that was ``begun`` by an answer also takes over the answers that earlier attempts of the flow run
        had. A retry was not begun by an answer: it voids all earlier answers, and asks every question again.
        """
        mine = sa.and_(SUSPENSIONS.c.flow_run_id == flow_run_id, SUSPENSIONS.c.attempt != _OVER)
        answered = SUSPENSIONS.c.handoff.in_(sa.select(_ROW.id).where(_ROW.state == "answered"))
        with self._store.transaction() as db:
            rows = sa.select(SUSPENSIONS).where(mine, answered).order_by(SUSPENSIONS.c.handoff).with_for_update()
            held = [row.handoff for row in db.execute(rows).all() if row.attempt != attempt]
            taken = sa.update(SUSPENSIONS).where(SUSPENSIONS.c.handoff.in_(held))
            db.execute(taken.values(attempt=attempt if begun else _OVER))
            matching = (mine, SUSPENSIONS.c.attempt == attempt, SUSPENSIONS.c.asked == question)
            newest = _ALL.where(*matching).order_by(_ROW.closed_at.desc(), _ROW.id).limit(1)
            found = db.execute(newest).one_or_none()
            return self._handoff(found, self._store.now_s(db)) if found else None

    def _read(self, db: sa.Connection, id: str) -> Handoff:
        name = id.strip().lower()
        # An id with other characters does not exist, and the database might refuse them.
        row = db.execute(_ALL.where(_ROW.id == name)).one_or_none() if name.isascii() and name.isprintable() else None
        if row is None:
            raise InvalidUsage(f"There is no hand-off {id!r}; `holo-tasks handoff list` shows the open ones.")
        return self._handoff(row, self._store.now_s(db))

    def _handoff(self, row: sa.Row[Any], now_s: float) -> Handoff:
        values = {name: value for name, value in row._mapping.items() if name in Handoff.__dataclass_fields__}
        suspended = row.handoff is not None
        past = row.expires_at <= _now() if suspended else row.era != self._store.era or row.expires_s <= now_s
        state: State = "expired" if row.state == "open" and past else row.state
        away = row.era != self._store.era or row.heard_s < now_s - GONE_S
        lost = row.state == "open" and away and not suspended
        computed = {"choices": tuple(json.loads(row.choices)), "state": state, "lost": lost, "suspended": suspended}
        return Handoff(**{**values, **computed})


def waiting_handoffs(home: Path | None = None) -> list[Handoff]:
    """Return the hand-offs that wait for an answer, oldest first. `holo-tasks handoff resume ID` answers one.

    ``home`` is the folder of local state, by default HOLO_HOME.
    """
    return Handoffs(store_at(home or holo_home())).waiting()


def check_choices(choices: Sequence[str]) -> None:
    """Raise `InvalidUsage` unless the choices are non-empty, different and short enough."""
    if isinstance(choices, str) or not choices or len(set(choices)) < len(choices):
        raise InvalidUsage("A hand-off needs one or more different choices.")
    if any(not 0 < len(choice.strip()) <= LONGEST_CHOICE for choice in choices):
        raise InvalidUsage(f"A choice has from 1 to {LONGEST_CHOICE} characters.")


def check_answer(handoff: Handoff, choice: str, note: str, by: str) -> str:
    """Return the stripped note. Raises `InvalidUsage` if the answer is not valid for the hand-off."""
    note = note.strip()
    if len(note) > LONGEST_NOTE:
        raise InvalidUsage(f"The note has {len(note)} characters; {LONGEST_NOTE} is the limit.")
    if any("\ud800" <= character <= "\udfff" or character == "\0" for character in note + by + choice):
        raise InvalidUsage("The answer is not valid UTF-8 text, or holds a NUL.")
    if choice not in handoff.choices:
        raise InvalidUsage(f"{choice!r} is not a choice of this hand-off; choose {words(handoff.choices)}.")
    return note


def words(choices: Sequence[str]) -> str:
    """Return the choices as a phrase for a sentence: ‘a’, ‘b’ or ‘c’."""
    *before, last = [f"‘{choice}’" for choice in choices]
    return f"{', '.join(before)} or {last}" if before else last


def too_late(handoff: Handoff) -> str:
    """Return the error text for an answer to a closed hand-off."""
    match handoff.state:
        case "answered":
            how = f"was answered already: ‘{handoff.choice}’ by {handoff.by}, {handoff.closed_at}"
        case "expired":
            how = f"was not answered in time; it ended {handoff.closed_at or handoff.expires_at}"
        case state:
            how = f"is over: its run was {state}, {handoff.closed_at}"
    return f"Hand-off {handoff.id} {how}; `holo-tasks handoff list` shows the open ones."


def _new_id() -> str:
    drawn = "".join(secrets.choice(_LETTERS) for _ in range(8))
    return f"{drawn[:4]}-{drawn[4:]}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
