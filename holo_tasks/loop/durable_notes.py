"""Record events without waiting for the disk each time, except before input or a request is sent.

`Notes` is used by `Walk`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Notes:
    """Events that are being written, in order.

    A recorder makes events durable in the order of their arrival. So a wait for the last one covers all. Before an
    input or a request is sent, everything that led to it is durable.
    """

    def __init__(self) -> None:
        self._writing: list[asyncio.Task[None]] = []

    async def begin(self, writing: Coroutine[None, None, None]) -> None:
        """Start writing an event. On return the event has its place in the order, but may not be durable yet."""
        self._writing.append(asyncio.ensure_future(writing))
        await asyncio.sleep(0)  # a task begins when the loop has its next turn

    async def wait_until_durable(self) -> None:
        """Wait until all events are durable. Raises the first error of a write."""
        if not self._writing:
            return
        # `wait` does not cancel the writes if this coroutine is cancelled.
        done, _ = await asyncio.wait(writing := tuple(self._writing))
        self._writing = [task for task in self._writing if task not in done]
        for error in [task.exception() for task in writing]:
            if error is not None:
                raise error
