"""A suspended Prefect flow run is begun again with a person's answer: Prefect takes the first one, and keeps it."""

from __future__ import annotations

import asyncio
import itertools
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.input import keyset_from_paused_state
from prefect.settings import get_current_settings
from prefect.states import Suspended
from pydantic import ValidationError

from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.person import Answer
from holo_tasks.handoff.pause import PATIENCE_S, form, said_in, states_of
from holo_tasks.machine.patience import is_away
from holo_tasks.safety.handoffs import Handoff


async def said_to_suspended(handoff: Handoff) -> Answer | None:
    """Return what was said in the form of a suspended flow run, by whom it cannot be known; None if nothing was.

    Prefect takes one answer, and none that is late.
    """
    made = form(handoff.choices, "")
    keyset = keyset_from_paused_state(Suspended(pause_key=handoff.id))
    try:
        return said_in(await asyncio.wait_for(made.aload(keyset, UUID(handoff.flow_run_id)), PATIENCE_S))
    except ValidationError:  # begun again by other means than the form
        return None


async def begun_by(flow_run_id: str, attempt: str) -> str:
    """Return the key of the suspension that an attempt was begun from; empty for a first attempt and for a retry."""
    states = await states_of(flow_run_id)
    last = max((index for index, state in enumerate(states) if state.name == "Suspended"), default=None)
    if last is None:
        return ""
    between = list(itertools.takewhile(lambda state: not state.is_running(), states[last + 1 :]))
    began = next((state for state in states[last:] if state.is_running()), None)
    # One that was not answered in time is retried from its end, without having been resumed.
    resumed = any(state.name == "Resuming" for state in between) and not any(state.is_final() for state in between)
    return str(states[last].state_details.pause_key or "") if resumed and began and str(began.id) == attempt else ""


async def resume_suspended(handoff: Handoff, choice: str, note: str) -> None:
    """Have Prefect begin a suspended flow run again with an answer: the first one that it takes is the only one.

    Raises `InvalidUsage` if it takes none any more, or cannot be asked. Nothing is closed then: the run may just be
    beginning, and is to find the answer that Prefect has.
    """
    id, asked = UUID(handoff.flow_run_id), False
    try:
        async with get_client() as client:
            found = await asyncio.wait_for(client.read_flow_run(id), PATIENCE_S)
            state = found.state
            if state is not None and state.is_paused() and state.state_details.pause_key == handoff.id:
                asked = True
                told = await asyncio.wait_for(client.resume_flow_run(id, {"choice": choice, "note": note}), PATIENCE_S)
                if told.status == SetStateStatus.ACCEPT:
                    return
                why = getattr(told.details, "reason", None) or told.status.value
            else:
                why = f"its flow run {found.name!r} is {state.name if state else 'nowhere'}"
        said = await said_to_suspended(handoff)
    except ObjectNotFound:
        raise InvalidUsage(
            f"Prefect at {get_current_settings().api.url} does not know the flow run of hand-off {handoff.id}: it was "
            f"deleted there, or PREFECT_API_URL is to be {handoff.api_url}."
        ) from None
    except (TimeoutError, httpx.HTTPError, PrefectException, RuntimeError) as error:
        why = first_line(error, "no answer in time")
        kind = Unavailable if is_away(error) else InvalidUsage
        raise kind(f"Prefect cannot be asked about hand-off {handoff.id}: {why}; try again.") from None
    if said is None:
        raise InvalidUsage(f"Hand-off {handoff.id} takes no answer: {why}.")
    # The client sends it again after a reply that was lost; then one's own is refused as given already.
    if not asked or (said.choice, said.note) != (choice, note):
        raise InvalidUsage(f"Hand-off {handoff.id} was answered already: ‘{said.choice}’ by {said.by}; {why}.")
