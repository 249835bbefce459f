"""Pause or suspend a Prefect flow run for a person, and show a form in Prefect's pages.

`Pausing` is used by `hand_over` and by reviews. Prefect's `pause_flow_run` is not used, because it misses cancellations
and answers given elsewhere. Its `suspend_flow_run` is not used either: it returns an old answer to the same question.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeVar, cast
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.input import RunInput, keyset_from_paused_state
from prefect.settings import get_current_settings
from prefect.states import Paused, Running, Suspended
from pydantic import Field, ValidationError, create_model

from holo_tasks.core.errors import NeedsPerson
from holo_tasks.core.person import DONE, Answer
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.kill.sources import PrefectApi
from holo_tasks.safety.records.handoffs import LONGEST_NOTE

PATIENCE_S, RETRY_S = 10.0, 180.0
"""Time limit of one request to Prefect, and how long an essential request is retried, in seconds."""
PREFECT_MARGIN_S = 120.0
"""How much longer than this process Prefect waits, in seconds. After its own time-out, Prefect accepts no other
state."""
END_S, AGAIN_S = 3.0, 3.0
"""How long the end of a pause waits for Prefect, and how often an unreachable Prefect is tried again, in seconds."""
NOTE_HELP = "Kept in the trace, and may be shown to the agent."
IN_PAGES = "somebody in Prefect's pages"
PREFECT_ERRORS = (TimeoutError, httpx.HTTPError, PrefectException, ValueError, RuntimeError)
"""Errors of a request to Prefect. ``ValueError``: something else answers at Prefect's address. ``RuntimeError``: the
end of another flow run has closed the client."""
CONFLICT, RETRYABLE = 409, {408, 409, 425, 429}
"""HTTP status codes. `CONFLICT` means that the input exists already. `RETRYABLE` may succeed later; any other code
below 500 is final."""
_pending_ends: dict[str, asyncio.Task[None]] = {}
"""For each flow run, the task that still tries to end its pause in Prefect."""
logger = logging.getLogger("holo_tasks.handoff")
T = TypeVar("T")


class Pausing:
    """The pause of one flow run. Each hand-off needs its own ``key``: Prefect returns old answers for old keys."""

    def __init__(
        self, key: str, choices: Sequence[str], description: str, message: str, note: str = "", asks: str = ""
    ) -> None:
        self.flow_run_id = ""
        self._key = key
        self._form = answer_form(choices, description, note or NOTE_HELP, asks)
        self._message = message
        self._keyset: Any = None
        self._api: PrefectApi | None = None
        self._on_late_answer: Callable[[Answer], None] | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._unsure = False
        """Whether Prefect may have paused the run, or may still do so, without having confirmed it."""
        self._warned = self._left = False

    def begin(self, flow_run_ids: Sequence[str], timeout_s: float) -> None:
        """Pause the first of some flow runs that can be paused. Works in the background, also while Prefect is
        unreachable."""
        if url := get_current_settings().api.url:
            self._beginning = asyncio.create_task(self._begin(url, flow_run_ids, time.monotonic() + timeout_s))

    async def _begin(self, url: str, flow_run_ids: Sequence[str], until_s: float) -> None:
        for flow_run_id in dict.fromkeys(filter(None, flow_run_ids)):
            if before := _pending_ends.get(flow_run_id):
                await asyncio.wait({before})
            # Set these first: a pause that Prefect confirms late or never is then ended and answered like any other.
            self.flow_run_id, self._api = flow_run_id, PrefectApi(url)
            paused = False
            while not self._left:
                left_s = max(0.0, until_s - time.monotonic())
                try:
                    paused = await asyncio.wait_for(self._pause(flow_run_id, left_s + PREFECT_MARGIN_S), PATIENCE_S)
                    self._unsure &= not paused
                    break
                except PREFECT_ERRORS as error:
                    if _is_final(error):
                        break
                    if not self._unsure:
                        logger.warning(
                            "Prefect has not paused the run yet (%s). Answer from the command line.", error or "late"
                        )
                    self._unsure = True
                await asyncio.sleep(AGAIN_S)
            if paused or self._unsure:  # a refused pause may have been accepted by an earlier request
                return
            self._api = None

    async def suspend(self, flow_run_id: str, timeout_s: float) -> str:
        """Suspend a flow run. Return the reason why Prefect refuses, or an empty string.

        The caller must then end the process. An unreachable Prefect is retried until the time limit of the question: a
        process that ended without a suspension would leave a run that nothing restarts. Raises `NeedsPerson` if it
        stays unknown whether Prefect accepted.
        """
        state: Any = Suspended(timeout_seconds=int(timeout_s), pause_key=self._key, message=self._message)
        attempts = 0

        async def suspended() -> str:
            nonlocal attempts
            attempts += 1
            why = await self._propose(flow_run_id, state)
            # An earlier attempt may have been accepted, and the suspension may even be over. The history of states
            # shows it.
            if why and any(past.state_details.pause_key == self._key for past in await states_of(flow_run_id)):
                await self._save_form(flow_run_id)
                return ""
            return why

        try:
            return await patiently(suspended, timeout_s)
        except PREFECT_ERRORS as error:
            if attempts == 1 and _is_final(error):  # no earlier request can have been accepted
                missing = isinstance(error, ObjectNotFound)  # has no text of its own
                return "Prefect has no such flow run (404)" if missing else first_line(error)
            raise NeedsPerson(
                f"Prefect did not confirm that the run is suspended ({error or 'late'}). {self._message}"
            ) from None

    async def answered(self) -> Answer | None:
        """Return the answer given in Prefect's form. Returns ``None`` without one, or while the server is
        unreachable."""
        begun = self._beginning is not None and self._beginning.done()
        if begun:
            self._beginning.result()  # type: ignore[union-attr]
        if self._api is None or self._keyset is None:
            return None
        try:
            found = await asyncio.to_thread(self._api.get, f"/flow_runs/{self.flow_run_id}")
            if not isinstance(found, dict) or found.get("state_type") != "RUNNING":
                return None
            return await self._form_answer()
        except ValidationError:
            # Resumed without the form: this is not an answer.
            if begun and not self._unsure and not self._warned:
                logger.warning("The run was resumed without an answer. Answer from the command line.")
                self._warned = True
            return None
        except PREFECT_ERRORS:
            return None

    async def leave(self) -> None:
        """Stop requesting the pause. The caller must make sure that the flow run gets its next state."""
        self._left = True  # wait_for() can swallow a cancellation at its time-out
        if self._beginning is not None:
            self._unsure |= not self._beginning.done()
            self._beginning.cancel()
            await asyncio.wait({self._beginning}, timeout=PATIENCE_S)

    async def end(self, on_late_answer: Callable[[Answer], None] | None = None) -> None:
        """Set the flow run back to running, unless it has another state by now.

        If Prefect is unreachable, a background task does it later. Until then, the form would take answers that are
        ignored. ``on_late_answer`` is called with an answer that was given in the form and does not count.
        """
        await self.leave()
        if self._api is None:
            return
        self._on_late_answer = on_late_answer
        try:
            await asyncio.wait_for(self._resume(), END_S)
            if not self._unsure:
                return
        except PREFECT_ERRORS as error:
            if _is_final(error):
                return
            logger.warning(
                "Prefect does not know yet that the run continues (%s); trying again in the background.",
                error or "late",
            )
        task = _pending_ends[self.flow_run_id] = asyncio.create_task(self._retry_resume())
        task.add_done_callback(self._forget_retry)

    def _forget_retry(self, task: asyncio.Task[None]) -> None:
        if _pending_ends.get(self.flow_run_id) is task:
            del _pending_ends[self.flow_run_id]

    async def _retry_resume(self) -> None:
        """Retry until Prefect has set the flow run back to running, or has refused for good."""
        while True:
            await asyncio.sleep(AGAIN_S)
            try:
                await asyncio.wait_for(self._resume(), PATIENCE_S)
            except PREFECT_ERRORS as error:
                if _is_final(error):
                    return
                continue
            if not self._unsure:
                return
            # An earlier request for a pause may take effect only now: check once more.
            self._unsure = False

    async def _form_answer(self) -> Answer:
        """Return the submitted form as an answer. Raises `ValidationError` if the form was not submitted."""
        return answer_in(await asyncio.wait_for(self._form.aload(self._keyset, UUID(self.flow_run_id)), PATIENCE_S))

    async def _pause(self, flow_run_id: str, timeout_s: float) -> bool:
        state: Any = Paused(timeout_seconds=int(timeout_s), pause_key=self._key, message=self._message)
        return not await self._propose(flow_run_id, state)

    async def _propose(self, flow_run_id: str, state: Any) -> str:
        """Propose a state to Prefect, then save its form. Return the reason of a refusal, or an empty string."""
        self._keyset = state.state_details.run_input_keyset = keyset_from_paused_state(state)
        async with get_client() as client:
            answer = await client.set_flow_run_state(UUID(flow_run_id), state)
        # If a response was lost, the client repeats the request, and Prefect rejects the repetition although it is in
        # that state.
        details = getattr(answer.state, "state_details", None)
        if answer.status == SetStateStatus.ACCEPT or (details and details.pause_key == self._key):
            await self._save_form(flow_run_id)
            return ""
        return getattr(answer.details, "reason", None) or f"Prefect answered {answer.status.value}"

    async def _save_form(self, flow_run_id: str) -> None:
        """Save the form of an accepted state. Since Prefect 3.9, the change of state deletes an earlier one."""
        try:
            await self._form.asave(self._keyset, UUID(flow_run_id))
        except httpx.HTTPStatusError as error:
            if error.response.status_code == CONFLICT:  # an earlier attempt has saved it
                return
            if not _is_final(error):
                raise
            logger.warning("Prefect does not take the form (%s). Answer from the command line.", first_line(error))

    async def _resume(self) -> None:
        async with get_client() as client:
            found = await client.read_flow_run(UUID(self.flow_run_id))
            state = found.state
            if state is None:
                return
            if state.is_paused() and state.state_details.pause_key == self._key:
                await client.set_flow_run_state(UUID(self.flow_run_id), Running())
            elif not state.is_running():
                return
        # From here on the form takes no answer. One that was submitted just before is reported.
        if self._on_late_answer is not None and self._keyset is not None:
            with contextlib.suppress(ValidationError):
                self._on_late_answer(await self._form_answer())
                self._on_late_answer = None


async def patiently(request: Callable[[], Awaitable[T]], for_s: float | None = None) -> T:
    """Repeat an essential request to Prefect until it succeeds or ``for_s`` seconds (default 180) have passed.

    Raises the last error. Errors that a repetition cannot change are raised at once.
    """
    end_s, delay_s = time.monotonic() + (RETRY_S if for_s is None else for_s), 1.0
    while True:
        try:
            return await asyncio.wait_for(request(), PATIENCE_S)
        except PREFECT_ERRORS as error:
            if time.monotonic() >= end_s or _is_final(error):
                raise
            if delay_s == 1.0:
                logger.warning("Prefect does not answer (%s); trying again.", first_line(error, "late"))
        await asyncio.sleep(delay_s)
        delay_s = min(2 * delay_s, PATIENCE_S)


def _is_final(error: Exception) -> bool:
    """Return whether Prefect's response would stay the same if the request were repeated."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code < 500 and error.response.status_code not in RETRYABLE
    return isinstance(error, ObjectNotFound)


