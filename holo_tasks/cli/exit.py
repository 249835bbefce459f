"""Ending a command once its result is known, also when Prefect's server has died.

Prefect's client tries again for minutes to say how a run ended, shielded from being cancelled, and once more as the
interpreter ends. What is of value is in the trace by then; so this much patience, and no more.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn, TypeVar

from holo_tasks.machine.output import release_streams

T = TypeVar("T")

PATIENCE_S, MOST_PATIENCE_S = 2.0, 60.0
"""For Prefect to take how a run ended: from a server that does not answer, and from one that does."""
EXIT_S = 5.0
"""For Prefect to send what is left of its events as the interpreter ends."""
_left: list[asyncio.Future[Any]] = []


async def until_told(flow: Awaitable[T], known: asyncio.Event, answers: Callable[[], bool]) -> T | None:
    """Await a flow; once its outcome is known, only as long as its server ``answers``. None if it was left."""
    task, known_by_now = asyncio.ensure_future(flow), asyncio.ensure_future(known.wait())
    cancelled: asyncio.CancelledError | None = None
    while not task.done() and not known.is_set():
        try:
            await asyncio.wait({task, known_by_now}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError as error:
            cancelled = error
            task.cancel()
    known_by_now.cancel()
    until_s = time.monotonic() + MOST_PATIENCE_S
    while not task.done():
        await asyncio.wait({task}, timeout=PATIENCE_S)
        if not task.done() and (time.monotonic() >= until_s or not await asyncio.to_thread(answers)):
            _left.append(task)
            return None
    if cancelled is not None and not known.is_set():
        raise cancelled
    return task.result()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run something as `asyncio.run` does, but do not wait for what was left."""
    runner = asyncio.Runner()
    try:
        return runner.run(work)
    finally:
        if not _left:
            runner.close()


def leave(code: int) -> NoReturn:
    """End this process with an exit code: in good order, or else within `EXIT_S`."""
    release_streams()
    if _left:
        os._exit(code)
    if "prefect" in sys.modules:
        threading.Thread(target=_insist, args=(code,), daemon=True).start()
    sys.exit(code)


def _insist(code: int) -> None:
    time.sleep(EXIT_S)
    os._exit(code)
