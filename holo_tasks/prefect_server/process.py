"""The process of a temporary Prefect server: it answers at its own address only, and to those who have its login.

Its login comes by standard input, for other processes of this user can read what a process was started with.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress

from holo_tasks.machine.closed import close_process
from holo_tasks.machine.lean import load_less
from holo_tasks.machine.memory import collect_seldom, keep_little
from holo_tasks.machine.umask import narrow_umask


def main() -> None:
    """Serve at the socket whose number is the argument, until told to end."""
    collect_seldom()
    keep_little()
    load_less()
    close_process()  # it holds the login, and what it needs for its database
    narrow_umask()  # its database holds secrets, and the key to them beside them
    os.environ["PREFECT_SERVER_API_AUTH_STRING"] = sys.stdin.readline().strip()
    with socket.socket(fileno=int(sys.argv[1])) as at:
        host, port = at.getsockname()
        # What a page of another site asks for is nobody's business here. Pages of its own are of its own address.
        os.environ["PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS"] = f"http://{host}:{port}"
        _serve(at, host)


def _serve(at: socket.socket, host: str) -> None:
    import uvicorn
    from prefect.server.api.server import create_app
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    _compare_quietly()
    # Another site's name may be made to lead here, and its pages would then count as pages of this server.
    app = TrustedHostMiddleware(create_app(), [host])
    config = uvicorn.Config(app, log_level="error", lifespan="on", proxy_headers=False)
    uvicorn.Server(config).run(sockets=[at])


def _compare_quietly() -> None:
    """Say of Prefect's ids what SQLAlchemy 2.1 wants to know: else it warns, unheard, each time one is compared.

    To find out whom to warn it looks through the stack, which took a thirtieth of all that a server does.
    """
    with suppress(ImportError):  # before 2.1
        from prefect.server.utilities.database import UUID
        from sqlalchemy.sql.operators import OperatorClass

        UUID.operator_classes = OperatorClass.ANY


if __name__ == "__main__":
    main()
