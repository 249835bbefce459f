"""Look transactions up on the screen: by a compiled playbook, by the model, and by a script if the model gives up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from pathlib import Path

from holo_tasks import GaveUp, InvalidUsage, Script, SubgoalOptions, cost_guardrail, named_file, pursue, subgoal
from receipts.ledger_record import PROGRAM, SIGN_ON_AGAIN, PortalRecord

SCRIPTS = Path(__file__).parents[1] / "reading_records.playbook.yaml"
"""Playbook that reads a record if the model gives up."""
GOAL = f"Open the transaction in {PROGRAM} whose reference the data names, and read its record. {SIGN_ON_AGAIN}"
"""The goal has no text from the mail, so a mail cannot give instructions."""
EXAMPLE = "TX-10000"
_playbook: ContextVar[Path | None] = ContextVar("look_up_playbook", default=None)


@asynccontextmanager
async def learned(name: str | None) -> AsyncIterator[None]:
    """Use the playbook with this name for look-ups inside, if a name is given. It comes before the model.

    Raises `InvalidUsage` if the playbook does not exist, or needs more than a reference.
    """
    with looked_up_by(named_file(name, ".yaml") if name else None):
        yield


@contextmanager
def looked_up_by(path: Path | None) -> Iterator[None]:
    """Use the playbook in this file for look-ups inside, if a file is given. Raises the errors of `learned`."""
    if path is not None:
        try:
            Script(path, reference=EXAMPLE)
        except InvalidUsage as error:
            raise InvalidUsage(f"The playbook {path} does not look transactions up. {error}") from None
    mark = _playbook.set(path)
    try:
        yield
    finally:
        _playbook.reset(mark)


def reading(reference: str, token: str = "") -> Script:
    """Return the script that reads a record: the last layer of a look-up."""
    return Script(SCRIPTS, "read-record", reference=reference)


async def read_on_screen(reference: str) -> PortalRecord:
    """Return the record of a transaction. Call it in a sub-goal with ``reference`` as data."""
    if (path := _playbook.get()) is None:
        found: PortalRecord = await pursue(GOAL, returns=PortalRecord)
        return found
    first = SubgoalOptions(layers=[Script(path, reference=reference), "model"])
    try:
        found = await pursue(GOAL, returns=PortalRecord, options=first)
    except GaveUp:
        found = await pursue(GOAL, returns=PortalRecord, options=SubgoalOptions(layers=[reading(reference)]))
    return found


@subgoal(title="Look again at {reference}", data=["reference"], effect=None, layers=["model", reading])
@cost_guardrail(max_cost_usd=0.25, max_actions=40, timeout_seconds=240)
async def read_record(reference: str) -> PortalRecord:
    """Return the current record of a transaction, without use of earlier results."""
    return await read_on_screen(reference)
