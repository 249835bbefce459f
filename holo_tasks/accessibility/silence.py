"""Tell a program that is slow on a busy machine from one that hangs.

A slow program goes on answering, or waits for a CPU. A program that hangs does neither. `Silence` measures this, and
`await_answers` waits for a program's answers accordingly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from holo_tasks.machine.proc import cpu_waits_ns

T = TypeVar("T")
NAP_S = 0.05
"""Seconds between two looks whether a program has sent something."""


class Silence:
    """The seconds since a program last sent something, while it was awaited.

    The time in which a thread of the program waited for a CPU is left out. A nap counts as `NAP_S`, however long it
    took, because this process may also wait for a CPU. ``received`` returns the number of bytes that the program sent.
    The kernel reports a wait at its end, so a report may also cover earlier naps.
    """

    def __init__(self, received: Callable[[], int], pid: int = 0) -> None:
        self._received, self._pid = received, pid
        self._last = received()
        self._waits_ns: Mapping[str, int] = {}
        self._balance_s = self.seconds = 0.0

    def count_nap(self) -> None:
        """Add the last nap, or begin anew if the program has sent something."""
        before_ns, last, self._last = self._waits_ns, self._last, self._received()
        if self._last != last:
            self._waits_ns, self._balance_s, self.seconds = {}, 0.0, 0.0
            return
        self._waits_ns = cpu_waits_ns(self._pid) if self._pid else {}
        waits_ns = (now_ns - before_ns.get(thread, now_ns) for thread, now_ns in self._waits_ns.items())
        self._balance_s = max(0.0, self._balance_s + NAP_S - max(waits_ns, default=0) / 1e9)
        self.seconds = max(self.seconds, self._balance_s)


async def await_answers(asks: Coroutine[Any, Any, T], silence: Silence, most_s: float) -> T:
    """Return the result of a function that asks a program.

    Raises `TimeoutError` after ``most_s`` seconds of silence, and cancels the function.
    """
    task, silent_s = asyncio.ensure_future(asks), silence.seconds
    try:
        while not (await asyncio.wait([task], timeout=NAP_S))[0]:
            silence.count_nap()
            silent_s = min(silent_s, silence.seconds)
            if silence.seconds - silent_s >= most_s:
                raise TimeoutError
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
