"""A Prefect flow run that is paused or suspended for a person, with a form in Prefect's pages.

Prefect's own `pause_flow_run` is not used: it notices neither that the run is cancelled nor an answer given elsewhere.
Nor is `suspend_flow_run`, which gives an answer again to whoever asks the same later.
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

from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import NeedsPerson
from holo_tasks.core.person import DONE, Answer
from holo_tasks.kill.sources import PrefectApi
from holo_tasks.safety.handoffs import LONGEST_NOTE

PATIENCE_S, LONG_S = 10.0, 180.0
"""How long one answer of Prefect is waited for, and how long it is asked again where all depends on it."""
LATER_S = 120.0
"""How much longer than we Prefect waits: after its own time-out it takes no other end than its own."""
END_S, AGAIN_S = 3.0, 3.0
"""How long the work waits for Prefect to hear that it goes on, and how often a Prefect that is away is tried again."""
TOLD = "Kept in the trace; the agent may be told."
IN_PAGES = "somebody in Prefect's pages"
AWAY = (TimeoutError, httpx.HTTPError, PrefectException, ValueError, RuntimeError)
"""Of the last two: something else answers in its place, and a client that another flow run's end has closed."""
CONFLICT, LATER = 409, {408, 409, 425, 429}
"""What its answer says of the request; the rest below 500 stays as it is, however often it is asked."""
_untold: dict[str, asyncio.Task[None]] = {}
"""By flow run, what sees to it that Prefect hears that a pause is over."""
logger = logging.getLogger("holo_tasks.handoff")
T = TypeVar("T")


class Pausing:
    """One flow run's pause. The ``key`` is another one for each hand-off: Prefect gives old answers to old keys."""

    def __init__(
        self, key: str, choices: Sequence[str], description: str, message: str, note: str = "", asks: str = ""
    ) -> None:
        self.flow_run_id = ""
        self._key = key
        self._form = form(choices, description, note or TOLD, asks)
        self._message = message
        self._keyset: Any = None
        self._asking: PrefectApi | None = None
        self._late: Callable[[Answer], None] | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._unsure = False
        """Whether Prefect may have paused the run, or may do so yet, without saying so."""
        self._told = self._left = False

    def begin(self, flow_run_ids: Sequence[str], timeout_s: float) -> None:
        """See that the first of some flow runs that can be is paused, as soon as Prefect is there to do so."""
        if url := get_current_settings().api.url:
            self._beginning = asyncio.create_task(self._begin(url, flow_run_ids, time.monotonic() + timeout_s))

    async def _begin(self, url: str, flow_run_ids: Sequence[str], until_s: float) -> None:
        for flow_run_id in dict.fromkeys(filter(None, flow_run_ids)):
            if before := _untold.get(flow_run_id):
                await asyncio.wait({before})
            # First: a pause whose confirmation is late, or never heard, is ended and answered like any other.
            self.flow_run_id, self._asking = flow_run_id, PrefectApi(url)
            paused = False
            while not self._left:
                left_s = max(0.0, until_s - time.monotonic())
                try:
                    paused = await asyncio.wait_for(self._pause(flow_run_id, left_s + LATER_S), PATIENCE_S)
                    self._unsure &= not paused
                    break
                except AWAY as error:
                    if _final(error):
                        break
                    if not self._unsure:
                        logger.warning(
                            "Prefect does not pause the run yet (%s); answer from the command line.", error or "late"
                        )
                    self._unsure = True
                await asyncio.sleep(AGAIN_S)
            if paused or self._unsure:  # what it refuses now it may have done before, and have heard the answer
                return
            self._asking = None

    async def suspend(self, flow_run_id: str, timeout_s: float) -> str:
        """Suspend a flow run, whose process is to end then; return why Prefect does not, or nothing.

        A Prefect that is away is waited for as long as somebody may answer: who left now would leave a run that nobody
        begins again. Raises `NeedsPerson` if it cannot be known then.
        """
        state: Any = Suspended(timeout_seconds=int(timeout_s), pause_key=self._key, message=self._message)
        tries = 0

        async def suspended() -> str:
            nonlocal tries
            tries += 1
            why = await self._set(flow_run_id, state)
            # It may have been taken by an earlier try, and even be over by now: its history says so.
            return (
                ""
                if why and any(one.state_details.pause_key == self._key for one in await states_of(flow_run_id))
                else why
            )

        try:
            return await patiently(suspended, timeout_s)
        except AWAY as error:
            if tries == 1 and _final(error):  # it has heard of nothing else
                return first_line(error)
            raise NeedsPerson(
                f"Prefect did not say whether it suspends the run ({error or 'late'}). {self._message}"
            ) from None

    async def answered(self) -> Answer | None:
        """Return what was said in Prefect's pages, None if nothing was yet; also while its server is away."""
        begun = self._beginning is not None and self._beginning.done()
        if begun:
            self._beginning.result()  # type: ignore[union-attr]
        if self._asking is None or self._keyset is None:
            return None
        try:
            found = await asyncio.to_thread(self._asking.get, f"/flow_runs/{self.flow_run_id}")
            if not isinstance(found, dict) or found.get("state_type") != "RUNNING":
                return None
            return await self._said()
        except ValidationError:
            # Set to Running by other means than the form: nobody has answered.
            if begun and not self._unsure and not self._told:
                logger.warning("The run was resumed without an answer; answer from the command line.")
                self._told = True
            return None
        except AWAY:
            return None

    async def leave(self) -> None:
        """Ask for the pause no more; what became of it is for somebody else to tell."""
        self._left = True  # a cancellation that meets a time-out is lost
        if self._beginning is not None:
            self._unsure |= not self._beginning.done()
            self._beginning.cancel()
            await asyncio.wait({self._beginning}, timeout=PATIENCE_S)

    async def end(self, late: Callable[[Answer], None] | None = None) -> None:
        """See that the flow run is running again, if it is not to be something else.

        A Prefect that is away hears it when it is back: until then its form would take answers that nobody hears.
        ``late`` is told of an answer that was given there, and does not count.
        """
        await self.leave()
        if self._asking is None:
            return
        self._late = late
        try:
            await asyncio.wait_for(self._resume(), END_S)
            if not self._unsure:
                return
        except AWAY as error:
            if _final(error):
                return
            logger.warning("Prefect is not told yet that the run goes on (%s).", error or "late")
        task = _untold[self.flow_run_id] = asyncio.create_task(self._insist())
        task.add_done_callback(self._insisted)

    def _insisted(self, task: asyncio.Task[None]) -> None:
        if _untold.get(self.flow_run_id) is task:
            del _untold[self.flow_run_id]

    async def _insist(self) -> None:
        """Tell Prefect that the run goes on, when it is back."""
        while True:
            await asyncio.sleep(AGAIN_S)
            try:
                await asyncio.wait_for(self._resume(), PATIENCE_S)
            except AWAY as error:
                if _final(error):
                    return
                continue
            if not self._unsure:
                return
            # A pause that it was asked for before it hung it may begin only now: look once more.
            self._unsure = False

    async def _said(self) -> Answer:
        """Return what is in the form. Raises `ValidationError` if nothing is."""
        return said_in(await asyncio.wait_for(self._form.aload(self._keyset, UUID(self.flow_run_id)), PATIENCE_S))

    async def _pause(self, flow_run_id: str, timeout_s: float) -> bool:
        state: Any = Paused(timeout_seconds=int(timeout_s), pause_key=self._key, message=self._message)
        return not await self._set(flow_run_id, state)

    async def _set(self, flow_run_id: str, state: Any) -> str:
        """Propose a state with the form; return why Prefect refuses it, if it does."""
        self._keyset = state.state_details.run_input_keyset = keyset_from_paused_state(state)
        # The form first: who is quick would find none.
        try:
            await self._form.asave(self._keyset, UUID(flow_run_id))
        except httpx.HTTPStatusError as error:
            if error.response.status_code != CONFLICT:  # it is there since it was sent the first time
                raise
        async with get_client() as client:
            answer = await client.set_flow_run_state(UUID(flow_run_id), state)
        # One whose answer was lost is sent again by the client, and refused as done already.
        kept = getattr(answer.state, "state_details", None)
        if answer.status == SetStateStatus.ACCEPT or (kept and kept.pause_key == self._key):
            return ""
        return getattr(answer.details, "reason", None) or f"Prefect answers {answer.status.value}"

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
        # From here on its form takes no answer; one that it took just before is seen.
        if self._late is not None and self._keyset is not None:
            with contextlib.suppress(ValidationError):
                self._late(await self._said())
                self._late = None


