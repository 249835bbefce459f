"""Retry work while a needed service is away or busy: Prefect, the database, or the trace storage.

`retry_while_unavailable` and `retry_async_while_unavailable` retry until the patience in HOLO_PATIENCE (default 60
seconds) is over.
"""

from __future__ import annotations

import logging
import math
import os
import random
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import TypeVar

from holo_tasks.core.errors import InvalidUsage, Unavailable

T = TypeVar("T")

PATIENCE_VARIABLE = "HOLO_PATIENCE"
PATIENCE_S = 60.0
FIRST_S, LONGEST_S = 0.25, 5.0
"""First and longest pause between tries, in seconds. The pauses are random, so that commands do not retry in step."""
SILENT_S = 5.0
"""Seconds that Prefect's client may retry by itself before the wait is reported."""
tells: ContextVar[Callable[[str], None]] = ContextVar("holo_tells")
"""Function that reports a wait to the user of a command. Without it, the wait is logged."""

logger = logging.getLogger(__name__)


class Patience:
    """The remaining time for one service, and the pauses between tries. It reports the wait once."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._until_s = time.monotonic() + patience_s(environ)
        self._pause_s = FIRST_S
        self._reported = False

    def pause_s(self, error: Unavailable) -> float:
        """Return the seconds until the next try. Raises the error if the patience is over."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise error
        self.report_wait(str(error))
        pause_s = self._pause_s * random.uniform(0.75, 1.25)
        self._pause_s = min(2 * self._pause_s, LONGEST_S)
        return min(pause_s, left_s)

    def report_wait(self, why: str) -> None:
        """Report the wait, unless it was reported or the patience is over."""
        left_s = self._until_s - time.monotonic()
        if not self._reported and left_s > 0:
            self._reported = True
            tells.get(logger.warning)(f"{why} Retrying for up to {left_s:.0f} s.")


def patience_s(environ: Mapping[str, str]) -> float:
    """Return the patience in seconds. Raises `InvalidUsage` for an invalid value of HOLO_PATIENCE."""
    text = environ.get(PATIENCE_VARIABLE, "").strip()
    try:
        seconds = float(text or PATIENCE_S)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise InvalidUsage(f"{PATIENCE_VARIABLE} must be a number of seconds, 0 or more, not {text[:40]!r}.")
    return seconds


def retry_while_unavailable(work: Callable[[], T]) -> T:
    """Run ``work`` and retry while it raises `Unavailable`. Raises the last error when the patience is over."""
    patience = Patience()
    while True:
        try:
            return work()
        except Unavailable as error:
            pause_s = patience.pause_s(error)
        time.sleep(pause_s)


async def retry_async_while_unavailable(work: Callable[[], Awaitable[T]]) -> T:
    """Await ``work`` and retry it as `retry_while_unavailable` does."""
    import asyncio  # slow to import

    patience = Patience()
    while True:
        try:
            return await work()
        except Unavailable as error:
            pause_s = patience.pause_s(error)
        await asyncio.sleep(pause_s)


def is_unknown_host(error: BaseException | None) -> bool:
    """Return whether an error means that a host name does not exist, which is probably a typing error.

    A name server that is temporarily away causes another error code.
    """
    while error is not None and not isinstance(error, socket.gaierror):
        error = error.__cause__ or error.__context__
    return error is not None and error.errno in (socket.EAI_NONAME, socket.EAI_NODATA)


def is_away(error: Exception) -> bool:
    """Return whether an error of Prefect's client means that the server was unreachable or too busy."""
    import httpx

    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        return is_away(error.__cause__)  # the client wraps errors of its version check at the start
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (408, 429) or error.response.status_code >= 500
    if isinstance(error, httpx.UnsupportedProtocol) or is_unknown_host(error):
        return False
    return isinstance(error, TimeoutError | httpx.TransportError)
