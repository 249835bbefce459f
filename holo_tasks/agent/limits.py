"""`limits`: limits on cost, actions, time and calls of a block of code."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from types import TracebackType
from typing import TypeVar

from prefect.context import FlowRunContext

from holo_tasks.core.errors import InvalidUsage, LimitReached
from holo_tasks.core.limits.budget import Guard, Limits, out_of_time
from holo_tasks.run.items.journal import not_untouched
from holo_tasks.run.run import current_guard, guarded, running_here
from holo_tasks.run.subgoal_context import current_subgoal
from holo_tasks.safety.records.budgets import item_key
from holo_tasks.safety.scrubbing import check_open

R = TypeVar("R")
POLL_INTERVAL_S = 0.5
"""Interval in which a scope's clock is read while it is stopped."""


def limits(
    *,
    max_cost_usd: float | None = None,
    max_actions: int | None = None,
    timeout_seconds: float | None = None,
    max_calls_per_5_minutes: int | None = None,
    name: str = "limits",
    budget: str | None = None,
) -> LimitScope:
    """Limit everything inside a block of code, as `cost_guardrail` does for a function.

        async with limits(max_cost_usd=0.50, timeout_seconds=60):
            await pursue("Read the newest message.")

    Limits nest: the cost inside is charged to all scopes around it. Cost, actions and calls count over retries and
    re-runs, under the ``name`` of the block and its place in the flow run. ``budget`` names a budget that other flows
    and workers share. ``async with`` cancels the block at the deadline. ``with`` checks the deadline at each step.
    Raises `LimitReached` at a limit, and `InvalidUsage` without any limit.
    """
    given = Limits(max_cost_usd, max_actions, timeout_seconds, max_calls_per_5_minutes)
    if given == Limits():
        raise InvalidUsage("limits() guards nothing without a limit: limits(max_cost_usd=0.50).")
    if budget is not None:
        check_open("The budget", budget)
    return LimitScope(name, given, budget)


class LimitScope(AbstractContextManager[Guard], AbstractAsyncContextManager[Guard]):
    """A block of code under limits. Each entry counts separately, under the same name with another number."""

    def __init__(self, name: str, limits: Limits, budget: str | None = None) -> None:
        self.name, self.limits, self.budget = name, limits, budget
        self._open: list[ExitStack | AsyncExitStack] = []

    def __enter__(self) -> Guard:
        with ExitStack() as stack:
            guard = stack.enter_context(limited(self.name, self.limits, self.budget, numbered=True))
            self._open.append(stack.pop_all())
            return guard

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        stack = self._open.pop()
        assert isinstance(stack, ExitStack)
        return stack.__exit__(kind, error, trace)

    async def __aenter__(self) -> Guard:
        async with AsyncExitStack() as stack:
            guard = stack.enter_context(limited(self.name, self.limits, self.budget, numbered=True))
            await stack.enter_async_context(deadline(guard))
            self._open.append(stack.pop_all())
            return guard

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        stack = self._open.pop()
        assert isinstance(stack, AsyncExitStack)
        return await stack.__aexit__(kind, error, trace)


@contextmanager
def limited(name: str, limits: Limits, budget: str | None = None, *, numbered: bool = False) -> Iterator[Guard]:
    """Open a scope of this name. The costs of earlier attempts under the same name count.

    Calls of one function within a business item share the budget. With ``numbered``, each entry has its own.
    """
    key = _key(name, numbered=numbered) if budget is None else f"shared:{budget}"
    with guarded(f"‘{name}’", limits, key) as guard, not_untouched(guard):
        try:
            yield guard
        except LimitReached as error:
            if run := running_here():
                run.subscribed.limit(error)
            raise


def _key(name: str, *, numbered: bool) -> str:
    """Return a key for a scope's budget that later attempts also get. Empty for the budget of the scope around it."""
    here, around = current_subgoal(), current_guard()
    if here is not None and here.token:
        if numbered and around is not None:
            around.opened[name] = around.opened.get(name, 0) + 1
            name = f"{name}#{around.opened[name]}"
        return item_key(here.token, f"{here.goal}/{name}")
    if around is not None:
        return ""
    context = FlowRunContext.get()
    return f"flow:{context.flow_run.id}/{name}" if context and context.flow_run else ""


@asynccontextmanager
async def deadline(guard: Guard) -> AsyncIterator[None]:
    """Cancel the block at the scope's own deadline. The deadline moves while a person has the screen."""
    if guard.limits.timeout_seconds is None:
        yield
        return
    loop = asyncio.get_running_loop()
    handle: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal handle
        left_s = guard.left_s(time.monotonic())
        if left_s <= 0:
            timer.reschedule(loop.time())
        else:
            handle = loop.call_later(min(left_s, POLL_INTERVAL_S) if guard.stops else left_s, look)

    try:
        async with asyncio.timeout(None) as timer:
            look()
            yield
    except TimeoutError:
        if timer.expired() or guard.left_s(time.monotonic()) <= 0:
            raise out_of_time(guard) from None
        raise
    finally:
        if handle is not None:
            handle.cancel()


async def before_deadline(guard: Guard, work: Awaitable[R]) -> R:
    """Await ``work`` until the scope's own deadline. Raises `LimitReached` there."""
    async with deadline(guard):
        return await work
