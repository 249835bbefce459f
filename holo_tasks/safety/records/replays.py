"""Record by the digest of its values that a playbook was done, so that a second time is refused or reported."""

from __future__ import annotations

import sqlalchemy as sa

from holo_tasks.safety.database.store import Store
from holo_tasks.safety.records.ledger import FINISHED, Finished

GOAL = "replay"
"""The goal of these rows in the ledger's table, which separates them from those of business items."""


def find_replay(store: Store, digest: str) -> Finished | None:
    """Return the time of the last replay with a digest, as its result, and its trace; ``None`` without one."""
    with store.transaction() as db:
        row = db.execute(sa.select(FINISHED).where(FINISHED.c.token == digest, FINISHED.c.goal == GOAL)).one_or_none()
    return None if row is None else Finished(row.result, row.trace)


def keep_replay(store: Store, digest: str, at: str, trace: str) -> None:
    """Record a replay in place of an earlier one with the same digest."""

    def keep(db: sa.Connection) -> None:
        db.execute(sa.delete(FINISHED).where(FINISHED.c.token == digest, FINISHED.c.goal == GOAL))
        db.execute(sa.insert(FINISHED).values(token=digest, goal=GOAL, inputs=digest, result=at, trace=trace))

    store.do(keep)
