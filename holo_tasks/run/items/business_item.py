"""Make one attempt at a business item: claim it, do the work at most once, and store the result.

`Attempt` does it. An item whose work fails goes on the dead-letter list. Steps, sub-goals and the command line all use
it. `ItemRecords` finds the ledger and the list.
"""

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
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.machine.home import holo_home
from holo_tasks.run.items.dead_letters import file_item
from holo_tasks.run.items.journal import NOT_DONE, Probe, journalled, left_to_person, look_for_effect
from holo_tasks.run.items.stored_results import to_stored_json
from holo_tasks.run.items.stored_work import Call, StoredFunction
from holo_tasks.run.prefect_edge.flow_context import deployment_id, flow_run_id
from holo_tasks.run.run import Run, current_guard, progress, run_to_end, running_here, status_and_reason, under_claim
from holo_tasks.run.subgoal_context import Subgoal
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.items import WORKER, Items, NestedItems
from holo_tasks.safety.records.ledger import Claim, Finished, Ledger, WorkIdentity, worker

FILING_S = 2.0
"""Seconds that a cancelled flow may spend on adding an item to the dead-letter list."""
logger = logging.getLogger("holo_tasks")


@dataclass(frozen=True)
class ItemRecords:
    """The ledger of results and the dead-letter list: those of the current run, or else those of this machine."""

    ledger: Ledger
    items: Items
    home: Path
    run: Run | None = None

    @classmethod
    def of_current_run(cls) -> ItemRecords:
        """Return the books of the current run, or open those under ``HOLO_HOME`` if no run is open."""
        if (run := running_here()) is not None:
            return cls(run.ledger, run.items, run.home, run)
        home = holo_home()
        store = _store(home, os.environ.get(DATABASE_VARIABLE, ""))
        return cls(Ledger(store), Items(store), home)

    async def skip(self, token: str, goal: str, title: str, done: Finished) -> None:
        """Record that an earlier attempt already did the work."""
        if self.run is not None:
            await self.run.skipping.add(self.run, token, goal, title, done)
        else:
            await self.settle(token, goal)
            logger.info("Already done: %s for %s.", goal, exact(token))

    async def settle(self, token: str, goal: str) -> None:
        """Remove a finished item from the dead-letter list.

        If the list is unreachable, the item stays on it until a later run finds the result.
        """
        with suppress(InvalidUsage):
            await asyncio.to_thread(self.items.settle, token, goal)


@lru_cache(maxsize=4)
def _store(home: Path, address: str) -> Store:
    """Return the cached database of a home or address. Each one keeps its own connections."""
    return store_at(home)


@dataclass(frozen=True)
class WorkItem:
    """A business item and the work that a call requests for it.

    ``inputs`` is the digest of the arguments. ``how`` tells the command line how a person can retry the work. ``read``
    and ``write`` convert a stored result.

    Without a ``token`` no item is involved: no result is stored and no item is listed. If the work is ``alone``, the
    process does nothing else. Then an error with the status ``invalid`` is not listed, since the process reports it.
    A cancelled attempt then waits until the item is listed. In a flow with many items, only the list identifies the
    failed one, and a cancelled flow has to end quickly.
    """

    token: str
    goal: str
    title: str
    inputs: str
    same: WorkIdentity
    how: Mapping[str, Any]
    read: Callable[[Finished], Any]
    write: Callable[[Any], tuple[str, Any]]
    alone: bool = False

    @classmethod
    def of(cls, kept: StoredFunction, call: Call, run: Run | None) -> Self:
        """Return the item for a call of a function in a flow."""
        deployment = run.deployment_id if run else deployment_id()
        return cls(
            call.token,
            kept.goal,
            call.title,
            call.inputs,
            kept.same,
            {"kind": "flow", "deployment_id": deployment, WORKER: worker(), **kept.resume(call)},
            lambda done: kept.read(call.token, done),
            lambda found: to_stored_json(kept.returns, found),
        )


