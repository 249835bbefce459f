"""An attempt at a business item: claimed, done at most once, and its result kept; else the item is put on the list."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from prefect.exceptions import Pause

from holo_tasks.core.errors import HoloError, InvalidUsage, UnfitItem
from holo_tasks.core.ports import Journal
from holo_tasks.core.visible_text import exact
from holo_tasks.machine.home import holo_home
from holo_tasks.run.dead_letters import file_item
from holo_tasks.run.flow_context import deployment_id, flow_run_id
from holo_tasks.run.journal import NOT_DONE, Probe, journalled, left_to_person, look_for_effect
from holo_tasks.run.kept_work import Call, Kept
from holo_tasks.run.run import Run, current_guard, ending, progress, running_here, surely, working
from holo_tasks.run.stored_results import stored
from holo_tasks.run.subgoal_context import Subgoal
from holo_tasks.safety.database_address import DATABASE_VARIABLE
from holo_tasks.safety.items import WORKER, Items, Within
from holo_tasks.safety.ledger import Claim, Finished, Ledger, Work, worker
from holo_tasks.safety.store import Store, store_at

FILING_S = 2.0
"""How long a flow that is being stopped takes to put an item on the list."""
logger = logging.getLogger("holo_tasks")


@dataclass(frozen=True)
class Books:
    """Where it is kept what is done and what could not be: the run's, or this machine's where there is no run."""

    ledger: Ledger
    items: Items
    home: Path
    run: Run | None = None

    @classmethod
    def here(cls) -> Books:
        if (run := running_here()) is not None:
            return cls(run.ledger, run.items, run.home, run)
        home = holo_home()
        store = _store(home, os.environ.get(DATABASE_VARIABLE, ""))
        return cls(Ledger(store), Items(store), home)

    async def skip(self, token: str, goal: str, title: str, done: Finished) -> None:
        """Say that something was done before."""
        if self.run is not None:
            await self.run.skipping.add(self.run, token, goal, title, done)
        else:
            await self.settle(token, goal)
            logger.info("Already done: %s for %s.", goal, exact(token))

    async def settle(self, token: str, goal: str) -> None:
        """Take what is done off the list; where that cannot be done now, whoever finds it done will."""
        with suppress(InvalidUsage):
            await asyncio.to_thread(self.items.settle, token, goal)


@lru_cache(maxsize=4)
def _store(home: Path, address: str) -> Store:
    """Return the database of a home, or at an address; each has its connections."""
    return store_at(home)


@dataclass(frozen=True)
class WorkItem:
    """A business item, and the work that a call asks for on it: how the result is read and written, and ``how`` a
    person can have it driven again.

    Without a ``token`` there is no item: nothing is kept, and nothing is put on the list. Work that is ``alone`` is all
    that its process is for: its own end tells of a mistake, so the item is not on the list for that, and it says where
    the item was put, so that is waited for. Of many items of a flow the list alone says which one it was, and a flow
    that is being stopped has to be quick.
    """

    token: str
    goal: str
    title: str
    inputs: str
    same: Work
    how: Mapping[str, Any]
    read: Callable[[Finished], Any]
    write: Callable[[Any], tuple[str, Any]]
    alone: bool = False

    @classmethod
    def of(cls, kept: Kept, call: Call, run: Run | None) -> Self:
        """Describe a call in a flow."""
        deployment = run.deployment_id if run else deployment_id()
        return cls(
            call.token,
            kept.goal,
            call.title,
            call.inputs,
            kept.same,
            {"kind": "flow", "deployment_id": deployment, WORKER: worker(), **kept.resume(call)},
            lambda done: kept.read(call.token, done),
            lambda found: stored(kept.returns, found),
        )


@dataclass
class Attempt:
    """One attempt at a business item.

    Of works inside each other with the same token the list has the outermost, but counts it once: ``listed`` are the
    goals inside that failed and are on the list, ``around`` is the sub-goal that the work is a part of. ``intent`` is
    the number of what was written down of work that is one single action.
    """

    item: WorkItem
    books: Books
    around: Subgoal | None = None
    listed: Collection[str] = ()
    claim: Claim | None = None
    intent: int | None = None
    finished: bool = False
    """Whether its result is kept: what goes wrong after that is no matter of the item."""
    told: str = ""
    """What there is to tell of an item that could not be put on the list."""

    async def once(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Return what the item came to: in this work, under a claim, or in what finished it before.

        What stops it puts the item on the list, and is raised. Where Prefect has suspended the run that is raised, also
        if it comes out of a group of tasks as a part of the group.
        """
        item, books = self.item, self.books
        async with self._filed():
            if not item.token:
                return await work()
            async with books.ledger.at_work(item.token, item.goal, item.same) as self.claim:
                done = await asyncio.to_thread(books.ledger.find, item.token, item.goal, item.inputs)
                if done is None:
                    return await work()
                result = item.read(done)
                await books.skip(item.token, item.goal, item.title, done)
                return result

    async def looked(self, probe: Probe | None) -> Any:
        """Return what an earlier attempt did; `NOT_DONE` if that is certainly nothing. Else raise `NeedsPerson`."""
        if self.claim is None:
            return NOT_DONE
        with progress(1):  # looking again is no step of the story
            return await look_for_effect(self.claim, probe)

    async def intend(self) -> None:
        """Write down that work which is a single action is about to be done."""
        assert self.claim is not None
        self.intent = await self.claim.intend(self.item.goal, "")

    async def kept(
        self, work: Callable[[], Awaitable[Any]], journal: Journal | None, layers: Sequence[str] = ()
    ) -> Any:
        """Work under the claim, and keep what comes of it; what stops it half done is left to a person.

        The actions inside are written into a ``journal``, or into none. ``layers`` are those that came to the result.
        """
        claim = self.claim
        if claim is None:
            with journalled(journal):
                return await work()
        with left_to_person(claim):
            with working(self.books.run, claim, journal):
                found = await work()
            text, result = self.item.write(found)
            await surely(self._keep(claim, text, layers))  # it is known now, whoever is cancelled meanwhile
        return result

    async def _keep(self, claim: Claim, text: str, layers: Sequence[str]) -> None:
        if self.intent is not None:
            await claim.done(self.intent)
        await asyncio.to_thread(claim.ledger.finish, claim, self.item.inputs, text, claim.trace)
        self.finished = True
        await self.books.settle(claim.token, claim.goal)
        if (run := self.books.run) is not None:
            run.told.item(claim.token, self.item.title, "answered", layer=" + ".join(dict.fromkeys(layers)))

    @asynccontextmanager
    async def _filed(self) -> AsyncIterator[None]:
        """Put the item on the list when what is inside does not come to its result."""
        try:
            yield
        except GeneratorExit:  # nothing can be awaited any more
            raise
        except BaseException as raised:
            run, error = self.books.run, raised
            if isinstance(raised, BaseExceptionGroup) and run is not None and run.suspended is not None:
                error = run.suspended
            if isinstance(error, asyncio.CancelledError):
                filing = asyncio.ensure_future(self._file(error))
                await asyncio.wait({filing}, timeout=None if self.item.alone else FILING_S)
            elif isinstance(error, Pause):  # nothing of this process goes on after it
                await surely(self._file(error))
            else:
                await self._file(error)
            if error is raised:
                raise
            raise error from raised

    async def _file(self, error: BaseException) -> None:
        if self.finished:
            return
        item, run, claim = self.item, self.books.run, self.claim
        status, why = ending(error, current_guard(), run)
        if run is not None:
            run.told.item(item.token, item.title, status, why)
        if not item.token or (status != "killed" and self._is_mistake(error)):
            return
        filed, failed = getattr(error, "filed_as", ("", ""))
        within = Within(frozenset(self.listed), failed if filed == item.token else "")
        error.filed_as = item.token, item.goal  # type: ignore[attr-defined]
        outer = self.around
        while outer is not None and outer.token != item.token:
            outer = outer.around
        if outer is not None:
            outer.listed.add(item.goal)
        earlier = claim.earlier[-1].trace if claim is not None and claim.earlier else ""
        self.told = await file_item(
            self.books.items,
            self.books.home,
            item.token,
            item.goal,
            status=status,
            reason=why,
            trace=run.trace if run is not None else earlier,
            flow_run_id=run.flow_run_id if run is not None else flow_run_id(),
            how=item.how,
            within=within,
        )

    def _is_mistake(self, error: BaseException) -> bool:
        """Say whether it is no matter of the item, since nothing was done for it."""
        if not isinstance(error, HoloError) or isinstance(error, UnfitItem) or error.half_done:
            return False
        return isinstance(error, InvalidUsage) or (self.item.alone and error.status == "invalid")
