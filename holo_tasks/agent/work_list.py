"""`WorkList`: a list of business items that flows on many machines work through, each item by one of them."""

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

from holo_tasks.agent.open_agents import Agents, ends_all, scopes_around
from holo_tasks.core.error_text import first_line
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
from holo_tasks.core.visible_text import exact
from holo_tasks.kill import draining
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.patience import awaited
from holo_tasks.run.business_item import Books
from holo_tasks.run.fair_map import FairMap, Outcome
from holo_tasks.run.flow_context import flow_run_id
from holo_tasks.run.kept_work import Kept, fill
from holo_tasks.run.run import ending, surely
from holo_tasks.safety.ledger import Claim
from holo_tasks.safety.scrubbing import check_open
from holo_tasks.safety.work_items import GOAL, Counts, Listed, NewItem, Priority, Taken, WorkItems, new_worker

R = TypeVar("R")
LONGEST_NAME, LONGEST_PAYLOAD = 300, 100_000
MOST_TRIES = 3
LOOK_S = 1.0
"""How often is looked for items that become ready, where the end of a list is waited for."""
logger = logging.getLogger("holo_tasks")


class WorkList:
    """A list of business items, by its name, in the database that all machines share (`HOLO_DATABASE_URL`).

    Items are added by anybody, each once by its key, and worked on by `map`, in whatever flow runs do that, on as many
    machines: each item is one worker's at a time. ``work`` is the sub-goal (or step) with a key that is to be done; if
    it is given, what is added is checked against its arguments, and an item's key is the one that it comes to.

    A try that came to nothing is made again after ``pause_s``, and after four times as long each time.
    """

    def __init__(self, name: str, work: Callable[..., Awaitable[Any]] | None = None, *, pause_s: float = 15.0) -> None:
        self.name = _fit("The name of a list", name)
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
        """Put an item on the list; False if it was there already. ``payload`` are the arguments of the work, by name.

        Raises `TokenConflict` if the key was used for another payload, `InvalidUsage` for what no work can be given,
        or what holds the value of a secret: a payload is kept, and read by whoever may read the database.
        """
        return await self.add_all([self.item(payload, key, priority, deadline, most_tries)]) == 1

    async def add_all(self, items: Iterable[NewItem]) -> int:
        """Put many items on the list, all or none; return how many were not there yet. `item` makes them."""
        new = await asyncio.to_thread(list, items)
        return await awaited(lambda: asyncio.to_thread(_store().add, self.name, new))

    async def add_rows(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        key: str = "",
        priority: Priority = "normal",
        deadline: datetime | str | None = None,
        most_tries: int = MOST_TRIES,
    ) -> int:
        """Put each row of a table on the list, as `read_rows` returns them; ``key`` is a format string over columns.

        All are added or, if one does not fit, none; returns how many were not there yet.
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
        """Return an item for `add_all`, checked."""
        if priority not in get_args(Priority):
            raise InvalidUsage(f"priority= is one of {', '.join(map(repr, get_args(Priority)))}, not {priority!r}.")
        if not 1 <= most_tries <= 100:
            raise InvalidUsage(f"most_tries= is from 1 to 100, not {most_tries}.")
        try:
            plain = to_jsonable_python(dict(payload))
        except (PydanticSerializationError, ValueError, TypeError) as error:
            raise UnfitItem(f"A payload is what JSON can hold: {first_line(error)}.") from None
        text = check_open(f"The payload of {exact(key) or 'an item'}", json.dumps(plain, ensure_ascii=False))
        if len(text) > LONGEST_PAYLOAD:
            raise UnfitItem(f"The payload of {exact(key) or 'an item'} is too long: {len(text)} characters.")
        if self._work is not None:
            token = self._work.token(self._work.arguments(plain))
            key = key or token
        return NewItem(_fit("The key of an item", key), plain, priority, _due(deadline), most_tries)

    async def counts(self) -> Counts:
        """Return how far the list is."""
        return await awaited(lambda: asyncio.to_thread(_store().counts, self.name))

    async def find(self, key: str) -> Listed | None:
        """Return an item as it stands; None if it was never on the list."""
        return await awaited(lambda: asyncio.to_thread(_store().find, self.name, key))

    async def return_lapsed(self) -> int:
        """Put back what workers had that are gone; return how many items. Call it again now and then.

        Whose process ran on this machine is known to be gone at once. One on another machine is watched from the first
        call on, and is known to be gone once it has said nothing for ten seconds: no clock is asked.
        """
        self._lapsed = lapsed = self._lapsed or _store()
        return await asyncio.to_thread(lapsed.return_lapsed, self.name)

    @property
    def lost(self) -> set[str]:
        """The flow runs of workers that `return_lapsed` found to be gone."""
        return set() if self._lapsed is None else set(self._lapsed.lost)

    async def map(
        self,
        work: Callable[..., Awaitable[R]],
        agents: Agents | None = None,
        *,
        most: int | None = None,
        at_once: int = 1,
        to_the_end: bool = False,
    ) -> AsyncGenerator[Outcome[Taken, R], None]:
        """Work on the items of the list that are ready, the most urgent first, and yield what came of each as it ends.

        ``work`` is a sub-goal or a step with a key: what is done under it is done once, whoever takes the item. It is
        called with the item's payload as its arguments. With several ``agents`` an item is worked on on whichever
        desktop is free, as by `Agents.map`; without, ``at_once`` at a time. It ends when nothing is ready, after
        ``most`` items, or ``to_the_end`` when every item of the list has come to an end, here or elsewhere.

        What came of an item is noted on the list. `BusinessFailure` (and whatever else says that the item itself is
        wrong) is final. What only a person knows more of waits for one, in `holo-tasks runs`. All else is technical:
        the item is tried again, later and by whoever is free, as often as it may be. What ends the whole run, as one of
        its limits, counts for no item: those under way go back to the list. On a machine that is being drained
        (`holo-tasks drain`) no more items are taken: those under way end, and so does this.
        """
        mine = _Worker(self.name, _Work.of(work), WorkItems(Books.here().ledger.store), Books.here(), self._pause_s)
        async with mine.at_work():
            taken = mine.taken(most, self.return_lapsed, to_the_end=to_the_end)
            try:
                async for told in mine.mapped(taken, agents, at_once):
                    await mine.told(told)
                    yield told
            finally:
                await mine.over()


@dataclass(frozen=True)
class _Work:
    """What is done with items, and which arguments it takes."""

    call: Callable[..., Awaitable[Any]]
    kept: Kept
    only_looks: bool

    @classmethod
    def of(cls, work: Callable[..., Awaitable[Any]]) -> _Work:
        kept = getattr(work, "known", None)
        if not isinstance(kept, Kept) or not kept.token:
            raise InvalidUsage(
                "Items of a list are worked on by a sub-goal or a step with a key, @subgoal(key=…): without one nobody "
                "knows what a worker did that died."
            )
        return cls(work, kept, bool(getattr(work, "only_looks", False)))

    def arguments(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that a payload is; raise `UnfitItem` for what does not fit."""
        try:
            self.kept.signature.bind(**payload)
        except TypeError as error:
            raise UnfitItem(f"{self.kept.goal!r} cannot be given this payload: {error}.") from None
        kinds = _kinds(self.call)
        given = {}
        for name, value in payload.items():
            try:
                given[name] = kinds[name].validate_python(value) if name in kinds else value
            except ValidationError as error:
                raise UnfitItem(f"{name!r} does not fit {self.kept.goal!r}: {first_line(error)}.") from None
        return given

    def token(self, given: Mapping[str, Any]) -> str:
        """Return the business token that the work is done under."""
        token = self.kept.call((), given).token
        if not token:
            raise UnfitItem(f"The key of {self.kept.goal!r} comes to nothing with this payload.")
        return token


