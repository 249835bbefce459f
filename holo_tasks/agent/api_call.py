"""The layer "api": one call of a program's API, with an intent in the journal like every action.

`layers` creates an `ApiCall` for a sub-goal that declares an API, and calls `get_answer`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from prefect import tags
from pydantic import TypeAdapter

from holo_tasks.agent.agent_step import step_as_task
from holo_tasks.agent.limits import deadline
from holo_tasks.core import events
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.texts.outside_text import named
from holo_tasks.loop.loop import Answered, AnswerReader
from holo_tasks.loop.walk import Walk
from holo_tasks.run.api_layer import Api
from holo_tasks.run.run import Run
from holo_tasks.run.subgoal_options import API
from holo_tasks.safety.scrubbing import scrub_text

R = TypeVar("R")
REASON_CHARACTERS = 600
"""Longest reason of a failed call in trace and messages. It may contain text from a server."""
_api_function: ContextVar[Callable[[], Awaitable[Any]]] = ContextVar("holo_api_call")


@dataclass(frozen=True)
class _CallResult:
    """The result of a call, or the reason why the API gave up.

    Prefect searches the collections that a task returns for futures, but not an object of this class. The reason is
    returned instead of raised, so that the task does not count as failed.
    """

    value: Any = None
    gave_up: str | None = None


@step_as_task(acts=True, title="{number} · api · {what}")
async def call_api(number: int, what: str) -> _CallResult:
    """Call the API function of `_api_function` once, as step ``number``. ``what`` is the API's name in the task's name.

    A `GaveUp` becomes a result, so the task does not fail.
    """
    try:
        return _CallResult(await _api_function.get()())
    except GaveUp as error:
        return _CallResult(gave_up=named(scrub_text(str(error)), REASON_CHARACTERS))


@dataclass(frozen=True)
class ApiCall:
    """A call of the API that a sub-goal declares. ``changes`` says whether it may have an effect."""

    run: Run
    walk: Walk
    api: Api
    changes: bool

    async def get_answer(self, read: AnswerReader[R]) -> Answered[R]:
        """Make the call and return its answer.

        Raises `GaveUp` if the API function raised it: then it did nothing, and the intent in the journal is void. Also
        raises `GaveUp` if the result does not fit the goal's answer. The intent is done then, as the call was made.
        Any other exception leaves the intent open. The next attempt at the item probes for the effect.
        """
        walk, what = self.walk, f"API: {named(self.api.name)}"
        self._check()
        walk.step += 1
        call = {"function": named(self.api.name)}
        await walk.record(events.ActionIntended(gesture_kind=API, gesture={**call}, label=what, before=""))
        number = await self._intend(what)
        journal, began_s = walk.services.journal, walk.services.now_s()
        try:
            result = await self._call_until_deadline()
        except Exception as error:  # raised again below: the call is code of the flow's author
            why = scrub_text(str(error)) or type(error).__name__
            await walk.record(events.ActionFailed(reason=named(why, REASON_CHARACTERS)))
            raise
        if result.gave_up is not None:
            if journal is not None and number is not None:
                await journal.void(number)
            await walk.record(events.ActionFailed(reason=f"it gave up: {result.gave_up}"))
            raise GaveUp(result.gave_up or "It gave no reason.", layer=API)
        self._count()
        if journal is not None and number is not None:
            await journal.done(number)
        took_us = round((walk.services.now_s() - began_s) * 1_000_000)
        await walk.record(events.ActionDone(took_us=took_us, input_events=0))
        return await self._record_answer(result.value, what, read)

    def _check(self) -> None:
        """Raise if the run is suspended or past a limit."""
        walk, run = self.walk, self.run
        if run.suspended is not None:
            raise run.suspended
        walk.guard.check_time(walk.services.now_s())
        if self.changes:
            walk.guard.check_action()

    async def _intend(self, what: str) -> int | None:
        """Count the action, and write its intent into the journal. Returns the intent's number, if there is one."""
        services = self.walk.services
        if self.changes and services.purse is not None:
            await services.purse.count_action(self.walk.guard)
        return None if services.journal is None else await services.journal.intend(what, "")

    def _count(self) -> None:
        """Count the call as an action if it may have an effect."""
        if self.changes:
            self.walk.guard.count_action()

    async def _call_until_deadline(self) -> _CallResult:
        """Make the call, and cancel it at the earliest deadline of the limits that apply to the sub-goal."""
        calling = _api_function.set(self.api.answer)
        try:
            async with AsyncExitStack() as stack:
                for scope in self.walk.guard.lineage():
                    await stack.enter_async_context(deadline(scope))
                with tags(f"layer:{API}"):
                    return await call_api(self.walk.step, named(self.api.name))
        except GaveUp:
            raise
        except BaseException:
            self._count()  # the call may have had its effect
            raise
        finally:
            _api_function.reset(calling)

    async def _record_answer(self, value: Any, what: str, read: AnswerReader[R]) -> Answered[R]:
        """Convert the result to the type of the goal's answer, and record it as a decision."""
        try:
            answer, text = _parse_answer(value, read)
        except ValueError as error:
            why = named(" ".join(str(error).split()), REASON_CHARACTERS)
            raise GaveUp(
                f"The return value of the API does not have the type of the answer: {why}.", layer=API
            ) from None
        walk = self.walk
        await walk.record(
            events.Decided(
                note=None,
                thought="The program's API has answered.",
                tool_name="answer",
                arguments={"content": text},
                label=what,
            )
        )
        return Answered(answer, text, walk.step)


def _parse_answer(value: Any, read: AnswerReader[R]) -> tuple[R, str]:
    """Return the answer and its text. Raises `ValueError` if the value does not fit."""
    plain = TypeAdapter(Any).dump_python(value, mode="json")
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    if plain is None:
        with suppress(ValueError):
            if (nothing := read(text)) is None:
                return nothing, text
        raise ValueError("it returned nothing")
    if not isinstance(plain, str):
        return read(text), text
    try:
        return read(plain), plain
    except ValueError:
        with suppress(ValueError):  # a type such as an enum of texts needs the text in quotes
            return read(text), text
        raise
