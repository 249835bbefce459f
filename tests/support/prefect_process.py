"""The process of the Prefect server that tests share: the product's own, less of what no test looks at.

Prefect has SQLite work in threads of its own, four times a statement, and two threads wait for one another each time.
Here the loop asks SQLite itself, which answers from memory. Only where another connection holds the lock does a
thread wait for it, as ever. What is asked, in which order and in which transaction stays Prefect's.

For each request, too, Prefect has a thread tell which database it is, and two tasks of their own for what looks at its
headers. Here the loop does both; and nothing is looked at for being compressed, as nothing goes far. What each run asks
twice a second `prefect_polls` answers, as long as nothing was stopped.

What events tell (each task's runs, what automations hear) is written down while the file is there that the second
argument names (`recorded` in the conftest), else dropped. Servers that tests or commands start for themselves are as
their users' are.
"""

from __future__ import annotations

import asyncio
import functools
import os
import queue
import sqlite3
import sys
from contextlib import suppress
from datetime import timedelta
from typing import Any

import aiosqlite

from holo_tasks.prefect_server import process

_WAITS = "PRAGMA busy_timeout"
_in_thread = aiosqlite.Connection._execute
_serve = process._serve
_SELDOM = timedelta(seconds=2)


async def _execute(connection: aiosqlite.Connection, work: Any, *arguments: Any, **named: Any) -> Any:
    if not connection._running or not connection._connection:
        raise ValueError("Connection closed")
    if arguments and isinstance(arguments[0], str) and arguments[0].startswith(_WAITS):
        arguments = (f"{_WAITS} = 0", *arguments[1:])
    try:
        return work(*arguments, **named)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
    return await _in_thread(
        connection, functools.partial(_patiently, connection._connection, work, *arguments, **named)
    )


def _patiently(database: sqlite3.Connection, work: Any, *arguments: Any, **named: Any) -> Any:
    database.execute(f"{_WAITS} = 60000")
    try:
        return work(*arguments, **named)
    finally:
        database.execute(f"{_WAITS} = 0")


async def _next(messages: Any, timeout: float | None) -> Any:
    """Return what comes next, if anything does; no thread is sent to look ten times a second."""
    while True:
        with suppress(queue.Empty):
            return messages._queue.get_nowait()
        if timeout != 0:
            await asyncio.sleep(1)
        if timeout is not None:
            return None


async def _here(work: Any, *arguments: Any, **named: Any) -> Any:
    """Do as `run_in_threadpool` does, in no thread."""
    return work(*arguments, **named)


class _Plain:
    """Does as `BaseHTTPMiddleware` for what either answers itself or leaves all to the next, in no task of its own."""

    def __init__(self, app: Any, dispatch: Any) -> None:
        self._app, self._dispatch = app, dispatch

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.requests import Request

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def call_next(request: Any) -> None:
            await self._app(scope, receive, send)

        if answer := await self._dispatch(Request(scope, receive), call_next):
            await answer(scope, receive, send)


def _with_less_between(create: Any, *arguments: Any, **named: Any) -> Any:
    """Make Prefect's API with as little as goes between its server and what answers."""
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.middleware.gzip import GZipMiddleware

    app = create(*arguments, **named)
    app.user_middleware = [one for one in app.user_middleware if one.cls is not GZipMiddleware]
    for one in app.user_middleware:
        if one.cls is BaseHTTPMiddleware:
            one.cls = _Plain
    return app


def _behind_polls(create: Any, *arguments: Any, **named: Any) -> Any:
    """Make Prefect's server with what answers polls before it."""
    from prefect.settings import get_current_settings

    from tests.support.prefect_polls import NothingStopped

    settings = get_current_settings().server
    url, login = settings.database.connection_url, settings.api.auth_string
    assert url is not None
    assert login is not None
    database = url.get_secret_value().removeprefix("sqlite+aiosqlite:///")
    return NothingStopped(create(*arguments, **named), database, login.get_secret_value())


def _serve_less(*arguments: Any) -> None:
    """Serve, once Prefect may be loaded: it reads its settings as it is."""
    from burner_redis.pubsub import PubSub
    from fastapi.dependencies import utils
    from prefect.server.api import background_workers, server
    from prefect.server.utilities.messaging import memory

    background_workers.Worker = functools.partial(
        background_workers.Worker, minimum_check_interval=_SELDOM, scheduling_resolution=_SELDOM
    )
    PubSub._queue_get = _next
    publish = memory.Topic.publish

    async def publish_if_asked(topic: memory.Topic, message: memory.MemoryMessage) -> None:
        if os.path.exists(sys.argv[2]):  # noqa: PTH110  asked for each event
            await publish(topic, message)

    aiosqlite.Connection._execute = _execute
    memory.Topic.publish = publish_if_asked
    utils.run_in_threadpool = _here  # type: ignore[attr-defined]
    server.create_api_app = functools.partial(_with_less_between, server.create_api_app)
    server.create_app = functools.partial(_behind_polls, server.create_app)
    _serve(*arguments)


if __name__ == "__main__":
    process._serve = _serve_less
    process.main()
