"""The layer that is a program's API: one call, written down before it is made, as any action is."""

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
from holo_tasks.core.outside import named
from holo_tasks.loop.loop import Answered, AnswerReader
from holo_tasks.loop.walk import Walk
from holo_tasks.run.api_layer import Api
from holo_tasks.run.run import Run
from holo_tasks.run.subgoal_options import API
from holo_tasks.safety.scrubbing import hushed

R = TypeVar("R")
REASON_CHARACTERS = 600
"""How much is told of why an API gave up; it may be what a server said."""
_calling: ContextVar[Callable[[], Awaitable[Any]]] = ContextVar("holo_api_call")


@dataclass(frozen=True)
class _Said:
    """What came of a call: Prefect would look into a bare value, and mark a task that gives up as failed."""

    value: Any = None
    gave_up: str | None = None


@step_as_task(acts=True, title="{number} · api · {what}")
async def call_api(number: int, what: str) -> _Said:
    """Call a program's API, once. That it gives up is no failure of the task."""
    try:
        return _Said(await _calling.get()())
    except GaveUp as error:
        return _Said(gave_up=named(hushed(str(error)), REASON_CHARACTERS))


@dataclass(frozen=True)
class ApiCall:
    """A call of a sub-goal's API, on behalf of its walk. ``changes`` says whether it may have an effect."""

    run: Run
    walk: Walk
    api: Api
    changes: bool

    async def answered(self, read: AnswerReader[R]) -> Answered[R]:
        """Make the call; return its answer.

        Raises `GaveUp` if it gave up, which says that it did nothing, or if what it returned is no answer. Whatever
        else it raises leaves the intent in the journal: whoever works on the item next looks what came of it.
        """
        walk, what = self.walk, f"API: {named(self.api.name)}"
        self._check()
        walk.step += 1
        told = {"function": named(self.api.name)}
        await walk.record(events.ActionIntended(gesture_kind=API, gesture={**told}, label=what, before=""))
        number = await self._intend(what)
        journal, began_s = walk.doors.journal, walk.doors.now_s()
        try:
            said = await self._called()
        except Exception as error:  # somebody else's code: it travels on
            why = hushed(str(error)) or type(error).__name__
            await walk.record(events.ActionFailed(reason=named(why, REASON_CHARACTERS)))
            raise
        if said.gave_up is not None:
            if journal is not None and number is not None:
                await journal.void(number)
            await walk.record(events.ActionFailed(reason=f"it gave up: {said.gave_up}"))
            raise GaveUp(said.gave_up or "It gave no reason.", layer=API)
        self._count()
        if journal is not None and number is not None:
            await journal.done(number)
        took_us = round((walk.doors.now_s() - began_s) * 1_000_000)
        await walk.record(events.ActionDone(took_us=took_us, input_events=0))
        return await self._read(said.value, what, read)

    def _check(self) -> None:
        """Begin nothing in a run that is being stopped, or past a limit."""
        walk, run = self.walk, self.run
        if run.suspended is not None:
            raise run.suspended
        walk.guard.check_time(walk.doors.now_s())
        if self.changes:
            walk.guard.check_action()

    async def _intend(self, what: str) -> int | None:
        """Write the call down where there is a journal, before it is made."""
        doors = self.walk.doors
        if self.changes and doors.purse is not None:
            await doors.purse.count_action(self.walk.guard)
        return None if doors.journal is None else await doors.journal.intend(what, "")

    def _count(self) -> None:
        if self.changes:
            self.walk.guard.count_action()

    async def _called(self) -> _Said:
        """Make the call, but not past any deadline around it."""
        calling = _calling.set(self.api.answer)
        try:
            async with AsyncExitStack() as stack:
                for scope in self.walk.guard.lineage():
                    await stack.enter_async_context(deadline(scope))
                with tags(f"layer:{API}"):
                    return await call_api(self.walk.step, named(self.api.name))
        except GaveUp:
            raise
        except BaseException:
            self._count()  # nobody knows what it did
            raise
        finally:
            _calling.reset(calling)

    async def _read(self, value: Any, what: str, read: AnswerReader[R]) -> Answered[R]:
        """Return what was returned as the answer that the goal wants, and write it down."""
        try:
            answer, text = _read(value, read)
        except ValueError as error:
            why = named(" ".join(str(error).split()), REASON_CHARACTERS)
            raise GaveUp(f"What the API returned is not the answer that was asked for: {why}.", layer=API) from None
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


def _read(value: Any, read: AnswerReader[R]) -> tuple[R, str]:
    """Return what was returned as the answer, and its text. Raises ValueError if it is none."""
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
        with suppress(ValueError):  # where a text is wanted that is one of some
            return read(text), text
        raise
