"""Resume a suspended Prefect flow run with a person's answer. Prefect keeps the first answer that it accepts.

Used by `holo-tasks handoff resume`, and by the attempt that continues the flow run.
"""

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

from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.person import Answer
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.handoff.pause import PATIENCE_S, answer_form, answer_in, states_of
from holo_tasks.machine.patience import is_away
from holo_tasks.safety.records.handoffs import Handoff


async def said_to_suspended(handoff: Handoff) -> Answer | None:
    """Return the answer in the form of a suspended flow run, or ``None`` if it was not submitted.

    Prefect does not say who answered. It accepts one answer, and none after the time limit.
    """
    form_class = answer_form(handoff.choices, "")
    keyset = keyset_from_paused_state(Suspended(pause_key=handoff.id))
    try:
        return answer_in(await asyncio.wait_for(form_class.aload(keyset, UUID(handoff.flow_run_id)), PATIENCE_S))
    except ValidationError:  # resumed without the form
        return None


async def begun_by(flow_run_id: str, attempt: str) -> str:
    """Return the pause key of the suspension whose end started an attempt.

    Returns an empty string for a first attempt and for a retry.
    """
    states = await states_of(flow_run_id)
    last = max((index for index, state in enumerate(states) if state.name == "Suspended"), default=None)
    if last is None:
        return ""
    between = list(itertools.takewhile(lambda state: not state.is_running(), states[last + 1 :]))
    running = next((state for state in states[last:] if state.is_running()), None)
    # A suspension that timed out ends the flow run. A retry then starts from that final state and was not resumed.
    resumed = any(state.name == "Resuming" for state in between) and not any(state.is_final() for state in between)
    started = resumed and running is not None and str(running.id) == attempt
    return str(states[last].state_details.pause_key or "") if started else ""


async def resume_suspended(handoff: Handoff, choice: str, note: str) -> None:
    """Resume a suspended flow run in Prefect with an answer. Only the first answer that Prefect accepts counts.

    Raises `InvalidUsage` if Prefect accepts no answer any more, and `Unavailable` if it cannot be reached. The hand-off
    stays open then: the run may be starting, and must find the answer that Prefect has.
    """
    id, sent = UUID(handoff.flow_run_id), False
    try:
        async with get_client() as client:
            found = await asyncio.wait_for(client.read_flow_run(id), PATIENCE_S)
            state = found.state
            if state is not None and state.is_paused() and state.state_details.pause_key == handoff.id:
                sent = True
                response = await asyncio.wait_for(
                    client.resume_flow_run(id, {"choice": choice, "note": note}), PATIENCE_S
                )
                if response.status == SetStateStatus.ACCEPT:
                    return
                why = getattr(response.details, "reason", None) or response.status.value
            else:
                why = f"its flow run {found.name!r} is {state.name if state else 'nowhere'}"
        answer = await said_to_suspended(handoff)
    except ObjectNotFound:
        raise InvalidUsage(
            f"Prefect at {get_current_settings().api.url} does not know the flow run of hand-off {handoff.id}. "
            f"Either the flow run was deleted, or PREFECT_API_URL must be {handoff.api_url}."
        ) from None
    except (TimeoutError, httpx.HTTPError, PrefectException, RuntimeError) as error:
        why = first_line(error, "no answer in time")
        kind = Unavailable if is_away(error) else InvalidUsage
        raise kind(f"Prefect cannot be reached about hand-off {handoff.id}: {why}; try again.") from None
    if answer is None:
        raise InvalidUsage(f"Hand-off {handoff.id} takes no answer: {why}.")
    # After a lost response the client repeats the request. Prefect then refuses our own answer, because it has it
    # already.
    if not sent or (answer.choice, answer.note) != (choice, note):
        raise InvalidUsage(f"Hand-off {handoff.id} was answered already: ‘{answer.choice}’ by {answer.by}; {why}.")
