"""Work on a list of items with bounded concurrency, starting in order and yielding results as they end.

`FairMap` does it for `Agents.map` and for work lists. `Outcome` is the result of one item.
"""

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
    """The result of one item: an ``outcome``, or the ``error`` that stopped it.

    ``number`` is the item's place in the list, from 1. ``tries`` counts the starts. It exceeds 1 only if a desktop
    broke before any action.
    """

    item: T
    number: int
    outcome: R | None = None
    error: Exception | None = None
    tries: int = 1

    @property
    def result(self) -> R:
        """Return the outcome, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.outcome  # type: ignore[return-value]  # None is a valid outcome


class FairMap(Generic[T, R]):
    """Calls ``do`` for each item, ``at_once`` items at a time, and yields each `Outcome` when it is done.

    ``do`` gets the item's number and the item. An error for which ``ends`` is true starts no further item, such as a
    limit of the whole flow. Items under way are finished and yielded, then the error is raised. An error from ``items``
    has the same effect.

    At most twice ``at_once`` items are under way or wait to be yielded, so a slow consumer causes backpressure.
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
        self._done: asyncio.Queue[Outcome[T, R] | None] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._working = self._begun = 0
        self._draining = False
        self._why: Exception | None = None

    async def outcomes(self) -> AsyncGenerator[Outcome[T, R], None]:
        """Yield the outcome of each item. If the consumer stops early, items under way finish and none is started."""
        self._working = self._at_once
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._at_once)]
        try:
            while (outcome := await self._done.get()) is not None:
                self._room.release()
                yield outcome
        except GeneratorExit:
            self.drain()
            raise
        except BaseException:
            await self.stop()
            raise
        if self._why is not None:
            raise self._why

    @property
    def is_over(self) -> bool:
        """Return whether all workers have ended."""
        return all(worker.done() for worker in self._workers)

    def drain(self) -> None:
        """Start no more items."""
        self._draining = True
        for _ in range(self._at_once):  # wake the workers that wait for room, so that they end
            self._room.release()

    async def finish(self) -> None:
        """Start no more items, and wait for those under way."""
        self.drain()
        if self._workers:
            try:
                await asyncio.wait(self._workers)
            except asyncio.CancelledError:
                await self.stop()
                raise

    async def stop(self) -> None:
        """Cancel the items under way and wait until they have ended, even if this call is cancelled."""
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
                outcome = await self._do(*taken)
                if outcome.error is not None and self._ends(outcome.error):
                    self._end(outcome.error)
                self._done.put_nowait(outcome)
        except Exception as error:
            self._end(error)
        finally:
            self._working -= 1
            if not self._working:
                self._done.put_nowait(None)

    async def _taken(self) -> tuple[int, T] | None:
        """Return the next item when there is room for its outcome, or ``None`` if no item is left to start."""
        await self._room.acquire()
        async with self._next:
            if self._draining:
                return None
            with suppress(StopAsyncIteration):
                item = await anext(self._items)
                if not self._draining:  # the source may have taken long to give the item
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
