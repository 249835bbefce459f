"""Main module of a temporary Prefect server, which `temporary` starts in a process of its own.

The server refuses requests with another Host header than its own address, and requests without its login.

The login comes through standard input, because other processes of this user can read a process's command line and
environment.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from holo_tasks.machine.lazy_imports import defer_large_imports
from holo_tasks.machine.memory import collect_garbage_rarely, return_freed_blocks
from holo_tasks.machine.process_protection import close_process
from holo_tasks.machine.umask import narrow_umask


def main() -> None:
    """Serve at the socket whose descriptor number is the command-line argument, until the process is terminated."""
    collect_garbage_rarely()
    return_freed_blocks()
    defer_large_imports()
    close_process()  # its memory holds the login and the database credentials
    narrow_umask()  # its database holds secrets and their encryption key
    os.environ["PREFECT_SERVER_API_AUTH_STRING"] = sys.stdin.readline().strip()
    with socket.socket(fileno=int(sys.argv[1])) as at:
        host, port = at.getsockname()
        # Reject cross-origin requests of pages from other sites. The server's own pages have its own origin.
        os.environ["PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS"] = f"http://{host}:{port}"
        _serve(at, host)


def _serve(at: socket.socket, host: str) -> None:
    import uvicorn
    from prefect.server.api.server import create_app
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    _declare_uuid_operators()
    _lock_before_reading()
    # Check the Host header against DNS rebinding: another site's name may resolve to this address.
    app = TrustedHostMiddleware(create_app(), [host])
    config = uvicorn.Config(app, log_level="error", lifespan="on", proxy_headers=False)
    uvicorn.Server(config).run(sockets=[at])


def _declare_uuid_operators() -> None:
    """Declare the operators of Prefect's UUID type, as SQLAlchemy 2.1 requires.

    Otherwise each comparison issues a deprecation warning. For each warning Python searches the stack for the code to
    name in it, which took a thirtieth of the server's time.
    """
    with suppress(ImportError):  # before 2.1
        from prefect.server.utilities.database import UUID
        from sqlalchemy.sql.operators import OperatorClass

        UUID.operator_classes = OperatorClass.ANY


def _lock_before_reading() -> None:
    """Let each transaction on SQLite wait for the lock of the database before it reads.

    Most of Prefect's transactions read first and write then. If another one writes between, SQLite refuses the write at
    once, Prefect answers 503, and its client tries again only after about 2 s. Prefect has no setting for this, so its
    method is replaced. A transaction within another one does not wait, because the outer one would hold the lock
    meanwhile. A Prefect without this method keeps its own way.
    """
    with suppress(ImportError, AttributeError):
        from prefect.server.database.configurations import SQLITE_BEGIN_MODE, AioSqliteConfiguration

        usual = AioSqliteConfiguration.begin_transaction

        @asynccontextmanager
        async def with_lock(self: Any, session: Any) -> AsyncIterator[Any]:
            async with usual(self, session, with_for_update=True) as transaction:
                await session.connection()  # takes the lock
                token = SQLITE_BEGIN_MODE.set("DEFERRED")  # for sessions within this transaction
                try:
                    yield transaction
                finally:
                    SQLITE_BEGIN_MODE.reset(token)

        def begin(self: Any, session: Any, with_for_update: bool = False) -> Any:
            if with_for_update or SQLITE_BEGIN_MODE.get() is not None:
                return usual(self, session, with_for_update=with_for_update)
            return with_lock(self, session)

        AioSqliteConfiguration.begin_transaction = begin


if __name__ == "__main__":
    main()
