"""A Prefect flow run that is paused for a person, with a form in Prefect's pages.

Prefect's own `pause_flow_run` is not used: it notices neither that the run is cancelled nor an answer given elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Literal, cast
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import PrefectException
from prefect.input import RunInput, keyset_from_paused_state
from prefect.settings import get_current_settings
from prefect.states import Paused, Running
from pydantic import Field, ValidationError, create_model

from holo_tasks.core.person import Answer
from holo_tasks.kill_sources import Asking
from holo_tasks.safety.handoffs import LONGEST_NOTE

PATIENCE_S = 10.0
LATER_S = 120.0
"""How much longer than we Prefect waits: after its own time-out it takes no other end than its own."""
IN_PAGES = "somebody in Prefect's pages"
logger = logging.getLogger("holo_tasks.handoff")


class Pausing:
    """One flow run's pause. The ``key`` is another one for each hand-off: Prefect gives old answers to old keys."""

    def __init__(self, key: str, choices: Sequence[str], description: str, message: str) -> None:
        self.flow_run_id = ""
        self._key = key
        self._form = form(choices, description)
        self._message = message
        self._asking: Asking | None = None
        self._told = False

    async def begin(self, flow_run_ids: Sequence[str], timeout_s: float) -> bool:
        """Pause the first of some flow runs that can be; say whether one was."""
        url = get_current_settings().api.url
        if not url:
            return False
        for flow_run_id in dict.fromkeys(filter(None, flow_run_ids)):
            # First: a pause whose confirmation is late, or never heard, is ended and answered like any other.
            self.flow_run_id, self._asking = flow_run_id, Asking(url)
            try:
                paused = await asyncio.wait_for(self._pause(flow_run_id, timeout_s + LATER_S), PATIENCE_S)
            except (TimeoutError, httpx.HTTPError, PrefectException) as error:
                logger.warning("Prefect does not pause the run (%s); answer from the command line.", error or "late")
                self._told = True  # that it is running says nothing then
                return False
            if paused:
                return True
            self._asking = None
        return False

    async def answered(self) -> Answer | None:
        """Return what was said in Prefect's pages, None if nothing was yet; also while its server is away."""
        if self._asking is None:
            return None
        try:
            found = await asyncio.to_thread(self._asking.get, f"/flow_runs/{self.flow_run_id}")
            if found is None or found["state_type"] != "RUNNING":
                return None
            said = await asyncio.wait_for(self._form.aload(self._keyset, UUID(self.flow_run_id)), PATIENCE_S)
        except (TimeoutError, httpx.HTTPError, PrefectException):
            return None
        except ValidationError:
            # Set to Running by other means than the form: nobody has answered.
            if not self._told:
                logger.warning("The run was resumed without an answer; answer from the command line.")
            self._told = True
            return None
        told = cast("Any", said)
        # What is too long to keep is cut: the person is gone, and cannot be asked to say it shorter.
        note = told.note.encode(errors="replace").decode().strip()[:LONGEST_NOTE]
        return Answer(told.choice, note, IN_PAGES)

    async def end(self) -> None:
        """See that the flow run is running again, if it can be told so and is not to be something else."""
        if self._asking is None:
            return
        try:
            await asyncio.wait_for(self._resume(), PATIENCE_S)
        except (TimeoutError, httpx.HTTPError, PrefectException) as error:
            logger.warning("Prefect was not told that the run goes on (%s).", error or "late")
        self._asking = None

    async def _pause(self, flow_run_id: str, timeout_s: float) -> bool:
        state: Any = Paused(timeout_seconds=int(timeout_s), pause_key=self._key, message=self._message)
        self._keyset = state.state_details.run_input_keyset = keyset_from_paused_state(state)
        # The form first: who is quick would find none.
        await self._form.asave(self._keyset, UUID(flow_run_id))
        async with get_client() as client:
            answer = await client.set_flow_run_state(UUID(flow_run_id), state)
        return answer.status == SetStateStatus.ACCEPT

    async def _resume(self) -> None:
        async with get_client() as client:
            found = await client.read_flow_run(UUID(self.flow_run_id))
            if found.state is not None and found.state.is_paused():
                await client.set_flow_run_state(UUID(self.flow_run_id), Running())


def form(choices: Sequence[str], description: str) -> type[RunInput]:
    """Make the form that Prefect's pages show."""
    choice: Any = Literal[tuple(choices)]
    made: Any = create_model(
        "Answer",
        __base__=RunInput,
        choice=(choice, Field(title="Choice", description="What should the agent do?")),
        note=(str, Field(default="", title="Note", description="Kept in the trace; the agent may be told.")),
    )
    made._description = description
    return cast("type[RunInput]", made)
