"""Refuse to retry an item while another flow run for it is still active.

`refuse_active_run` is used by the command that retries items: a second flow run would do the same work again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.kill.run_registry import running
from holo_tasks.safety.database.store import Store
from holo_tasks.safety.records.handoffs import Handoffs, words
from holo_tasks.safety.records.items import WORKER, Item
from holo_tasks.safety.records.ledger import is_at_work
from holo_tasks.safety.records.run_list import RunBook

if TYPE_CHECKING:
    from prefect.client.schemas.objects import FlowRun, State

BEGINS_WITHIN = timedelta(minutes=1)
"""Time within which a starting flow run registers its agent on this machine.

A later flow run without an agent has lost its process. Before that the two look the same, since Prefect shows a dead
run as running.
"""
CANCEL = "To have another one instead, cancel that one first"


def refuse_active_run(item: Item, run: FlowRun, states: Sequence[State[Any]], store: Store, home: Path) -> None:
    """Raise `InvalidUsage` if a flow run of the item waits for a person, waits to start, or is at work.

    ``states`` is the run's state history.
    """
    if run.state is None:
        return
    name = f"Flow run {run.name!r} of {item.token!r}"
    over = run.state.is_final() or run.state.is_paused()
    if not over and any(state.name == "Suspended" for state in states):
        raise InvalidUsage(f"{name} was answered by a person and goes on by itself ({run.state.name}). {CANCEL}.")
    if not over:
        _refuse_at_work(name, item, run, run.state, store, home)
    _refuse_waiting(name, run.state, Handoffs(store))


def _refuse_waiting(name: str, state: State[Any], handoffs: Handoffs) -> None:
    """Raise `InvalidUsage` if the run is suspended until a person answers, and its timeout has not passed."""
    end = state.state_details.pause_timeout
    if not (state.is_paused() and state.state_details.pause_reschedule) or (end and end < datetime.now(UTC)):
        return
    how = "resume it in Prefect's pages"
    with contextlib.suppress(InvalidUsage):  # the run was not suspended by a hand-off of this library
        asked = handoffs.find(state.state_details.pause_key or "")
        how = f"answer with `holo-tasks handoff resume {asked.id} --choice …` ({words(asked.choices)})"
    raise InvalidUsage(f"{name} waits for a person: {how}, and it goes on. {CANCEL}.")


def _refuse_at_work(name: str, item: Item, run: FlowRun, state: State[Any], store: Store, home: Path) -> None:
    """Raise `InvalidUsage` if the run is scheduled, at work, or has begun less than a minute ago."""
    cancel = f"{CANCEL} (`prefect flow-run cancel {run.id}`)"
    if state.is_scheduled():
        raise InvalidUsage(
            f"{name} has yet to begin ({state.name}): it does as soon as its deployment is served. {cancel}."
        )
    alive = _is_alive(item, str(run.id), store, home)
    if alive:
        raise InvalidUsage(f"{name} is at work ({state.name}): wait until it ends, then ask again. {cancel}.")
    if alive is None and datetime.now(UTC) - state.timestamp < BEGINS_WITHIN:
        raise InvalidUsage(
            f"{name} has just begun ({state.name}): wait until it ends, or ask again in a minute if it died. {cancel}."
        )


def _is_alive(item: Item, flow_run: str, store: Store, home: Path) -> bool | None:
    """Return whether a flow run's process is alive, or ``None`` if that is unknown.

    Prefect is not asked: a process that was killed could not report its end.
    """
    if any(here.flow_run_id == flow_run for here in running(home)):
        return True
    # The worker that listed the item may be alive and busy with the next item.
    worker = str(item.how.get(WORKER) or "")
    if worker and (alive := is_at_work(worker)) is not None:
        return alive
    unended = any(row.status == "running" for row in RunBook(store).of_flow_run(flow_run))
    return False if unended else None
