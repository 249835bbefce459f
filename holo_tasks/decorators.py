"""`@cost_guardrail`: ceilings on money, actions and time, in one line above a function."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from holo_tasks.core.budget import Guard, Limits, out_of_time
from holo_tasks.run import guarded

P = ParamSpec("P")
R = TypeVar("R")


def cost_guardrail(
    *,
    max_cost_usd: float | None = None,
    max_actions: int | None = None,
    timeout_seconds: float | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Limit what everything inside a function may spend; goes under ``@subgoal``, ``@flow`` or ``@task``.

    Limits nest: what an inner function spends is charged to all around it. A limit that is reached raises
    `LimitReached`. The deadline also stops a model call that hangs; in a synchronous function it is checked
    at the next step instead.
    """
    limits = Limits(max_cost_usd, max_actions, timeout_seconds)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__.replace("_", " ")
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def guarded_async(*args: P.args, **kwargs: P.kwargs) -> Any:
                with guarded(f"‘{name}’", limits) as guard:
                    return await before_deadline(guard, function(*args, **kwargs))

            return cast("Callable[P, R]", guarded_async)

        @wraps(function)
        def guarded_sync(*args: P.args, **kwargs: P.kwargs) -> R:
            with guarded(f"‘{name}’", limits):
                return function(*args, **kwargs)

        return guarded_sync

    return decorate


async def before_deadline(guard: Guard, work: Awaitable[R]) -> R:
    """Await something, but not past the scope's own deadline."""
    seconds = guard.limits.timeout_seconds
    if seconds is None:
        return await work
    try:
        async with asyncio.timeout(seconds) as timer:
            return await work
    except TimeoutError:
        if timer.expired() or time.monotonic() >= guard.started_s + seconds:
            raise out_of_time(guard) from None
        raise
