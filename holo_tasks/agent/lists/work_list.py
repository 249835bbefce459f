"""`WorkList`: a list of business items for flows on many machines. One machine works on each item."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, TypeVar, get_args

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from holo_tasks.agent.open_agents import Agents, scopes_around, stops_all_items
from holo_tasks.core.errors import (
    HoloError,
    InvalidUsage,
    Killed,
    LimitReached,
    NeedsPerson,
    PolicyRefused,
    TokenConflict,
    UnfitItem,
)
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.core.texts.key_text import key_text
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.kill import draining
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.patience import retry_async_while_unavailable
from holo_tasks.run.items.business_item import ItemRecords
from holo_tasks.run.items.fair_map import FairMap, Outcome
from holo_tasks.run.items.stored_work import StoredFunction, fill
from holo_tasks.run.prefect_edge.flow_context import flow_run_id
from holo_tasks.run.run import run_to_end, status_and_reason
from holo_tasks.safety.records.ledger import Claim
from holo_tasks.safety.records.work_items import (
    GOAL,
    NewItem,
    Priority,
    QueueCounts,
    QueueRow,
    TakenItem,
    WorkItems,
    new_worker,
)
from holo_tasks.safety.scrubbing import check_open

R = TypeVar("R")
LONGEST_NAME, LONGEST_PAYLOAD = 300, 100_000
MOST_TRIES = 3
LOOK_S = 1.0
"""Interval of the checks for ready items with ``to_the_end``."""
logger = logging.getLogger("holo_tasks")


class WorkList:
    """A named list of business items in the database that all machines share (`HOLO_DATABASE_URL`).

    Any process may add items; each key is added once. Flow runs on any number of machines work on them with `map`. Only
    one worker has an item at a time. ``work`` is a sub-goal or a step with a key. If it is given, added items are
    checked against its arguments, and its key becomes the default key of an item.

    A failed try is repeated after ``pause_s`` seconds. Each further pause is four times as long.
    """

    def __init__(self, name: str, work: Callable[..., Awaitable[Any]] | None = None, *, pause_s: float = 15.0) -> None:
        self.name = _checked_text("The name of a list", name)
        self._work = None if work is None else _Work.of(work)
        self._pause_s = pause_s
        self._lapsed: WorkItems | None = None

    async def add(
        self,
        payload: Mapping[str, Any],
        *,
        key: str = "",
        priority: Priority = "normal",
        deadline: datetime | str | None = None,
        most_tries: int = MOST_TRIES,
    ) -> bool:
        """Put an item on the list. Returns false if it is there already. ``payload`` has the arguments of the work.

        Raises `TokenConflict` if the key was used for another payload. Raises `InvalidUsage` if the payload does not
        fit the work, or contains the value of a secret: payloads are stored in the database as plain text.
        """
        return await self.add_all([self.item(payload, key, priority, deadline, most_tries)]) == 1

    async def add_all(self, items: Iterable[NewItem]) -> int:
        """Put many items on the list, all or none. Return the number of new ones. `item` creates them."""
        new = await asyncio.to_thread(list, items)
        return await retry_async_while_unavailable(lambda: asyncio.to_thread(_store().add, self.name, new))

    async def add_rows(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        key: str = "",
        priority: Priority = "normal",
        deadline: datetime | str | None = None,
        most_tries: int = MOST_TRIES,
    ) -> int:
        """Put the rows of a table on the list, as `read_rows` returns them. ``key`` is a format string over columns.

        If a row does not fit, none is added. Returns the number of new items.
        """
        given = [dict(row) for row in rows]
        new = []
        for number, row in enumerate(given, 1):
            try:
                filled = fill(key, row) if key else ""
                new.append(self.item(row, filled, priority, deadline, most_tries))
            except InvalidUsage as error:
                raise type(error)(f"Row {number}: {error} Nothing was added.") from None
        return await self.add_all(new)

    def item(
        self,
        payload: Mapping[str, Any],
        key: str = "",
        priority: Priority = "normal",
        deadline: datetime | str | None = None,
        most_tries: int = MOST_TRIES,
    ) -> NewItem:
        """Check an item and return it for `add_all`."""
        if priority not in get_args(Priority):
            raise InvalidUsage(f"priority= is one of {', '.join(map(repr, get_args(Priority)))}, not {priority!r}.")
        if not 1 <= most_tries <= 100:
            raise InvalidUsage(f"most_tries= is from 1 to 100, not {most_tries}.")
        try:
            plain = to_jsonable_python(dict(payload))
        except (PydanticSerializationError, ValueError, TypeError) as error:
            raise UnfitItem(f"The payload cannot be written as JSON: {first_line(error)}.") from None
        text = check_open(f"The payload of {exact(key) or 'an item'}", json.dumps(plain, ensure_ascii=False))
        if len(text) > LONGEST_PAYLOAD:
            raise UnfitItem(f"The payload of {exact(key) or 'an item'} is too long: {len(text)} characters.")
        if self._work is not None:
            token = self._work.token(self._work.arguments(plain))
            key = key or token
        key = key_text(key)
        return NewItem(_checked_text("The key of an item", key), plain, priority, _deadline_text(deadline), most_tries)

    async def counts(self) -> QueueCounts:
        """Return the counts of the list."""
        return await retry_async_while_unavailable(lambda: asyncio.to_thread(_store().counts, self.name))

    async def find(self, key: str) -> QueueRow | None:
        """Return an item with its present state, or ``None`` if it was never on the list."""
        return await retry_async_while_unavailable(lambda: asyncio.to_thread(_store().find, self.name, key_text(key)))

    async def return_lapsed(self) -> int:
        """Return the items of dead workers to the list. Returns their number. Call it again from time to time.

        A dead process on this machine is recognized at once. A worker on another machine is watched from the first call
        on, and counts as dead after ten seconds without a renewal. Clocks of machines are not compared.
        """
        self._lapsed = lapsed = self._lapsed or _store()
        return await asyncio.to_thread(lapsed.return_lapsed, self.name)

    @property
    def lost(self) -> set[str]:
        """The ids of the flow runs of dead workers that `return_lapsed` found."""
        return set() if self._lapsed is None else set(self._lapsed.lost)

    async def map(
        self,
        work: Callable[..., Awaitable[R]],
        agents: Agents | None = None,
        *,
        most: int | None = None,
        at_once: int = 1,
        to_the_end: bool = False,
    ) -> AsyncGenerator[Outcome[TakenItem, R], None]:
        """Work on the ready items of the list, the most urgent first, and yield the outcome of each when it ends.

        ``work`` is a sub-goal or a step with a key, so that each item is done once. It is called with the item's
        payload as its arguments. With ``agents`` an item goes to the next free desktop, as in `Agents.map`. Without,
        ``at_once`` items are worked on at a time. The loop ends when no item is ready, after ``most`` items, or, with
        ``to_the_end``, when every item of the list has ended, here or elsewhere.

        The list stores the result of each item. `BusinessFailure`, or another error of the item itself, is final. An
        item that needs a person waits on the dead-letter list (`holo-tasks runs`). Other errors are technical: the item
        is tried again later, by any worker, up to its number of tries. An error that ends the whole run, such as a
        limit, does not count for an item, and the items under way return to the list. On a machine that is being
        drained (`holo-tasks drain`) no more items are taken, and the loop ends after those under way.
        """
        mine = _Worker(
            self.name,
            _Work.of(work),
            WorkItems(ItemRecords.of_current_run().ledger.store),
            ItemRecords.of_current_run(),
            self._pause_s,
        )
        async with mine.at_work():
            taken = mine.take_items(most, self.return_lapsed, to_the_end=to_the_end)
            try:
                async for outcome in mine.map_items(taken, agents, at_once):
                    await mine.store_error(outcome)
                    yield outcome
            finally:
                await mine.finish()


@dataclass(frozen=True)
class _Work:
    """The work on items, with its ledger entry and argument types."""

    call: Callable[..., Awaitable[Any]]
    stored_function: StoredFunction
    only_looks: bool

    @classmethod
    def of(cls, work: Callable[..., Awaitable[Any]]) -> _Work:
        kept = getattr(work, "known", None)
        if not isinstance(kept, StoredFunction) or not kept.token:
            raise InvalidUsage(
                "Items of a list need a sub-goal or a step with a key, @subgoal(key=…): without one the effects of a "
                "dead worker are unknown."
            )
        return cls(work, kept, bool(getattr(work, "only_looks", False)))

    def arguments(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments in a payload, converted to their types. Raises `UnfitItem` if they do not fit."""
        try:
            self.stored_function.signature.bind(**payload)
        except TypeError as error:
            raise UnfitItem(f"{self.stored_function.goal!r} cannot be given this payload: {error}.") from None
        kinds = _kinds(self.call)
        given = {}
        for name, value in payload.items():
            try:
                given[name] = kinds[name].validate_python(value) if name in kinds else value
            except ValidationError as error:
                raise UnfitItem(f"{name!r} does not fit {self.stored_function.goal!r}: {first_line(error)}.") from None
        return given

    def token(self, given: Mapping[str, Any]) -> str:
        """Return the business key of the work for these arguments. Raises `UnfitItem` if it is empty."""
        token = self.stored_function.call((), given).token
        if not token:
            raise UnfitItem(f"The key of {self.stored_function.goal!r} is empty with this payload.")
        return token


