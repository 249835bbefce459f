"""`@step`: a step without a screen, such as a request or a mail, which is done at most once for each key."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from prefect import task
from prefect.cache_policies import NO_CACHE

from holo_tasks.agent.agent_step import StepDecorator, ending_as_killed
from holo_tasks.agent.subgoal import FILING_S
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.core.visible_text import exact
from holo_tasks.machine.home import holo_home
from holo_tasks.run.flow_context import deployment_id, flow_run_id
from holo_tasks.run.journal import NOT_DONE, current_journal, journalled, left_to_person, look_for_effect
from holo_tasks.run.kept_work import Call, Kept, check_template
from holo_tasks.run.run import Run, current_guard, ending, running_here, surely, working
from holo_tasks.run.same_work import work_of
from holo_tasks.run.secret_filter import HushedName, hushing_errors
from holo_tasks.run.stored_results import stored
from holo_tasks.run.subgoal_context import current_subgoal
from holo_tasks.run.unfinished import file_unfinished
from holo_tasks.safety.database_address import DATABASE_VARIABLE
from holo_tasks.safety.items import Items
from holo_tasks.safety.ledger import Claim, Finished, Ledger
from holo_tasks.safety.scrubbing import hush_error
from holo_tasks.safety.store import Store, store_at

P = ParamSpec("P")
R = TypeVar("R")
logger = logging.getLogger("holo_tasks")


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

        @wraps(function)
        async def at_most_once(*args: P.args, **kwargs: P.kwargs) -> R:
            call = kept.call(args, kwargs)
            if not call.token:
                return await function(*args, **kwargs)
            looking = None if probe is None else (lambda: probe(*args, **kwargs))
            work = _Once(kept, call, await asyncio.to_thread(_Books.here), repeatable, looking)
            return cast("R", await work.result(lambda: function(*args, **kwargs)))

        name = HushedName(kept.title)
        made: Any = task(name=kept.goal, task_run_name=name, cache_policy=NO_CACHE, persist_result=False, retries=0)(
            hushing_errors(ending_as_killed(at_most_once))
        )

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
        store = _store(home, os.environ.get(DATABASE_VARIABLE, ""))
        return cls(Ledger(store), Items(store), home, run)

    @property
    def trace(self) -> str:
        return self.run.trace if self.run else ""

    async def skip(self, kept: Kept, call: Call, found: Finished) -> None:
        """Say that something was done before."""
        if self.run is not None:
            await self.run.skipping.add(self.run, call.token, kept.goal, call.title, found)
        else:
            await self.settle(kept, call)
            logger.info("Already done: %s for %s.", kept.goal, exact(call.token))

    async def settle(self, kept: Kept, call: Call) -> None:
        """Take what is done off the list; where that cannot be done now, whoever finds it done will."""
        with suppress(InvalidUsage):
            await asyncio.to_thread(self.items.settle, call.token, kept.goal)


@lru_cache(maxsize=4)
def _store(home: Path, address: str) -> Store:
    """Return the database of a home, or at an address; each has its connections."""
    return store_at(home)


@dataclass
class _Once:
    """One attempt at a step."""

    kept: Kept
    call: Call
    books: _Books
    repeatable: bool
    probe: Callable[[], Awaitable[Any]] | None
    finished: bool = False
    """Whether its result is kept: what goes wrong after that is no matter of the item."""

    async def result(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Return the result; put the item on the list if there is none."""
        try:
            return await self._claimed(work)
        except asyncio.CancelledError as error:
            filing = asyncio.ensure_future(self._file(error))
            await asyncio.wait({filing}, timeout=FILING_S)
            raise
        except BaseException as error:
            if isinstance(error, HoloError):
                hush_error(error)
            await self._file(error)
            raise

    async def _claimed(self, work: Callable[[], Awaitable[Any]]) -> Any:
        kept, call, ledger = self.kept, self.call, self.books.ledger
        async with AsyncExitStack() as around:
            claim = await around.enter_async_context(ledger.at_work(call.token, kept.goal, kept.same))
            around.enter_context(left_to_person(claim))
            done = await asyncio.to_thread(ledger.find, call.token, kept.goal, call.inputs)
            if done is not None:  # somebody else did it just now
                result = kept.read(call.token, done)
                await self.books.skip(kept, call, done)
                return result
            with self._at_work(claim):
                return await self._done(claim, work)

    @contextmanager
    def _at_work(self, claim: Claim) -> Iterator[None]:
        """Stop the run when the claim is lost. What may be repeated is a part of the sub-goal around it."""
        run, journal = self.books.run, current_journal() if self.repeatable else None
        if run is None:
            yield
            return
        with working(run, claim, effect=False), journalled(journal):
            yield

    async def _done(self, claim: Claim, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do the work, unless an earlier attempt did it."""
        found = NOT_DONE if self.repeatable else await look_for_effect(claim.ledger, claim, self.probe)
        if found is not NOT_DONE:
            return await self._keep(claim, found, None)
        self._check_run()
        number = None if self.repeatable else await claim.intend(self.kept.goal, "")
        return await self._keep(claim, await work(), number)

    def _check_run(self) -> None:
        """Begin nothing in a run that is being stopped, or that Prefect has suspended."""
        if (run := self.books.run) is None:
            return
        if run.suspended is not None:
            raise run.suspended
        if why := run.switch.why():
            raise asyncio.CancelledError(why)

    async def _keep(self, claim: Claim, found: Any, number: int | None) -> Any:
        """Keep a result, whoever is cancelled meanwhile: it is known now."""
        text, result = stored(self.kept.returns, found)

        async def keep() -> None:
            if number is not None:
                await claim.done(number)
            await asyncio.to_thread(claim.ledger.finish, claim, self.call.inputs, text, self.books.trace)
            self.finished = True
            await self.books.settle(self.kept, self.call)

        await surely(keep())
        self._tell("answered")
        return result

    def _tell(self, status: str, why: str = "") -> None:
        if self.books.run is not None:
            self.books.run.told.item(self.call.token, self.call.title, status, why)

    async def _file(self, error: BaseException) -> None:
        if self.finished:
            return
        status, why = ending(error, current_guard())
        self._tell(status, why)
        await file_unfinished(
            self.books.items,
            self.books.home,
            self.call.token,
            self.kept.goal,
            error,
            status,
            around=current_subgoal(),
            resume=self.kept.resume(self.call),
            why=why,
            deployment_id=deployment_id(),
            trace=self.books.trace,
            flow_run_id=flow_run_id(),
        )
