"""The process of the shared Prefect server: the product's server without features that no test uses.

Prefect runs SQLite in separate threads, with four thread switches per statement. Here the event loop calls SQLite
directly, because it answers from memory. Only if another connection holds the lock, a thread waits for it as usual.
Statements, their order and their transactions are unchanged.

For each request Prefect also starts a thread to choose the database, and two tasks for middleware that inspects
headers. Here the event loop does both. Responses are not compressed. `prefect_polls` answers the polls of each run as
long as nothing is stopped.

Events (task runs, automations) are recorded only while the file named by the second argument exists (`recorded` in the
conftest). Servers that tests or commands start themselves are the product's usual ones.
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
    """Return the next message, if there is one, without a thread that polls ten times a second."""
    while True:
        with suppress(queue.Empty):
            return messages._queue.get_nowait()
        if timeout != 0:
            await asyncio.sleep(1)
        if timeout is not None:
            return None


async def _here(work: Any, *arguments: Any, **named: Any) -> Any:
    """Replace `run_in_threadpool`: call the function directly."""
    return work(*arguments, **named)


class _Plain:
    """Replaces `BaseHTTPMiddleware` for middleware that answers or passes the request on. Starts no task."""

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
    """Make Prefect's API with as little middleware as possible."""
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.middleware.gzip import GZipMiddleware

    app = create(*arguments, **named)
    app.user_middleware = [one for one in app.user_middleware if one.cls is not GZipMiddleware]
    for one in app.user_middleware:
        if one.cls is BaseHTTPMiddleware:
            one.cls = _Plain
    return app


def _behind_polls(create: Any, *arguments: Any, **named: Any) -> Any:
    """Make Prefect's server behind the middleware that answers polls."""
    from prefect.settings import get_current_settings

    from tests.support.prefect_polls import NothingStopped

    settings = get_current_settings().server
    url, login = settings.database.connection_url, settings.api.auth_string
    assert url is not None
    assert login is not None
    database = url.get_secret_value().removeprefix("sqlite+aiosqlite:///")
    return NothingStopped(create(*arguments, **named), database, login.get_secret_value())


def _serve_less(*arguments: Any) -> None:
    """Serve, once Prefect may be imported. Prefect reads its settings at import."""
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
        if os.path.exists(sys.argv[2]):  # noqa: PTH110  asked for each event  # noqa: PTH110  checked for each event
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