@dataclass
class _Worker:
    """One `map` at work on a list: it holds a claim for all items that it has."""

    name: str
    work: _Work
    items: WorkItems
    books: Books
    pause_s: float
    claim: Claim | None = None
    around: set[str] = field(default_factory=set)
    _under_way: int = 0
    _leaving: bool = False
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        run = self.books.run
        self.around = scopes_around(run.guard if run else None)
        async with self.books.ledger.at_work(new_worker(flow_run_id()), GOAL) as self.claim:
            if run is not None:
                run.switch.take_up(self.claim)  # who was given up for dead stops at once
            try:
                yield
            finally:
                if run is not None:
                    run.switch.leave(self.claim)
                await surely(self._leave(self.claim))

    async def taken(
        self, most: int | None, return_lapsed: Callable[[], Awaitable[int]], *, to_the_end: bool
    ) -> AsyncIterator[Taken]:
        """Take items, one when it is asked for."""
        assert self.claim is not None
        take, number = partial(self.items.take, self.name, self.claim, flow_run_id()), 0
        while not self._leaving and (most is None or number < most):
            if await asyncio.to_thread(draining.asked, holo_home()):
                logger.warning("This machine is being drained (holo-tasks drain): no more items are taken here.")
                return
            item = await awaited(lambda: asyncio.to_thread(take))
            if item is not None:
                number += 1
                yield item
            elif not await return_lapsed():
                if not to_the_end or not (await asyncio.to_thread(self.items.counts, self.name)).open:
                    return
                await asyncio.sleep(LOOK_S)

    def mapped(
        self, taken: AsyncIterator[Taken], agents: Agents | None, at_once: int
    ) -> AsyncGenerator[Outcome[Taken, Any], None]:
        one = partial(self._one)
        one.only_looks = self.work.only_looks  # type: ignore[attr-defined]
        if agents is not None:
            return agents.map(one, taken)

        async def alone(number: int, item: Taken) -> Outcome[Taken, Any]:
            try:
                return Outcome(item, number, await one(item))
            except Exception as error:
                return Outcome(item, number, error=error)

        return FairMap(taken, alone, at_once=at_once, ends=lambda error: ends_all(error, self.around)).outcomes()

    async def told(self, told: Outcome[Taken, Any]) -> None:
        """Note what stopped an item."""
        error, item = told.error, told.item
        if error is None or ends_all(error, self.around):
            return
        status, why = ending(error)
        note: Callable[[], object]
        if isinstance(error, UnfitItem | TokenConflict):
            note = partial(self.items.failed, item, "failed", status, why)
        elif _for_a_person(error):
            note = partial(self.items.failed, item, "person", status, why)
        else:
            note = partial(self.items.tried, item, status, why, self.pause_s * 4**item.tries)
        with suppress(Killed):  # it is another worker's by now, who notes what comes of it there
            if await awaited(lambda: asyncio.to_thread(note)) == "ready":
                # Nobody has to see to it: it is not for the list of what waits for a person.
                with suppress(HoloError):
                    token = self.work.token(self.work.arguments(item.payload))
                    await self.books.settle(token, self.work.kept.goal)

    async def over(self) -> None:
        """Take no more items, and wait for those under way."""
        self._leaving = True
        if self._under_way:
            await self._idle.wait()

    async def _one(self, item: Taken) -> Any:
        self._under_way += 1
        self._idle.clear()
        try:
            given = self.work.arguments(item.payload)
            if (token := self.work.token(given)) != item.key:
                await asyncio.to_thread(self.items.name_token, item, token)
            found = await self.work.call(**given)
            with suppress(Killed):  # another worker has it by now, and finds it done
                await surely(self._done(item))
            return found
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def _done(self, item: Taken) -> None:
        await awaited(lambda: asyncio.to_thread(self.items.done, item))

    async def _leave(self, claim: Claim) -> None:
        try:
            await asyncio.to_thread(self.items.leave, claim)
        except Killed:
            pass
        except InvalidUsage as error:  # whoever looks for lapsed workers puts back what this one had
            logger.warning("%s", error)


