"""Waiting a while for what a run needs and is away or busy: Prefect, the database, the place of its evidence."""

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
"""The first pause, and the longest. Many commands that begin together do not come back together."""
SILENT_S = 5.0
"""Prefect's own client may take so long before it is said that it is waited for."""
tells: ContextVar[Callable[[str], None]] = ContextVar("holo_tells")
"""Where a command says that something is waited for; else it is logged."""

logger = logging.getLogger(__name__)


class Patience:
    """How long something may still be waited for. It is said once that it is."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._until_s = time.monotonic() + patience_s(environ)
        self._pause_s = FIRST_S
        self._told = False

    def pause_s(self, error: Unavailable) -> float:
        """Return how long to wait until the next try; raise the error if there is to be none."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise error
        self.tell(str(error))
        pause_s = self._pause_s * random.uniform(0.75, 1.25)
        self._pause_s = min(2 * self._pause_s, LONGEST_S)
        return min(pause_s, left_s)

    def tell(self, why: str) -> None:
        """Say, the first time, what is waited for."""
        left_s = self._until_s - time.monotonic()
        if not self._told and left_s > 0:
            self._told = True
            tells.get(logger.warning)(f"{why} It is waited for, {left_s:.0f} s more at most.")


def patience_s(environ: Mapping[str, str]) -> float:
    """Return for how many seconds is waited for what is away."""
    text = environ.get(PATIENCE_VARIABLE, "").strip()
    try:
        seconds = float(text or PATIENCE_S)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise InvalidUsage(f"{PATIENCE_VARIABLE} must be a number of seconds, 0 or more, not {text[:40]!r}.")
    return seconds


def waited(work: Callable[[], T]) -> T:
    """Do something, again and again while what it needs is away; raise the last `Unavailable` when patience is over."""
    patience = Patience()
    while True:
        try:
            return work()
        except Unavailable as error:
            pause_s = patience.pause_s(error)
        time.sleep(pause_s)


async def awaited(work: Callable[[], Awaitable[T]]) -> T:
    """Await something as `waited` does it."""
    import asyncio  # takes a while to load

    patience = Patience()
    while True:
        try:
            return await work()
        except Unavailable as error:
            pause_s = patience.pause_s(error)
        await asyncio.sleep(pause_s)


def names_nobody(error: BaseException | None) -> bool:
    """Say whether a machine of the name in a URL is not known: a mistake in writing does not pass by itself.

    A name server that does not answer just now says something else.
    """
    while error is not None and not isinstance(error, socket.gaierror):
        error = error.__cause__ or error.__context__
    return error is not None and error.errno in (socket.EAI_NONAME, socket.EAI_NODATA)


def is_away(error: Exception) -> bool:
    """Say whether Prefect's client could not reach its server, or found it too busy to do what it was asked for."""
    import httpx

    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        return is_away(error.__cause__)  # as the client begins, it asks for the server's version
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (408, 429) or error.response.status_code >= 500
    if isinstance(error, httpx.UnsupportedProtocol) or names_nobody(error):
        return False
    return isinstance(error, TimeoutError | httpx.TransportError)
