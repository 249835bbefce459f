"""Desktops that are started before somebody needs them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from holo_tasks.core.errors import DesktopFailed

D = TypeVar("D")
TRIES = 2
"""How often a desktop is started that does not come up, before that is told."""
_kept: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, list[Any]]] = WeakKeyDictionary()
"""Desktops that runs have left to others, by how they were made. Each is of one event loop, and ends with it."""
logger = logging.getLogger("holo_tasks.desktop")


class Spares(Generic[D]):
    """Gives desktops that nobody has used, and keeps so many more started or starting, from when the first was taken.

    ``start`` brings one up and ``end`` takes one down again. What `keep` is given is there for the next run whose
    desktops are the ``same``, instead of a new one, as long as the event loop runs.
    """

    def __init__(
        self, start: Callable[[], Awaitable[D]], end: Callable[[D], Awaitable[None]], *, spares: int = 0, same: str = ""
    ) -> None:
        self._start, self._end, self._most, self._same = start, end, spares, same
        self._context = copy_context()  # a spare is the run's, not of the item that another one was taken for
        self._ready: deque[asyncio.Task[D]] = deque()
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False
        self.failed: Exception | None = None
        """Why the last one that was started did not come up."""

    async def take(self) -> D:
        """Return a desktop of one's own. Raises what its start raises."""
        if kept := self._kept:
            return kept.pop()
        spare = self._ready.popleft() if self._ready else self._begin()
        self._refill()
        try:
            return await asyncio.shield(spare)
        except asyncio.CancelledError:
            self._ready.appendleft(spare)  # nobody has it
            raise

    @property
    def _kept(self) -> list[D]:
        if not self._same:
            return []
        return _kept.setdefault(asyncio.get_running_loop(), {}).setdefault(self._same, [])

    def keep(self, desktop: D) -> bool:
        """Leave a desktop to another run; False if none may have it."""
        if self._same:
            self._kept.append(desktop)
        return bool(self._same)

    def end(self, desktop: D) -> None:
        """Take a desktop down after use; nobody waits for it before `close`."""
        ending = asyncio.create_task(self._ended(desktop), context=self._context.copy())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Take down all that are left, and wait until that is done."""
        self._closed = True
        for spare in self._ready:
            spare.cancel()
        for found in await asyncio.gather(*self._ready, return_exceptions=True):
            if not isinstance(found, BaseException):
                self.end(found)
        self._ready.clear()
        while self._ending:
            await asyncio.wait(self._ending)

    def _begin(self) -> asyncio.Task[D]:
        spare = asyncio.create_task(self._started(), context=self._context.copy())
        spare.add_done_callback(lambda done: done.cancelled() or done.exception())  # told to whoever takes it
        return spare

    def _refill(self) -> None:
        while len(self._ready) < self._most and not self._closed:
            self._ready.append(self._begin())

    async def _started(self) -> D:
        for left in range(TRIES - 1, -1, -1):
            try:
                desktop = await self._start()
            except Exception as error:
                if not left or not isinstance(error, DesktopFailed):
                    self.failed = error
                    raise
                logger.warning("A desktop did not come up, and is started again: %s", error)
            else:
                self.failed = None
                return desktop
        raise AssertionError

    async def _ended(self, desktop: D) -> None:
        try:
            await self._end(desktop)
        except DesktopFailed as error:
            logger.warning("A desktop that is not used any more: %s", error)
