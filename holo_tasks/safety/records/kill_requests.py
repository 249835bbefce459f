"""Requests to stop runs on other machines, in the shared database, and the confirmations that they stopped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from holo_tasks.safety.database.store import TABLES, Prose, Store

KILLS = sa.Table(
    "kills",
    TABLES,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.Text, nullable=False),  # empty for all runs
    sa.Column("reason", Prose, nullable=False),
    sa.Column("era", sa.Text, nullable=False),
    sa.Column("at_s", sa.Float, nullable=False),
)
STOPPED = sa.Table(
    "stopped",
    TABLES,
    sa.Column("kill_id", sa.BigInteger, primary_key=True),
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class Kill:
    """A request to stop that applies to a run."""

    id: int
    reason: str


class Kills:
    """Kill requests and their confirmations. Times are on the database's clock (`Store.now_s`)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def now_s(self) -> float:
        """Return the time on the database's clock."""
        with self._store.transaction() as connection:
            return self._store.now_s(connection)

    def ask(self, run_id: str, reason: str) -> int:
        """Request that a run stops, or all runs that have begun if ``run_id`` is empty; return the request's number."""
        with self._store.transaction() as connection:
            at_s = self._store.now_s(connection)
            values = {"run_id": run_id, "reason": reason, "era": self._store.era, "at_s": at_s}
            return int(connection.execute(KILLS.insert().values(values).returning(KILLS.c.id)).scalar_one())

    def find_request(self, run_id: str, flow_run_ids: Iterable[str], began_s: float) -> Kill | None:
        """Return a request for a run, or ``None``.

        A request matches the run's own id at any time. It matches one of the flow run ids, or all runs, only if it was
        made at or after ``began_s``. A retried flow run keeps its id, so an earlier request was for an earlier attempt.
        """
        since = (KILLS.c.era == self._store.era) & (KILLS.c.at_s >= began_s)
        to_more = KILLS.c.run_id.in_({"", *flow_run_ids}) & since
        wanted = sa.select(KILLS.c.id, KILLS.c.reason).where((KILLS.c.run_id == run_id) | to_more).limit(1)
        with self._store.transaction() as connection:
            found = connection.execute(wanted).one_or_none()
        return Kill(found.id, found.reason) if found else None

    def answer(self, kill: Kill, run_id: str, host: str) -> None:
        """Confirm that the input of a run on a host has stopped. Repeated confirmations are ignored."""
        with self._store.transaction() as connection:
            same = (STOPPED.c.kill_id == kill.id) & (STOPPED.c.run_id == run_id)
            if connection.execute(sa.select(STOPPED.c.host).where(same)).one_or_none() is None:
                connection.execute(STOPPED.insert().values(kill_id=kill.id, run_id=run_id, host=host))

    def answers(self, kill_id: int) -> dict[str, str]:
        """Return the stopped runs of a request, with their hosts."""
        wanted = sa.select(STOPPED.c.run_id, STOPPED.c.host).where(STOPPED.c.kill_id == kill_id)
        with self._store.transaction() as connection:
            return {row.run_id: row.host for row in connection.execute(wanted)}