@dataclass
class _Worker:
    """One `map` at work on a list. It holds one claim for all its items."""

    name: str
    work: _Work
    items: WorkItems
    books: ItemRecords
    pause_s: float
    claim: Claim | None = None
    outer_scopes: set[str] = field(default_factory=set)
    _under_way: int = 0
    _leaving: bool = False
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        run = self.books.run
        self.outer_scopes = scopes_around(run.guard if run else None)
        async with self.books.ledger.at_work(new_worker(flow_run_id()), GOAL) as self.claim:
            if run is not None:
                run.switch.add_claim(self.claim)  # a worker that lost its claim stops at once
            try:
                yield
            finally:
                if run is not None:
                    run.switch.leave(self.claim)
                await run_to_end(self._release_claim(self.claim))

    async def take_items(
        self, most: int | None, return_lapsed: Callable[[], Awaitable[int]], *, to_the_end: bool
    ) -> AsyncIterator[TakenItem]:
        """Yield items; each is taken from the list when the consumer asks for it."""
        assert self.claim is not None
        take, number = partial(self.items.take, self.name, self.claim, flow_run_id()), 0
        while not self._leaving and (most is None or number < most):
            if await asyncio.to_thread(draining.is_draining, holo_home()):
                logger.warning("This machine is being drained (holo-tasks drain): no more items are taken here.")
                return
            item = await retry_async_while_unavailable(lambda: asyncio.to_thread(take))
            if item is not None:
                number += 1
                yield item
            elif not await return_lapsed():
                if not to_the_end or not (await asyncio.to_thread(self.items.counts, self.name)).open:
                    return
                await asyncio.sleep(LOOK_S)

    def map_items(
        self, taken: AsyncIterator[TakenItem], agents: Agents | None, at_once: int
    ) -> AsyncGenerator[Outcome[TakenItem, Any], None]:
        one = partial(self._work_on_item)
        one.only_looks = self.work.only_looks  # type: ignore[attr-defined]
        if agents is not None:
            return agents.map(one, taken)

        async def alone(number: int, item: TakenItem) -> Outcome[TakenItem, Any]:
            try:
                return Outcome(item, number, await one(item))
            except Exception as error:
                return Outcome(item, number, error=error)

        return FairMap(
            taken, alone, at_once=at_once, ends=lambda error: stops_all_items(error, self.outer_scopes)
        ).outcomes()

    async def store_error(self, outcome: Outcome[TakenItem, Any]) -> None:
        """Store an item's error on the list."""
        error, item = outcome.error, outcome.item
        if error is None or stops_all_items(error, self.outer_scopes):
            return
        status, why = status_and_reason(error)
        note: Callable[[], object]
        if isinstance(error, UnfitItem | TokenConflict):
            note = partial(self.items.end_without_result, item, "failed", status, why)
        elif _for_a_person(error):
            note = partial(self.items.end_without_result, item, "person", status, why)
        else:
            note = partial(self.items.record_failed_try, item, status, why, self.pause_s * 4**item.tries)
        with suppress(Killed):  # another worker has taken the item over, and stores its result
            if await retry_async_while_unavailable(lambda: asyncio.to_thread(note)) == "ready":
                # The item is tried again, so it is removed from the dead-letter list.
                with suppress(HoloError):
                    token = self.work.token(self.work.arguments(item.payload))
                    await self.books.settle(token, self.work.stored_function.goal)

    async def finish(self) -> None:
        """Take no more items, and wait until those under way have ended."""
        self._leaving = True
        if self._under_way:
            await self._idle.wait()

    async def _work_on_item(self, item: TakenItem) -> Any:
        self._under_way += 1
        self._idle.clear()
        try:
            given = self.work.arguments(item.payload)
            if (token := self.work.token(given)) != item.key:
                await asyncio.to_thread(self.items.name_token, item, token)
            found = await self.work.call(**given)
            with suppress(Killed):  # another worker has taken the item over, and finds its result
                await run_to_end(self._record_done(item))
            return found
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def _record_done(self, item: TakenItem) -> None:
        await retry_async_while_unavailable(lambda: asyncio.to_thread(self.items.end_with_result, item))

    async def _release_claim(self, claim: Claim) -> None:
        try:
            await asyncio.to_thread(self.items.leave, claim)
        except Killed:
            pass
        except InvalidUsage as error:  # `return_lapsed` returns this worker's items later
            logger.warning("%s", error)


