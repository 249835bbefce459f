"""`@step`: a step without a screen, such as a request or a mail, that is done at most once per key."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from prefect import task
from prefect.cache_policies import NO_CACHE

from holo_tasks.agent.agent_step import StepDecorator, ending_as_killed
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.run.items.business_item import Attempt, ItemRecords, WorkItem
from holo_tasks.run.items.journal import NOT_DONE, current_journal
from holo_tasks.run.items.stored_work import StoredFunction, check_template
from holo_tasks.run.items.work_identity import work_of
from holo_tasks.run.prefect_edge.log_filter import one_line_errors
from holo_tasks.run.prefect_edge.secret_filter import ScrubbedRunName, with_scrubbed_errors
from holo_tasks.run.run import Run
from holo_tasks.run.subgoal_context import current_subgoal

P = ParamSpec("P")
R = TypeVar("R")


def step(
    *,
    key: str,
    title: str | None = None,
    inputs: Sequence[str] | None = None,
    repeatable: bool = False,
    probe: Callable[..., Awaitable[Any]] | None = None,
    ledger: str | None = None,
) -> StepDecorator:
    """Make an async function a step of a flow: a Prefect task that is done at most once per ``key``.

    It is for work without a screen that must not be repeated: a request that creates something, a mail, a payment.
    ``key`` and ``title`` are format strings over the arguments. The key identifies the business item, and the result is
    stored in the ledger, like a sub-goal's. A later call with the same arguments, in any run, returns that result
    without a task run. With other arguments it raises `TokenConflict`. ``inputs`` names the arguments that are
    compared, by default all. If all arguments in the key are None, the call has no key.

    An intent is written before the function is called. If the process dies or the function raises, the next attempt
    calls ``probe`` with the same arguments. The probe returns the result if the effect is there, `NOT_DONE` if it is
    certainly not there, and None if it cannot tell. Without a certain result nothing is repeated: `NeedsPerson` is
    raised, and the item stays on the dead-letter list until a person has looked.

    ``repeatable`` says that a second execution does no harm, as with a row that is written by its key. Then it is done
    again without a probe. A step has no automatic retries. ``ledger`` is a fixed name of the work, as in `subgoal`.

    A step works with or without an open agent. The result is stored as JSON, by the function's return annotation.
    """
    one_line_errors()
    if repeatable and probe is not None:
        raise InvalidUsage("A repeatable step needs no probe: give either repeatable= or probe=.")

    def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        if not inspect.iscoroutinefunction(function):
            raise InvalidUsage(f"@step goes on an async function: make {function.__name__!r} `async def`.")
        for what, template in (("title", title), ("key", key)):
            check_template(f"The {what} of {function.__name__!r}", template, inspect.signature(function))
        kept = StoredFunction.describe(function, token=key, title=title, inputs=inputs, work=work_of(function, ledger))

        @wraps(function)
        async def at_most_once(*args: P.args, **kwargs: P.kwargs) -> R:
            call = kept.call(args, kwargs)
            if not call.token:
                return await function(*args, **kwargs)
            books = await asyncio.to_thread(ItemRecords.of_current_run)
            attempt = Attempt(WorkItem.of(kept, call, books.run), books, around=current_subgoal())
            looking = None if probe is None else (lambda: probe(*args, **kwargs))

            async def work() -> R:
                if not repeatable and (found := await attempt.probe_earlier(looking)) is not NOT_DONE:
                    return cast("R", found)
                _check_run(books.run)
                if not repeatable:
                    await attempt.intend()
                return await function(*args, **kwargs)

            # A repeatable step uses the journal of the sub-goal around it.
            journal = current_journal() if repeatable else None
            return cast("R", await attempt.do_once(lambda: attempt.do_and_store(work, journal)))

        name = ScrubbedRunName(kept.title)
        made: Any = task(name=kept.goal, task_run_name=name, cache_policy=NO_CACHE, persist_result=False, retries=0)(
            with_scrubbed_errors(ending_as_killed(at_most_once))
        )

        @wraps(function)
        async def unless_done(*args: P.args, **kwargs: P.kwargs) -> R:
            books = await asyncio.to_thread(ItemRecords.of_current_run)
            found = await asyncio.to_thread(kept.found, books.ledger, args, kwargs)
            if found is None:
                return cast("R", await made(*args, **kwargs))
            await books.skip(found.call.token, kept.goal, found.call.title, found.done)
            return cast("R", found.result)

        unless_done.known = kept  # type: ignore[attr-defined]  # the attribute of a sub-goal
        return unless_done

    return decorate


def _check_run(run: Run | None) -> None:
    """Raise if the run is being stopped, or if Prefect has suspended it."""
    if run is None:
        return
    if run.suspended is not None:
        raise run.suspended
    if why := run.switch.why():
        raise asyncio.CancelledError(why)
