"""Working on a business item under a claim: what earlier attempts did, what is noted, what is left to a person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from holo_tasks.audit.errors import EvidenceFailed
from holo_tasks.core.budget import Guard
from holo_tasks.core.errors import HoloError, InvalidUsage, NeedsPerson, StoreLost, Unavailable
from holo_tasks.core.ports import Journal
from holo_tasks.core.visible_text import shell_word
from holo_tasks.safety.ledger import Claim


class NotDone:
    """What a probe returns when it is certain that the effect did not come about."""

    def __repr__(self) -> str:
        return "NOT_DONE"


NOT_DONE: Final = NotDone()
Probe = Callable[[], Awaitable[Any]]
_journal: ContextVar[Journal | None] = ContextVar("holo_journal", default=None)


def current_journal() -> Journal | None:
    """Return where effects are written down before they are tried; None where there can be none."""
    return _journal.get()


@contextmanager
def journalled(journal: Journal | None) -> Iterator[None]:
    """Write the actions inside into a journal, or into none."""
    mark = _journal.set(journal)
    try:
        yield
    finally:
        _journal.reset(mark)


@contextmanager
def left_to_person(claim: Claim) -> Iterator[None]:
    """Leave to a person what stopped, for want of a server or of evidence, after something may have been done.

    With nothing begun it can simply be run again when they are back. Other mistakes stay what they are, and say that
    something was begun.
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
    """Let nothing that has acted end as `Unavailable`, which says that nothing was done.

    ``scope`` has counted the actions, which were ``since`` so many before. Work that is ``alone``, without a business
    item that would tell a later attempt what was done, is left to a person; other work ends as with any mistake. Where
    a claim writes down what is done, it knows better: see `left_to_person`.
    """
    try:
        yield
    except Unavailable as error:
        done = scope.actions - since if scope else 0
        if not done or current_journal() is not None:
            raise
        if alone:
            why = f"The work was stopped by that after {_count(done)}: look at the program."
            raise NeedsPerson(f"{error} {why}") from error
        mistake = StoreLost(str(error)) if isinstance(error, StoreLost) else InvalidUsage(str(error))
        mistake.__dict__.update(error.__dict__)  # whether it is on the list already, and what was typed
        raise mistake from error


async def look_for_effect(claim: Claim, probe: Probe | None) -> Any:
    """Return what an earlier attempt came to, or `NOT_DONE` if it is certain that it came to nothing.

    Raises `NeedsPerson` when nobody knows: then nothing is done again.
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
        claim.ledger.disregard(claim)
    return found


def in_doubt(claim: Claim) -> str:
    """Say what an earlier attempt did, and what a person can do about it."""
    last = claim.earlier[-1]
    state = "was done" if last.done else "may have been done or not"
    evidence = f" (evidence: {last.trace})" if last.trace else ""
    return (
        f"An earlier attempt at {claim.token!r} was interrupted after {len(claim.earlier)} actions; the last one, "
        f"{last.action}, {state}{evidence}. Nothing was repeated. {_to_do(claim)}"
    )


def _half_done(claim: Claim, error: HoloError) -> str:
    """Say that this attempt stopped in the middle, why, and what a person can do about it."""
    last = list(claim.begun.values())[-1]
    return (
        f"{error} {claim.token!r} was stopped by that after {_count(len(claim.begun))}; whether the last one, {last}, "
        f"was done is not certain. {_to_do(claim)}"
    )


def _count(actions: int) -> str:
    return "1 action" if actions == 1 else f"{actions} actions"


def _to_do(claim: Claim) -> str:
    item = shell_word(claim.token)
    return f"Look at the program, then: `holo-tasks retry {item} --done` or `--not-done`."
