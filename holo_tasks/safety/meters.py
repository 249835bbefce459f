"""How servers bill, in the shared database, and who may be the first to find out."""

from __future__ import annotations

import secrets
from typing import Any

import sqlalchemy as sa

from holo_tasks.core.overbilling import ALONE_S, Overbilling
from holo_tasks.safety.store import PATIENCE_S, TABLES, Store, add

STALE_S = 6.0
"""Who was to find out, and has not been heard of for so long, is gone."""
METERS = sa.Table(
    "meters",
    TABLES,
    sa.Column("meter", sa.Text, primary_key=True),
    sa.Column("known", sa.Boolean, nullable=False),
    sa.Column("prompt", sa.Float, nullable=False),
    sa.Column("completion", sa.Float, nullable=False),
    sa.Column("longest", sa.BigInteger, nullable=False),
    sa.Column("first", sa.Text, nullable=False),
    sa.Column("era", sa.Text, nullable=False),
    sa.Column("heard_s", sa.Float, nullable=False),
)


class Meters:
    """Keeps for each meter what its bills have told, and before there was one, the call that is to bring it.

    ``heard_s`` is when something was heard of the call that finds out, or else when the last bill was too high. Time by
    itself makes no excess smaller: those who share a budget would all believe it, and go over it together.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, db: sa.Connection, meter: str) -> tuple[Overbilling, str] | None:
        """Return what is known; or nothing, and a name for the call that is to find out; None while another does."""
        row = db.execute(sa.select(METERS).where(METERS.c.meter == meter)).one_or_none()
        if row is not None and row.known:
            return _told(row), ""
        add(db, METERS, meter=meter, **self._unknown(db))
        row, now_s = self._locked(db, meter)
        if row.known:
            return _told(row), ""
        if row.first and self._silence_s(row, now_s) <= STALE_S:
            return None
        return Overbilling(), self._find_out(db, meter, now_s)

    def alone(self, db: sa.Connection, meter: str) -> str | None:
        """Return a name for the call that is to find out whether a server still bills too much.

        Empty so soon after it did, None while another call finds out.
        """
        row, now_s = self._locked(db, meter)
        silence_s = self._silence_s(row, now_s)
        if row.first and silence_s <= STALE_S:
            return None
        return self._find_out(db, meter, now_s) if silence_s >= ALONE_S else ""

    def still_out(self, meter: str, first: str) -> None:
        """Say that the call which is to find out is still being made."""
        with self._store.transaction() as db:
            db.execute(_of(meter, first).values(heard_s=self._store.now_s(db), era=self._store.era))

    def give_up(self, meter: str, first: str, *, doubtful: bool = False) -> None:
        """Let another call find out: at once, unless this one has perhaps been billed too much."""
        with self._store.transaction() as db:
            heard_s = self._store.now_s(db) - (0 if doubtful else ALONE_S)
            db.execute(_of(meter, first).values(first="", heard_s=heard_s, era=self._store.era))

    def learn(self, meter: str, seen: Overbilling, first: str = "", patience_s: float = PATIENCE_S) -> None:
        """Add what a bill tells; ``first`` names the call if it was to find out."""

        def learn(db: sa.Connection) -> None:
            add(db, METERS, meter=meter, **self._unknown(db))
            row, now_s = self._locked(db, meter)
            told, heard_s, era = _told(row).after(seen), row.heard_s, row.era
            if seen.any:
                heard_s, era = now_s, self._store.era
            elif row.known and first and row.first == first:
                # It was asked for: others follow, one at a time for as long as they cannot afford what is left.
                told, heard_s, era = told.halved(), now_s - ALONE_S, self._store.era
            waits = row.first if row.known and row.first != first else ""
            values: dict[str, Any] = {"prompt": told.prompt, "completion": told.completion, "longest": told.longest}
            values |= {"known": True, "first": waits, "heard_s": heard_s, "era": era}
            if any(getattr(row, name) != value for name, value in values.items()):
                db.execute(sa.update(METERS).where(METERS.c.meter == meter).values(**values))

        self._store.do(learn, patience_s)

    def _unknown(self, db: sa.Connection) -> dict[str, Any]:
        heard = {"heard_s": self._store.now_s(db), "era": self._store.era}
        return {"known": False, "prompt": 1.0, "completion": 1.0, "longest": 0, "first": "", **heard}

    def _locked(self, db: sa.Connection, meter: str) -> tuple[sa.Row[Any], float]:
        """Return the row of a meter, which nobody else changes now, and the time."""
        row = db.execute(sa.select(METERS).where(METERS.c.meter == meter).with_for_update()).one()
        return row, self._store.now_s(db)

    def _find_out(self, db: sa.Connection, meter: str, now_s: float) -> str:
        first = secrets.token_hex(8)
        values = {"first": first, "era": self._store.era, "heard_s": now_s}
        db.execute(sa.update(METERS).where(METERS.c.meter == meter).values(**values))
        return first

    def _silence_s(self, row: sa.Row[Any], now_s: float) -> float:
        """Return for how long nothing was heard; long enough to ask where no clock can tell."""
        told = row.era == self._store.era and row.heard_s <= now_s
        return now_s - float(row.heard_s) if told else ALONE_S


def _told(row: sa.Row[Any]) -> Overbilling:
    return Overbilling(row.prompt, row.completion, row.longest)


def _of(meter: str, first: str) -> sa.Update:
    return sa.update(METERS).where(METERS.c.meter == meter, METERS.c.first == first)