def _for_a_person(error: Exception) -> bool:
    """Say whether no further try of a machine's helps."""
    half_done = isinstance(error, HoloError) and error.half_done
    return half_done or isinstance(error, NeedsPerson | PolicyRefused | LimitReached)


@lru_cache(maxsize=64)
def _kinds(work: Callable[..., Any]) -> dict[str, TypeAdapter[Any]]:
    """Return what can read the arguments of a function, by name."""
    annotations = inspect.get_annotations(inspect.unwrap(getattr(work, "fn", work)), eval_str=True)
    return {name: _reader_of(kind) for name, kind in annotations.items() if name != "return"}


def _reader_of(kind: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(kind, config=ConfigDict(coerce_numbers_to_str=True))  # as a workbook has numbers of reports
    except PydanticUserError:  # a model, which says that itself
        return TypeAdapter(kind)


def _store() -> WorkItems:
    return WorkItems(Books.here().ledger.store)


def _fit(what: str, text: str) -> str:
    if not text.strip() or len(text) > LONGEST_NAME or not text.isprintable():
        raise UnfitItem(f"{what} is a text of 1 to {LONGEST_NAME} characters in one line, not {text[:60]!r}.")
    return check_open(what, text)


def _due(deadline: datetime | str | None) -> str:
    """Return a deadline as it is kept: RFC 3339, UTC."""
    if deadline is None or deadline == "":
        return ""
    try:
        at = datetime.fromisoformat(deadline) if isinstance(deadline, str) else deadline
    except ValueError:
        raise UnfitItem(f"deadline= is a time such as 2026-11-30T17:00:00+01:00, not {deadline!r}.") from None
    if at.tzinfo is None:
        raise UnfitItem(f"deadline= needs a time zone, as in 2026-11-30T17:00:00+01:00; {at.isoformat()} has none.")
    return at.astimezone(UTC).isoformat(timespec="seconds")
