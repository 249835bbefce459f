"""Persist how model servers bill, and elect the single call that measures an unknown server.

A meter is one model at one host. `Meters` is used by `safety.records.budgets` within its transactions.
"""

from __future__ import annotations

import secrets
from typing import Any

import sqlalchemy as sa

from holo_tasks.core.limits.overbilling import RETEST_S, Overbilling
from holo_tasks.safety.database.store import PATIENCE_S, TABLES, Store, add

STALE_S = 6.0
"""A probe call that was not renewed for this long, in seconds, counts as dead."""
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
    """Table of the observed overbilling for each meter, and of the probe call that is to measure it.

    ``heard_s`` is the time of the last sign of life of the probe call. Without a probe call, it is the time of the last
    bill that was too high. An observed excess does not decay with time. If it did, all runs that share a budget would
    trust the server again at once, and exceed the budget together.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, db: sa.Connection, meter: str) -> tuple[Overbilling, str] | None:
        """Return the known overbilling, or the name of a new probe call, or ``None`` while another probe call is out.

        The second element of the pair is the name of the probe call; it is empty if the overbilling is known.
        """
        row = db.execute(sa.select(METERS).where(METERS.c.meter == meter)).one_or_none()
        if row is not None and row.known:
            return _overbilling_of(row), ""
        add(db, METERS, meter=meter, **self._unmeasured_row(db))
        row, now_s = self._lock_row(db, meter)
        if row.known:
            return _overbilling_of(row), ""
        if row.first and self._idle_s(row, now_s) <= STALE_S:
            return None
        return Overbilling(), self._begin_probe(db, meter, now_s)

    def alone(self, db: sa.Connection, meter: str) -> str | None:
        """Return the name of a new probe call that checks whether a server still bills too much.

        Returns an empty string if the last check was less than `RETEST_S` ago, and ``None`` while another probe call is
        out.
        """
        row, now_s = self._lock_row(db, meter)
        silence_s = self._idle_s(row, now_s)
        if row.first and silence_s <= STALE_S:
            return None
        return self._begin_probe(db, meter, now_s) if silence_s >= RETEST_S else ""

    def renew(self, meter: str, first: str) -> None:
        """Renew a probe call that has not returned yet."""
        with self._store.transaction() as db:
            db.execute(_update_probe(meter, first).values(heard_s=self._store.now_s(db), era=self._store.era))

    def give_up(self, meter: str, first: str, *, doubtful: bool = False) -> None:
        """End a probe call without a bill. The next one may begin at once.

        A ``doubtful`` call may have been billed too much, so `alone` allows the next check only after `RETEST_S`.
        """
        with self._store.transaction() as db:
            heard_s = self._store.now_s(db) - (0 if doubtful else RETEST_S)
            db.execute(_update_probe(meter, first).values(first="", heard_s=heard_s, era=self._store.era))

    def learn(self, meter: str, seen: Overbilling, first: str = "", patience_s: float = PATIENCE_S) -> None:
        """Add the overbilling of one bill. ``first`` is the name of the probe call that brought it, or empty."""

        def learn(db: sa.Connection) -> None:
            add(db, METERS, meter=meter, **self._unmeasured_row(db))
            row, now_s = self._lock_row(db, meter)
            estimate, heard_s, era = _overbilling_of(row).after_bill(seen), row.heard_s, row.era
            if seen.is_expected:
                heard_s, era = now_s, self._store.era
            elif row.known and first and row.first == first:
                # A check found no excess: halve the estimate, and allow the next check at once.
                estimate, heard_s, era = estimate.after_clean_probe(), now_s - RETEST_S, self._store.era
            waits = row.first if row.known and row.first != first else ""
            values: dict[str, Any] = {
                "prompt": estimate.prompt,
                "completion": estimate.completion,
                "longest": estimate.longest,
            }
            values |= {"known": True, "first": waits, "heard_s": heard_s, "era": era}
            if any(getattr(row, name) != value for name, value in values.items()):
                db.execute(sa.update(METERS).where(METERS.c.meter == meter).values(**values))

        self._store.do(learn, patience_s)

    def _unmeasured_row(self, db: sa.Connection) -> dict[str, Any]:
        heard = {"heard_s": self._store.now_s(db), "era": self._store.era}
        return {"known": False, "prompt": 1.0, "completion": 1.0, "longest": 0, "first": "", **heard}

    def _lock_row(self, db: sa.Connection, meter: str) -> tuple[sa.Row[Any], float]:
        """Lock the row of a meter; return the row and the database's time."""
        row = db.execute(sa.select(METERS).where(METERS.c.meter == meter).with_for_update()).one()
        return row, self._store.now_s(db)

    def _begin_probe(self, db: sa.Connection, meter: str, now_s: float) -> str:
        first = secrets.token_hex(8)
        values = {"first": first, "era": self._store.era, "heard_s": now_s}
        db.execute(sa.update(METERS).where(METERS.c.meter == meter).values(**values))
        return first

    def _idle_s(self, row: sa.Row[Any], now_s: float) -> float:
        """Return the seconds since the last sign of life, or `RETEST_S` if the two times cannot be compared."""
        comparable = row.era == self._store.era and row.heard_s <= now_s
        return now_s - float(row.heard_s) if comparable else RETEST_S


def _overbilling_of(row: sa.Row[Any]) -> Overbilling:
    return Overbilling(row.prompt, row.completion, row.longest)


def _update_probe(meter: str, first: str) -> sa.Update:
    return sa.update(METERS).where(METERS.c.meter == meter, METERS.c.first == first)