async def states_of(flow_run_id: str) -> list[Any]:
    """Return the states that a flow run has been in, oldest first."""
    async with get_client() as client:
        states = await client.read_flow_run_states(UUID(flow_run_id))
    return sorted(states, key=lambda state: state.timestamp)


def answer_in(filled_in: Any) -> Answer:
    """Return the answer in a submitted form."""
    # Cut a note that is too long. The person has left and cannot be asked to shorten it.
    note = filled_in.note.encode(errors="replace").decode().strip()[:LONGEST_NOTE]
    return Answer(filled_in.choice, note, IN_PAGES)


def answer_form(choices: Sequence[str], description: str, note: str = NOTE_HELP, asks: str = "") -> type[RunInput]:
    """Create the Prefect input form of a hand-off. ``note`` and ``asks`` are the help texts of the two
    fields."""
    choice: Any = Literal[tuple(choices)]
    # No default: a run that was resumed without the form would otherwise count as answered.
    asks = asks or ("What should the agent do?" if DONE in choices else "Your answer to the question above.")
    form_class: Any = create_model(
        "Answer",
        __base__=RunInput,
        choice=(choice, Field(title="Choice", description=asks)),
        note=(str, Field(default="", title="Note", description=note)),
    )
    form_class._description = description
    return cast("type[RunInput]", form_class)
