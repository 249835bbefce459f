"""Working on a list of items, some at a time: begun in their order, told as they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Outcome(Generic[T, R]):
    """What came of one item: an ``outcome``, or the ``error`` that stopped the work on it.

    ``number`` is the item's place in the list, from 1. ``tries`` is how often it was begun: more than once only where
    its desktop broke before anything was done.
    """

    item: T
    number: int
    outcome: R | None = None
    error: Exception | None = None
    tries: int = 1

    @property
    def result(self) -> R:
        """The outcome; raises the error instead, if there is one."""
        if self.error is not None:
            raise self.error
        return self.outcome  # type: ignore[return-value]  # an outcome that is None is one, too


class FairMap(Generic[T, R]):
    """Has ``do`` called for each item, for ``at_once`` of them at a time, and tells what came of each as it ends.

    ``do`` gets the item's number and the item, and returns what came of it. After an error that ``ends`` all, as a
    limit of the whole flow does, no item is begun; those under way are told as they end, and then that error is raised.
    So it is when the items themselves cannot be had. No more than twice ``at_once`` are under way or wait to be told:
    who does not keep up holds up the work.
    """

    def __init__(
        self,
        items: Iterable[T] | AsyncIterable[T],
        do: Callable[[int, T], Awaitable[Outcome[T, R]]],
        *,
        at_once: int,
        ends: Callable[[Exception], bool] = lambda error: False,
    ) -> None:
        self._items = _each(items)
        self._do, self._ends, self._at_once = do, ends, at_once
        self._next = asyncio.Lock()
        self._room = asyncio.Semaphore(2 * at_once)
        self._told: asyncio.Queue[Outcome[T, R] | None] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._working = self._begun = 0
        self._draining = False
        self._why: Exception | None = None

    async def outcomes(self) -> AsyncGenerator[Outcome[T, R], None]:
        """Yield what came of each item. Who leaves early lets the items under way end, and has no more begun."""
        self._working = self._at_once
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._at_once)]
        try:
            while (told := await self._told.get()) is not None:
                self._room.release()
                yield told
        except GeneratorExit:
            self.drain()
            raise
        except BaseException:
            await self.stop()
            raise
        if self._why is not None:
            raise self._why

    @property
    def over(self) -> bool:
        """Whether nothing is under way any more."""
        return all(worker.done() for worker in self._workers)

    def drain(self) -> None:
        """Begin no more items."""
        self._draining = True
        for _ in range(self._at_once):  # whoever waits for room finds that there is nothing left to do
            self._room.release()

    async def finish(self) -> None:
        """Begin no more items, and wait for those under way."""
        self.drain()
        if self._workers:
            try:
                await asyncio.wait(self._workers)
            except asyncio.CancelledError:
                await self.stop()
                raise

    async def stop(self) -> None:
        """Cancel the items under way, and wait until they have ended, also when that is cancelled meanwhile."""
        self.drain()
        for worker in self._workers:
            worker.cancel()
        cancelled = None
        while left := [worker for worker in self._workers if not worker.done()]:
            try:
                await asyncio.wait(left)
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def _work(self) -> None:
        try:
            while (taken := await self._taken()) is not None:
                told = await self._do(*taken)
                if told.error is not None and self._ends(told.error):
                    self._end(told.error)
                self._told.put_nowait(told)
        except Exception as error:
            self._end(error)
        finally:
            self._working -= 1
            if not self._working:
                self._told.put_nowait(None)

    async def _taken(self) -> tuple[int, T] | None:
        """Return the next item, once there is room for what comes of it; None when there is none to begin."""
        await self._room.acquire()
        async with self._next:
            if self._draining:
                return None
            with suppress(StopAsyncIteration):
                item = await anext(self._items)
                if not self._draining:  # it may have taken a while to come
                    self._begun += 1
                    return self._begun, item
            self._draining = True
            return None

    def _end(self, why: Exception) -> None:
        self._why = self._why or why
        self.drain()


async def _each(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
