"""How servers bill, in the shared database, and who may be the first to find out."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from holo_tasks.core.overbilling import Overbilling
from holo_tasks.safety.store import TABLES, Store, add

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
    """Keeps for each meter what its bills have told, and before there was one, the call that is to bring it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, db: sa.Connection, meter: str) -> tuple[Overbilling, str] | None:
        """Return what is known; or nothing, and a name for the call that is to find out; None while another does."""
        row = db.execute(sa.select(METERS).where(METERS.c.meter == meter)).one_or_none()
        if row is not None and row.known:
            return Overbilling(row.prompt, row.completion, row.longest), ""
        now_s, era = self._store.now_s(db), self._store.era
        unknown = {"known": False, "prompt": 1.0, "completion": 1.0, "longest": 0, "first": ""}
        add(db, METERS, meter=meter, era=era, heard_s=now_s, **unknown)
        gone = sa.or_(METERS.c.first == "", METERS.c.era != era, METERS.c.heard_s < now_s - STALE_S)
        mine = sa.and_(METERS.c.meter == meter, ~METERS.c.known, gone)
        first = secrets.token_hex(8)
        taken = db.execute(sa.update(METERS).where(mine).values(first=first, era=era, heard_s=now_s))
        return (Overbilling(), first) if taken.rowcount == 1 else None

    def still_out(self, meter: str, first: str) -> None:
        """Say that the call which is to find out is still being made."""
        with self._store.transaction() as db:
            db.execute(_of(meter, first).values(heard_s=self._store.now_s(db), era=self._store.era))

    def give_up(self, meter: str, first: str) -> None:
        """Let another call find out."""
        with self._store.transaction() as db:
            db.execute(_of(meter, first).values(first=""))

    def learn(self, meter: str, seen: Overbilling) -> None:
        """Add what a bill tells."""
        with self._store.transaction() as db:
            row = db.execute(sa.select(METERS).where(METERS.c.meter == meter).with_for_update()).one_or_none()
            told = seen if row is None else Overbilling(row.prompt, row.completion, row.longest).after(seen)
            values = {"known": True, "first": "", "prompt": told.prompt, "completion": told.completion}
            db.execute(sa.update(METERS).where(METERS.c.meter == meter).values(longest=told.longest, **values))


def _of(meter: str, first: str) -> sa.Update:
    return sa.update(METERS).where(METERS.c.meter == meter, METERS.c.first == first)
