"""`@step`: a step without a screen, such as a request or a mail, which is done at most once for each key."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from prefect import task
from prefect.cache_policies import NO_CACHE

from holo_tasks.agent import deployment_id, flow_run_id
from holo_tasks.claims import NOT_DONE, left_to_person, look_for_effect
from holo_tasks.core.errors import HoloError, InvalidUsage, UnfitItem
from holo_tasks.core.exactly import exact
from holo_tasks.filing import file_item
from holo_tasks.home import holo_home
from holo_tasks.hush import HushedName, hushing_errors
from holo_tasks.kept import Call, Kept, check_template
from holo_tasks.run import Run, ending, running_here, surely, working
from holo_tasks.safety.items import WORKER, Items
from holo_tasks.safety.ledger import Claim, Finished, Ledger, worker
from holo_tasks.safety.scrubbing import hush_error
from holo_tasks.safety.store import store_at
from holo_tasks.same_work import work_of
from holo_tasks.stored import stored

P = ParamSpec("P")
R = TypeVar("R")
logger = logging.getLogger("holo_tasks")


class StepDecorator(Protocol):
    """Keeps the wrapped function's signature."""

    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Callable[P, Awaitable[R]]: ...


@dataclass(frozen=True)
class _Books:
    """Where it is kept what is done and what could not be: the run's, or this machine's where there is no run."""

    ledger: Ledger
    items: Items
    home: Path | None
    run: Run | None

    @classmethod
    def here(cls) -> _Books:
        run = running_here()
        if run is not None and run.ledger is not None and run.items is not None:
            return cls(run.ledger, run.items, run.home, run)
        home = holo_home()
        store = store_at(home)
        return cls(Ledger(store), Items(store), home, run)

    async def skip(self, kept: Kept, call: Call, found: Finished) -> None:
        """Say that something was done before."""
        if self.run is not None:
            await self.run.skipping.add(self.run, call.token, kept.goal, call.title, found)
        else:
            await asyncio.to_thread(self.items.settle, call.token, kept.goal)
            logger.info("Already done: %s for %s.", kept.goal, exact(call.token))

    async def file(self, kept: Kept, call: Call, error: BaseException) -> None:
        """Put what could not be finished on the list, but for a mistake with which nothing was begun."""
        if isinstance(error, InvalidUsage) and not (isinstance(error, UnfitItem) or error.half_done):
            return
        status, why = ending(error)
        how = {"kind": "flow", "deployment_id": deployment_id(), WORKER: worker(), **kept.resume(call)}
        await file_item(
            self.items,
            self.home,
            call.token,
            kept.goal,
            status=status,
            reason=why,
            trace=self.run.trace if self.run else "",
            flow_run_id=flow_run_id(),
            how=how,
        )


def step(
    *,
    key: str,
    title: str | None = None,
    inputs: Sequence[str] | None = None,
    repeatable: bool = False,
    probe: Callable[..., Awaitable[Any]] | None = None,
    ledger: str | None = None,
) -> StepDecorator:
    """Make an async function a step of a flow: a Prefect task that is done at most once for each ``key``.

    For what a flow does beside the screen and must not do twice: a request that creates something, a mail, a payment.
    ``key`` and ``title`` are format strings over the arguments. The key names the business item, and what was done
    under it is kept in the same ledger as sub-goals are: a later call with the same arguments, in this run or another
    one, returns the result of the first without a task run; with other arguments it raises `TokenConflict`. ``inputs``
    names the arguments that count for that; all do unless it is given. A key of arguments that are all None is no key.

    Before the function is called an intent is written down. Whoever finds one that did not come to an end, because the
    process was killed or the function raised, calls ``probe`` with the same arguments: it returns the result if the
    effect is there, `NOT_DONE` if it is certain that it is not, and None if it cannot tell. Without a certain word
    nothing is repeated: `NeedsPerson`, and the item is on the list of `holo-tasks runs` until somebody has looked.
    ``repeatable`` says that doing it twice does no harm, as with a row that is written by its key: then it is simply
    done again. It is never retried by itself. ``ledger`` is a name by which the work is known, as in `subgoal`.

    Works inside an agent and without one. The result is kept as JSON, by the function's return annotation.
    """
    if repeatable and probe is not None:
        raise InvalidUsage("A step that may be repeated is not looked for first: give repeatable= or probe=.")

    def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        if not inspect.iscoroutinefunction(function):
            raise InvalidUsage(f"@step goes on an async function: make {function.__name__!r} `async def`.")
        for what, template in (("title", title), ("key", key)):
            check_template(f"The {what} of {function.__name__!r}", template, inspect.signature(function))
        kept = Kept.of(function, token=key, title=title, inputs=inputs, work=work_of(function, ledger))

        async def at_most_once(*args: P.args, **kwargs: P.kwargs) -> R:
            call, books = kept.call(args, kwargs), _Books.here()
            if not call.token:
                return await function(*args, **kwargs)
            looking = None if probe is None else (lambda: probe(*args, **kwargs))
            try:
                return cast("R", await _once(kept, call, books, lambda: function(*args, **kwargs), looking, repeatable))
            except BaseException as error:
                if isinstance(error, HoloError):
                    hush_error(error)
                await surely(books.file(kept, call, error))
                raise

        made: Any = task(
            name=kept.goal,
            task_run_name=HushedName(kept.title),
            cache_policy=NO_CACHE,
            persist_result=False,
            retries=0,
        )(hushing_errors(wraps(function)(at_most_once)))

        @wraps(function)
        async def unless_done(*args: P.args, **kwargs: P.kwargs) -> R:
            books = await asyncio.to_thread(_Books.here)
            found = await asyncio.to_thread(kept.found, books.ledger, args, kwargs)
            if found is None:
                return cast("R", await made(*args, **kwargs))
            await books.skip(kept, found.call, found.done)
            return cast("R", found.result)

        return unless_done

    return decorate


async def _once(
    kept: Kept,
    call: Call,
    books: _Books,
    work: Callable[[], Awaitable[Any]],
    probe: Callable[[], Awaitable[Any]] | None,
    repeatable: bool,
) -> Any:
    ledger = books.ledger
    async with AsyncExitStack() as around:
        claim = await around.enter_async_context(ledger.at_work(call.token, kept.goal, kept.same))
        around.enter_context(left_to_person(claim))
        done = await asyncio.to_thread(ledger.find, call.token, kept.goal, call.inputs)
        if done is not None:  # somebody else did it just now
            await books.skip(kept, call, done)
            return kept.returns.validate_json(done.result)
        with working(books.run, claim, effect=False) if books.run else nullcontext():
            found = await _done(claim, work, None if repeatable else kept.goal, probe)
        text, result = stored(kept.returns, found)
        await asyncio.to_thread(ledger.finish, claim, call.inputs, text, books.run.trace if books.run else "")
        await asyncio.to_thread(books.items.settle, call.token, kept.goal)
        return result


async def _done(
    claim: Claim, work: Callable[[], Awaitable[Any]], noted: str | None, probe: Callable[[], Awaitable[Any]] | None
) -> Any:
    """Do the work, written down before under the name that it is ``noted`` by, unless an earlier attempt did it."""
    if noted is None:
        return await work()
    found = await look_for_effect(claim.ledger, claim, probe)
    if found is not NOT_DONE:
        return found
    number = await claim.intend(noted, "")
    result = await work()
    await claim.done(number)
    return result