def _for_a_person(error: Exception) -> bool:
    """Return whether only a person can resolve an error."""
    half_done = isinstance(error, HoloError) and error.half_done
    return half_done or isinstance(error, NeedsPerson | PolicyRefused | LimitReached)


@lru_cache(maxsize=64)
def _kinds(work: Callable[..., Any]) -> dict[str, TypeAdapter[Any]]:
    """Return the type adapters of a function's arguments, by name."""
    annotations = inspect.get_annotations(inspect.unwrap(getattr(work, "fn", work)), eval_str=True)
    return {name: _reader_of(kind) for name, kind in annotations.items() if name != "return"}


def _reader_of(kind: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(kind, config=ConfigDict(coerce_numbers_to_str=True))  # workbooks have numbers for texts
    except PydanticUserError:  # a model has its own configuration
        return TypeAdapter(kind)


def _store() -> WorkItems:
    return WorkItems(ItemRecords.of_current_run().ledger.store)


def _checked_text(what: str, text: str) -> str:
    if not text.strip() or len(text) > LONGEST_NAME or not text.isprintable():
        raise UnfitItem(f"{what} is a text of 1 to {LONGEST_NAME} characters in one line, not {text[:60]!r}.")
    return check_open(what, text)


def _deadline_text(deadline: datetime | str | None) -> str:
    """Return a deadline as RFC 3339 text in UTC, empty without one. Raises `UnfitItem` for a wrong time."""
    if deadline is None or deadline == "":
        return ""
    try:
        at = datetime.fromisoformat(deadline) if isinstance(deadline, str) else deadline
    except ValueError:
        raise UnfitItem(f"deadline= is a time such as 2026-11-30T17:00:00+01:00, not {deadline!r}.") from None
    if at.tzinfo is None:
        raise UnfitItem(f"deadline= needs a time zone, as in 2026-11-30T17:00:00+01:00; {at.isoformat()} has none.")
    return at.astimezone(UTC).isoformat(timespec="seconds")