async def patiently(work: Callable[[], Awaitable[T]], for_s: float | None = None) -> T:
    """Ask Prefect something on which all depends, again for so long, usually `LONG_S`; raises its last error then."""
    end_s, again_s = time.monotonic() + (LONG_S if for_s is None else for_s), 1.0
    while True:
        try:
            return await asyncio.wait_for(work(), PATIENCE_S)
        except AWAY as error:
            if time.monotonic() >= end_s or _final(error):
                raise
            if again_s == 1.0:
                logger.warning("Prefect does not answer (%s); asking again.", first_line(error, "late"))
        await asyncio.sleep(again_s)
        again_s = min(2 * again_s, PATIENCE_S)


def _final(error: Exception) -> bool:
    """Say whether Prefect has answered, and will not answer otherwise."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code < 500 and error.response.status_code not in LATER
    return isinstance(error, ObjectNotFound)


async def states_of(flow_run_id: str) -> list[Any]:
    """Return the states that a flow run has been in, the first one first."""
    async with get_client() as client:
        states = await client.read_flow_run_states(UUID(flow_run_id))
    return sorted(states, key=lambda state: state.timestamp)


def said_in(filled_in: Any) -> Answer:
    """Return the answer that a form was filled in with."""
    # What is too long to keep is cut: the person is gone, and cannot be asked to say it shorter.
    note = filled_in.note.encode(errors="replace").decode().strip()[:LONGEST_NOTE]
    return Answer(filled_in.choice, note, IN_PAGES)


def form(choices: Sequence[str], description: str, note: str = TOLD, asks: str = "") -> type[RunInput]:
    """Make the form that Prefect's pages show; ``note`` says what the free text is for, ``asks`` what is chosen."""
    choice: Any = Literal[tuple(choices)]
    # There is no default: a run that is resumed without the form would be taken for answered.
    asks = asks or ("What should the agent do?" if DONE in choices else "Your answer to what is asked above.")
    made: Any = create_model(
        "Answer",
        __base__=RunInput,
        choice=(choice, Field(title="Choice", description=asks)),
        note=(str, Field(default="", title="Note", description=note)),
    )
    made._description = description
    return cast("type[RunInput]", made)