@dataclass
class Attempt:
    """One attempt at a business item.

    Sub-goals inside each other may have the same token. Only the outermost goal counts on the dead-letter list.
    ``listed`` has the goals inside that failed and were listed, and ``around`` is the enclosing sub-goal. ``intent`` is
    the journal number of work that consists of one action.
    """

    item: WorkItem
    books: ItemRecords
    around: Subgoal | None = None
    listed: Collection[str] = ()
    claim: Claim | None = None
    intent: int | None = None
    finished: bool = False
    """Whether the result is stored. An error after that does not put the item on the list."""
    reported_reason: str = ""
    """Message for the user if the item could not be put on the dead-letter list."""

    async def do_once(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Return the item's result: do the work under a claim, or return the stored result.

        An exception puts the item on the dead-letter list and is raised again. If Prefect has suspended the flow run,
        that `Pause` is raised instead, even from inside an exception group.
        """
        item, books = self.item, self.books
        async with self._filing_errors():
            if not item.token:
                return await work()
            async with books.ledger.at_work(item.token, item.goal, item.same) as self.claim:
                done = await asyncio.to_thread(books.ledger.find, item.token, item.goal, item.inputs)
                if done is None:
                    return await work()
                result = item.read(done)
                await books.skip(item.token, item.goal, item.title, done)
                return result

    async def probe_earlier(self, probe: Probe | None) -> Any:
        """Return the result of an earlier attempt, or `NOT_DONE` if it certainly had no effect.

        Raises `NeedsPerson` if the probe cannot tell.
        """
        if self.claim is None:
            return NOT_DONE
        with progress(1):  # a probe does not count as a step of the flow
            return await look_for_effect(self.claim, probe)

    async def intend(self) -> None:
        """Write the intent of a single action into the journal, before the action."""
        assert self.claim is not None
        self.intent = await self.claim.intend(self.item.goal, "")

    async def do_and_store(
        self, work: Callable[[], Awaitable[Any]], journal: Journal | None, layers: Sequence[str] = ()
    ) -> Any:
        """Do the work under the claim and store its result.

        Actions inside go into ``journal``, or into no journal. ``layers`` are the layers that produced the result. An
        attempt that stops after an action is left to a person.
        """
        claim = self.claim
        if claim is None:
            with journalled(journal):
                return await work()
        with left_to_person(claim):
            with under_claim(self.books.run, claim, journal):
                found = await work()
            text, result = self.item.write(found)
            await run_to_end(
                self._keep(claim, text, layers)
            )  # store the result even if the task is cancelled meanwhile
        return result

    async def _keep(self, claim: Claim, text: str, layers: Sequence[str]) -> None:
        if self.intent is not None:
            await claim.done(self.intent)
        await asyncio.to_thread(claim.ledger.finish, claim, self.item.inputs, text, claim.trace)
        self.finished = True
        await self.books.settle(claim.token, claim.goal)
        if (run := self.books.run) is not None:
            run.subscribed.item(claim.token, self.item.title, "answered", layer=" + ".join(dict.fromkeys(layers)))

    @asynccontextmanager
    async def _filing_errors(self) -> AsyncIterator[None]:
        """Put the item on the dead-letter list if the block raises."""
        try:
            yield
        except GeneratorExit:  # a closing generator cannot await
            raise
        except BaseException as raised:
            run, error = self.books.run, raised
            if isinstance(raised, BaseExceptionGroup) and run is not None and run.suspended is not None:
                error = run.suspended
            if isinstance(error, asyncio.CancelledError):
                filing = asyncio.ensure_future(self._file(error))
                await asyncio.wait({filing}, timeout=None if self.item.alone else FILING_S)
            elif isinstance(error, Pause):  # the process ends after it
                await run_to_end(self._file(error))
            else:
                await self._file(error)
            if error is raised:
                raise
            raise error from raised

    async def _file(self, error: BaseException) -> None:
        if self.finished:
            return
        item, run, claim = self.item, self.books.run, self.claim
        status, why = status_and_reason(error, current_guard(), run)
        if run is not None:
            run.subscribed.item(item.token, item.title, status, why)
        if not item.token or (status != "killed" and self._is_mistake(error)):
            return
        filed, failed = getattr(error, "filed_as", ("", ""))
        within = NestedItems(frozenset(self.listed), failed if filed == item.token else "")
        error.filed_as = item.token, item.goal  # type: ignore[attr-defined]
        outer = self.around
        while outer is not None and outer.token != item.token:
            outer = outer.around
        if outer is not None:
            outer.listed.add(item.goal)
        earlier = claim.earlier[-1].trace if claim is not None and claim.earlier else ""
        self.reported_reason = await file_item(
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
        """Return whether the error is a usage error that did nothing for the item."""
        if not isinstance(error, HoloError) or isinstance(error, UnfitItem) or error.half_done:
            return False
        return isinstance(error, InvalidUsage) or (self.item.alone and error.status == "invalid")
