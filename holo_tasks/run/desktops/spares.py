"""Start spare desktops in advance.

`Spares` is a pool, used by runs with several desktops.
"""

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
"""Attempts to start a desktop before its error is raised."""
_left_behind: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, list[Any]]] = WeakKeyDictionary()
"""Desktops that runs left for later runs, by event loop and ``same`` key. A desktop ends with its event loop."""
logger = logging.getLogger("holo_tasks.desktop")


class Spares(Generic[D]):
    """A pool that gives out unused desktops and keeps ``spares`` more started, from the first `take` on.

    ``start`` brings a desktop up and ``end`` takes it down. A desktop given to `keep` is reused by the next run with
    the same ``same`` key, while the event loop runs.
    """

    def __init__(
        self, start: Callable[[], Awaitable[D]], end: Callable[[D], Awaitable[None]], *, spares: int = 0, same: str = ""
    ) -> None:
        self._start, self._end, self._most, self._same = start, end, spares, same
        self._context = copy_context()  # spares start in the run's context, not in that of an item
        self._ready: deque[asyncio.Task[D]] = deque()
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False
        self.failed: Exception | None = None
        """Error of the last start, or ``None`` if it succeeded."""

    async def take(self) -> D:
        """Return a desktop for exclusive use. Raises the error of its start."""
        if reusable := self._reusable:
            return reusable.pop()
        spare = self._ready.popleft() if self._ready else self._begin()
        self._refill()
        try:
            return await asyncio.shield(spare)
        except asyncio.CancelledError:
            self._ready.appendleft(spare)  # back into the pool
            raise

    @property
    def _reusable(self) -> list[D]:
        if not self._same:
            return []
        return _left_behind.setdefault(asyncio.get_running_loop(), {}).setdefault(self._same, [])

    def keep(self, desktop: D) -> bool:
        """Leave a desktop for a later run; return ``False`` if this pool has no ``same`` key."""
        if self._same:
            self._reusable.append(desktop)
        return bool(self._same)

    def end(self, desktop: D) -> None:
        """Take a desktop down in the background. `close` waits for it."""
        ending = asyncio.create_task(self._end_desktop(desktop), context=self._context.copy())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Take down all remaining desktops and wait until they have ended."""
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
        spare = asyncio.create_task(self._start_spare(), context=self._context.copy())
        spare.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # take() raises it: no asyncio warning
        return spare

    def _refill(self) -> None:
        while len(self._ready) < self._most and not self._closed:
            self._ready.append(self._begin())

    async def _start_spare(self) -> D:
        for left in range(TRIES - 1, -1, -1):
            try:
                desktop = await self._start()
            except Exception as error:
                if not left or not isinstance(error, DesktopFailed):
                    self.failed = error
                    raise
                logger.warning("A desktop did not start; trying again: %s", error)
            else:
                self.failed = None
                return desktop
        raise AssertionError

    async def _end_desktop(self, desktop: D) -> None:
        try:
            await self._end(desktop)
        except DesktopFailed as error:
            logger.warning("A desktop could not be taken down: %s", error)
