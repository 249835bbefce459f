"""Flow runs whose end Prefect has not heard: noted here, and told by a later command.

A run does not wait for a Prefect server that is away: what came of it is known, and is in its trace. Prefect would show
it as running for ever.
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

from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import HoloError
from holo_tasks.machine import pending_notes
from holo_tasks.models.address import shown
from holo_tasks.run.untold_notes import FLOW_RUN, give_up_late
from holo_tasks.safety.scrubbing import hushed

PATIENCE_S = 10.0
AWAY = (TimeoutError, httpx.HTTPError, PrefectException, ValueError, RuntimeError)
logger = logging.getLogger(__name__)


def note_untold(home: Path, flow_run_id: str, attempt: str, state: State[Any], *, temporary: bool = False) -> str:
    """Note how a flow run ended; return what is to be said of it. ``attempt`` is the id of its state as it began.

    ``temporary`` is a server that ends with this process; what it knows is in the database of Prefect's home.
    """
    settings = get_current_settings()
    said = f"Prefect has not heard that flow run {flow_run_id} has ended, and shows it as running"
    try:
        pending_notes.leave(
            home,
            FLOW_RUN,
            {
                "flow_run_id": flow_run_id,
                "attempt": attempt,
                "server": _place(temporary=temporary),
                "type": state.type.value,
                "name": state.name or "",
                "message": hushed((state.message or "")[:500]),
                "at": datetime.now(UTC).isoformat(),
            },
        )
    except (OSError, HoloError) as error:
        return f"{said} (nor could that be noted in {home}: {error})."
    where = "of a temporary server" if temporary else f"at {shown(str(settings.api.url))}"
    return f"{said} {where}; the next `holo-tasks run`, `runs` or `doctor` on this machine tells it."


async def tell_untold(home: Path, *, temporary: bool = False) -> list[str]:
    """Tell the Prefect of this process what it has not heard; return what there is to say of that.

    Only a flow run that still is as it was left is told: another attempt, or a person, may have gone on with it.
    """
    told = give_up_late(home)
    here = [
        note for note in pending_notes.left(home, FLOW_RUN) if note.says.get("server") == _place(temporary=temporary)
    ]
    if not here:
        return told
    left = len(here)
    try:
        async with get_client() as client:
            for note in here:
                if said := await asyncio.wait_for(_tell(client, note), PATIENCE_S):
                    told.append(said)
                left -= 1
    except AWAY as error:
        why = first_line(error)
        told.append(f"{left} flow runs are over, and Prefect still does not hear it ({why}).")
    return told


async def tell_quietly(home: Path) -> None:
    """Do it beside a run of the library."""
    for said in await tell_untold(home):
        logger.warning("%s", said)


async def _tell(client: PrefectClient, note: pending_notes.Note) -> str:
    says = note.says
    try:
        id, state = (
            UUID(str(says["flow_run_id"])),
            State[Any](type=StateType(says["type"]), name=str(says["name"]) or None, message=str(says["message"])),
        )
        ended = datetime.fromisoformat(str(says["at"]))
    except (KeyError, ValueError, TypeError):
        note.drop()  # not one of ours
        return ""
    try:
        found = await client.read_flow_run(id)
    except ObjectNotFound:
        note.drop()
        return ""
    now = found.state
    # It may have been paused since it began, and have gone on.
    ours = now is not None and (str(now.id) == says["attempt"] or now.timestamp <= ended)
    if now is None or not (now.is_running() or now.is_pending()) or not ours:
        note.drop()
        return ""
    await client.set_flow_run_state(id, state, force=True)
    note.drop()
    return f"Prefect was told that flow run {found.name} ({id}) ended as {state.name} at {ended:%Y-%m-%d %H:%M:%S} UTC."


def _place(*, temporary: bool) -> str:
    """Name the server that a note is for."""
    if temporary:
        return f"database of {Path(os.environ.get('PREFECT_HOME') or '~/.prefect').expanduser().absolute()}"
    return str(get_current_settings().api.url)
