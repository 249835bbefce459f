"""Report ended flow runs to Prefect later, if its server was unreachable when they ended.

A run does not wait for an unreachable Prefect server, because its result is already in the trace. `note_unreported`
leaves a note, so that Prefect does not show the flow run as running forever. `report_noted` reports the noted flow runs
in a later command.
"""

from __future__ import annotations

import asyncio
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.settings import get_current_settings

from holo_tasks.core.errors import HoloError
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.machine import pending_notes
from holo_tasks.models.address import shown
from holo_tasks.run.prefect_edge.flow_run_notes import FLOW_RUN, give_up_late
from holo_tasks.safety.scrubbing import scrub_text

PATIENCE_S = 10.0
AWAY = (TimeoutError, httpx.HTTPError, PrefectException, ValueError, RuntimeError)
logger = logging.getLogger(__name__)


def note_unreported(home: Path, flow_run_id: str, attempt: str, state: State[Any], *, temporary: bool = False) -> str:
    """Leave a note about how a flow run ended; return a message for the user.

    ``attempt`` is the id of the state in which this attempt began. ``temporary`` means a server that ends with this
    process; its data are in the database of Prefect's home.
    """
    settings = get_current_settings()
    message = f"Prefect did not get the report that flow run {flow_run_id} has ended, and shows it as running"
    try:
        pending_notes.leave(
            home,
            FLOW_RUN,
            {
                "flow_run_id": flow_run_id,
                "attempt": attempt,
                "server": _server(temporary=temporary),
                "type": state.type.value,
                "name": state.name or "",
                "message": scrub_text((state.message or "")[:500]),
                "at": datetime.now(UTC).isoformat(),
            },
        )
    except (OSError, HoloError) as error:
        return f"{message} (nor could that be noted in {home}: {error})."
    where = "" if temporary else f" at {shown(str(settings.api.url))}"
    return f"{message}{where}; the next `holo-tasks run`, `runs` or `doctor` on this machine reports it."


async def report_noted(home: Path, *, temporary: bool = False) -> list[str]:
    """Report noted flow runs to the Prefect server of this process; return messages about it.

    A flow run is reported only if its state is still that of the noted attempt. A later attempt or a person may have
    changed it.
    """
    messages = give_up_late(home)
    here = [
        note
        for note in pending_notes.pending(home, FLOW_RUN)
        if note.says.get("server") == _server(temporary=temporary)
    ]
    if not here:
        return messages
    remaining = len(here)
    try:
        async with get_client() as client:
            for note in here:
                if message := await asyncio.wait_for(_report(client, note), PATIENCE_S):
                    messages.append(message)
                remaining -= 1
    except AWAY as error:
        why = first_line(error)
        messages.append(f"{remaining} flow runs have ended, and Prefect still has no record of their end ({why}).")
    return messages


async def report_and_log(home: Path) -> None:
    """Report noted flow runs and log the messages."""
    for message in await report_noted(home):
        logger.warning("%s", message)


async def _report(client: PrefectClient, note: pending_notes.Note) -> str:
    fields = note.says
    try:
        id, state = (
            UUID(str(fields["flow_run_id"])),
            State[Any](
                type=StateType(fields["type"]), name=str(fields["name"]) or None, message=str(fields["message"])
            ),
        )
        ended = datetime.fromisoformat(str(fields["at"]))
    except (KeyError, ValueError, TypeError):
        note.drop()  # the note has another format
        return ""
    try:
        found = await client.read_flow_run(id)
    except ObjectNotFound:
        note.drop()
        return ""
    now = found.state
    # The noted attempt may itself have paused and resumed since its first state.
    ours = now is not None and (str(now.id) == fields["attempt"] or now.timestamp <= ended)
    if now is None or not (now.is_running() or now.is_pending()) or not ours:
        note.drop()
        return ""
    await client.set_flow_run_state(id, state, force=True)
    note.drop()
    return f"Reported to Prefect: flow run {found.name} ({id}) ended as {state.name} at {ended:%Y-%m-%d %H:%M:%S} UTC."


def _server(*, temporary: bool) -> str:
    """Return the server that a note is meant for."""
    if temporary:
        return f"database of {Path(os.environ.get('PREFECT_HOME') or '~/.prefect').expanduser().absolute()}"
    return str(get_current_settings().api.url)
