"""Record by the digest of its values that a playbook began and ended. A second time is refused or reported."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from holo_tasks.safety.database.store import Store
from holo_tasks.safety.records.ledger import FINISHED, Finished

GOAL = "replay"
"""The goal of these rows in the ledger's table, which separates them from those of business items."""
BEGUN = "replay begun"
"""The goal of the rows of replays that began and did not report their end."""


@dataclass(frozen=True)
class Interrupted(Finished):
    """The start of a replay that did not report its end, as its result. Its effect is unknown, and so is its trace."""


def find_replay(store: Store, digest: str) -> Finished | None:
    """Return the time of the last replay with a digest, as its result, and its trace; ``None`` without one.

    A replay that began later and did not report its end comes first.
    """
    with store.transaction() as db:
        rows = db.execute(sa.select(FINISHED).where(FINISHED.c.token == digest, FINISHED.c.goal.in_((GOAL, BEGUN))))
        found = {row.goal: row for row in rows}
    if BEGUN in found:
        return Interrupted(found[BEGUN].result, "")
    return Finished(found[GOAL].result, found[GOAL].trace) if GOAL in found else None


def begin_replay(store: Store, digest: str, at: str) -> None:
    """Record that a replay begins."""
    _replace(store, digest, (BEGUN,), BEGUN, at, "")


def end_replay(store: Store, digest: str) -> None:
    """Remove the record of a replay that began, because its end is known."""
    store.do(lambda db: db.execute(sa.delete(FINISHED).where(FINISHED.c.token == digest, FINISHED.c.goal == BEGUN)))


def keep_replay(store: Store, digest: str, at: str, trace: str) -> None:
    """Record a replay in place of an earlier one with the same digest, and of its own start."""
    _replace(store, digest, (GOAL, BEGUN), GOAL, at, trace)


def _replace(store: Store, digest: str, old: tuple[str, ...], goal: str, at: str, trace: str) -> None:
    def replace(db: sa.Connection) -> None:
        db.execute(sa.delete(FINISHED).where(FINISHED.c.token == digest, FINISHED.c.goal.in_(old)))
        db.execute(sa.insert(FINISHED).values(token=digest, goal=goal, inputs=digest, result=at, trace=trace))

    store.do(replace)
