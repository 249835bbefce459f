"""Protect a business item's effects: find the journal, probe for earlier effects, and hand unclear cases to a person.

`look_for_effect` decides whether interrupted work may be repeated. `left_to_person` and `not_untouched` change errors
that would hide an action. `business_item` and `subgoal_context` use them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from holo_tasks.audit.errors import EvidenceFailed
from holo_tasks.core.errors import HoloError, InvalidUsage, NeedsPerson, StoreLost, Unavailable
from holo_tasks.core.limits.budget import Guard
from holo_tasks.core.ports import Journal
from holo_tasks.core.texts.visible_text import shell_word
from holo_tasks.safety.records.ledger import Claim


class NotDone:
    """The result of a probe that is certain the effect did not happen."""

    def __repr__(self) -> str:
        return "NOT_DONE"


NOT_DONE: Final = NotDone()
Probe = Callable[[], Awaitable[Any]]
_journal: ContextVar[Journal | None] = ContextVar("holo_journal", default=None)


def current_journal() -> Journal | None:
    """Return the journal for the intents of actions, or ``None`` if the work has no business item."""
    return _journal.get()


@contextmanager
def journalled(journal: Journal | None) -> Iterator[None]:
    """Use a journal, or none, for the actions inside the block."""
    mark = _journal.set(journal)
    try:
        yield
    finally:
        _journal.reset(mark)


@contextmanager
def left_to_person(claim: Claim) -> Iterator[None]:
    """Raise `NeedsPerson` if a server or evidence failure stopped the work after an action had begun.

    If no action had begun, the error passes unchanged and the work can be run again. Other usage errors pass unchanged,
    but are marked ``half_done``.
    """
    try:
        yield
    except HoloError as error:
        if not claim.begun or error.status not in ("invalid", Unavailable.status):
            raise
        if isinstance(error, EvidenceFailed | StoreLost | Unavailable):
            raise NeedsPerson(_half_done(claim, error)) from error
        error.half_done = True
        raise


@contextmanager
def not_untouched(scope: Guard | None, *, since: int = 0, alone: bool = False) -> Iterator[None]:
    """Replace an `Unavailable` error after an action, since `Unavailable` promises that nothing was done.

    ``scope`` counts the actions, and ``since`` is its count at the start. Work that is ``alone`` has no business item
    that would inform a later attempt: it raises `NeedsPerson`. Other work raises `StoreLost` or `InvalidUsage`. With a
    journal the error passes unchanged, because `left_to_person` handles it.
    """
    try:
        yield
    except Unavailable as error:
        done = scope.actions - since if scope else 0
        if not done or current_journal() is not None:
            raise
        if alone:
            why = f"This stopped the work after {_count(done)}: look at the program."
            raise NeedsPerson(f"{error} {why}") from error
        mistake = StoreLost(str(error)) if isinstance(error, StoreLost) else InvalidUsage(str(error))
        mistake.__dict__.update(error.__dict__)  # keeps the marks for the dead-letter list and the typed text
        raise mistake from error


async def look_for_effect(claim: Claim, probe: Probe | None) -> Any:
    """Return the result of an earlier attempt, or `NOT_DONE` if it certainly had no effect.

    Raises `NeedsPerson` if the probe is missing or cannot tell. Then nothing is repeated.
    """
    if not claim.earlier:
        return NOT_DONE
    found = None
    if probe is not None:
        with journalled(None):
            found = await probe()
    if found is None:
        raise NeedsPerson(in_doubt(claim))
    if found is NOT_DONE:
        claim.ledger.delete_intents(claim)
    return found


def in_doubt(claim: Claim) -> str:
    """Return a message about an interrupted earlier attempt and the commands that resolve it."""
    last = claim.earlier[-1]
    state = "was done" if last.done else "may have been done or not"
    evidence = f" (evidence: {last.trace})" if last.trace else ""
    return (
        f"An earlier attempt at {claim.token!r} was interrupted after {len(claim.earlier)} actions; the last one, "
        f"{last.action}, {state}{evidence}. Nothing was repeated. {_to_do(claim)}"
    )


def _half_done(claim: Claim, error: HoloError) -> str:
    """Return a message that this attempt stopped in the middle, why, and the commands that resolve it."""
    last = list(claim.begun.values())[-1]
    return (
        f"{error} This stopped {claim.token!r} after {_count(len(claim.begun))}. The last one, {last}, may not have "
        f"been done. {_to_do(claim)}"
    )


def _count(actions: int) -> str:
    return "1 action" if actions == 1 else f"{actions} actions"


def _to_do(claim: Claim) -> str:
    item = shell_word(claim.token)
    return f"Look at the program, then: `holo-tasks retry {item} --done` or `--not-done`."
