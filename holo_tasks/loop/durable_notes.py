"""Writing down what happens without waiting for the disk each time: it is waited for where it matters."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Notes:
    """What is on its way to the disk, in order.

    A recorder makes durable what it is given in the order in which it is given. So whoever waits for the last note has
    waited for all: before input is sent, or a request, nothing that led to it can be lost any more.
    """

    def __init__(self) -> None:
        self._writing: list[asyncio.Task[None]] = []

    async def begin(self, writing: Coroutine[None, None, None]) -> None:
        """Hand something over to be written; it is in its place when this returns, though perhaps not yet durable."""
        self._writing.append(asyncio.ensure_future(writing))
        await asyncio.sleep(0)  # a task begins when the loop has its next turn

    async def written(self) -> None:
        """Return when all that was handed over is durable; raise what kept any of it from being so."""
        if not self._writing:
            return
        # Nobody who is cancelled here takes a note back.
        done, _ = await asyncio.wait(writing := tuple(self._writing))
        self._writing = [task for task in self._writing if task not in done]
        for error in [task.exception() for task in writing]:
            if error is not None:
                raise error
