"""Table of all runs in the shared database: title, model, status, cost and limit. `RunBook` reads and writes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from holo_tasks.safety.database.store import HURRY_S, TABLES, Prose, Store

RUNS = sa.Table(
    "runs",
    TABLES,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("title", Prose, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", Prose, nullable=False),
    sa.Column("steps", sa.BigInteger, nullable=False),
    sa.Column("spent_micro", sa.BigInteger),
    sa.Column("limit_micro", sa.BigInteger),
    sa.Column("trace", sa.Text, nullable=False),
    sa.Column("flow_run_id", sa.Text, nullable=False),
    sa.Column("began", sa.Text, nullable=False),
    sa.Column("ended", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class RunRow:
    """One row of the run table.

    ``status`` is "running" until the run ends. ``spent_micro`` and ``limit_micro`` are micro-USD. ``spent_micro`` is
    ``None`` if the price of a model was unknown. ``began`` and ``ended`` are RFC 3339 times in UTC; ``ended`` is empty
    while the run lasts.
    """

    run_id: str
    title: str
    model: str
    status: str
    reason: str
    steps: int
    spent_micro: int | None
    limit_micro: int | None
    trace: str
    flow_run_id: str
    began: str
    ended: str


class RunBook:
    """Reader and writer of the run table."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check(self) -> None:
        """Raise `StoreLost` if the database cannot be used."""
        with self._store.transaction():
            pass

    def began(
        self, run_id: str, *, title: str, model: str, limit_micro: int | None, trace: str, flow_run_id: str
    ) -> None:
        """Insert a run with status "running"."""
        with self._store.transaction() as db:
            db.execute(
                sa.insert(RUNS).values(
                    run_id=run_id,
                    title=title,
                    model=model,
                    status="running",
                    reason="",
                    steps=0,
                    spent_micro=0,
                    limit_micro=limit_micro,
                    trace=trace,
                    flow_run_id=flow_run_id,
                    began=_now(),
                    ended="",
                )
            )

    def ended(self, run_id: str, *, status: str, reason: str, steps: int, spent_micro: int | None) -> None:
        """Record the outcome of a run and its end time."""
        values = {"status": status, "reason": reason, "steps": steps, "spent_micro": spent_micro, "ended": _now()}
        with self._store.transaction() as db:
            db.execute(sa.update(RUNS).where(RUNS.c.run_id == run_id).values(**values))

    def latest(self, most: int) -> list[RunRow]:
        """Return the ``most`` newest runs, newest first."""
        with self._store.transaction() as db:
            rows = db.execute(sa.select(RUNS).order_by(RUNS.c.began.desc(), RUNS.c.run_id.desc()).limit(most)).all()
        return [RunRow(**row._mapping) for row in rows]

    def running(self) -> list[RunRow]:
        """Return the runs with status "running", newest first.

        A run whose process died without closing it is among them.
        """
        open_ones = sa.select(RUNS).where(RUNS.c.status == "running")
        with self._store.transaction(HURRY_S) as db:
            rows = db.execute(open_ones.order_by(RUNS.c.began.desc(), RUNS.c.run_id.desc())).all()
        return [RunRow(**row._mapping) for row in rows]

    def of_flow_run(self, flow_run_id: str) -> list[RunRow]:
        """Return the runs of a Prefect flow run, in no particular order."""
        with self._store.transaction() as db:
            rows = db.execute(sa.select(RUNS).where(RUNS.c.flow_run_id == flow_run_id)).all()
        return [RunRow(**row._mapping) for row in rows]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
