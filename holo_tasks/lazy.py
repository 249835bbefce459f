"""A desktop that comes up when it is first needed, so that a run with nothing left to do starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from holo_tasks.core import ports
from holo_tasks.core.frame import Frame
from holo_tasks.core.gestures import Gesture, Receipt


class Closable(ports.Desktop, Protocol):
    """A desktop that is taken down after use."""

    async def close(self) -> None: ...


@dataclass
class LazyDesktop:
    """Starts a desktop on the first look or gesture."""

    start: Callable[[], Awaitable[Closable]]
    _desktop: Closable | None = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def display(self) -> str:
        """The display's name, empty while there is none."""
        return self._desktop.display if self._desktop else ""

    async def look(self, *, after_action: bool = False) -> Frame:
        desktop = await self._started()
        return await desktop.look(after_action=after_action)

    async def do(self, gesture: Gesture, *, deadline: float | None = None) -> Receipt:
        desktop = await self._started()
        return await desktop.do(gesture, deadline=deadline)

    async def close(self) -> None:
        """Take the desktop down, if it ever came up."""
        if self._desktop is not None:
            await self._desktop.close()

    async def _started(self) -> Closable:
        async with self._starting:
            if self._desktop is None:
                self._desktop = await self.start()
            return self._desktop
