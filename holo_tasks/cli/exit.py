"""End a command soon after its result is known, even if Prefect's server has died.

Prefect's client retries for minutes to report the final state of a run, shielded from cancellation. It retries again
when the interpreter ends. The trace is complete by then, so this module limits the wait.
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
"""Wait for Prefect to accept the final state: the interval between checks of the server, and the longest wait."""
EXIT_S = 5.0
"""Wait for Prefect to send its remaining events while the interpreter ends."""
_left_running: list[asyncio.Future[Any]] = []


async def await_known_result(flow: Awaitable[T], known: asyncio.Event, answers: Callable[[], bool]) -> T | None:
    """Await a flow and return its result. Once ``known`` is set, wait only while the server ``answers``.

    Returns ``None`` if the flow was left running. `run` does not wait for it, and `leave` ends it.
    """
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
            _left_running.append(task)
            return None
    if cancelled is not None and not known.is_set():
        raise cancelled
    return task.result()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine like `asyncio.run`, but do not close the loop if `await_known_result` left a task running."""
    runner = asyncio.Runner()
    try:
        return runner.run(work)
    finally:
        if not _left_running:
            runner.close()


def leave(code: int) -> NoReturn:
    """End this process with an exit code. A regular exit that takes longer than `EXIT_S` is forced."""
    release_streams()
    if _left_running:
        os._exit(code)
    if "prefect" in sys.modules:
        threading.Thread(target=_exit_later, args=(code,), daemon=True).start()
    sys.exit(code)


def _exit_later(code: int) -> None:
    time.sleep(EXIT_S)
    os._exit(code)
