"""Start of the MCP server, on stdin and stdout or over HTTP."""

from __future__ import annotations

import argparse
import asyncio

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.extras import require_extra


def serve(options: argparse.Namespace) -> int:
    """Serve until the client disconnects, and return the exit code.

    Raises `InvalidUsage` for options that no run accepts, or if the package ``mcp`` is not installed.
    """
    require_extra("mcp", "mcp", "The MCP server")
    from holo_tasks.cli.mcp.client_permissions import granted_by
    from holo_tasks.cli.mcp.tools import build_server

    granted = granted_by(options)
    server = build_server(granted)
    if options.http is None:
        if options.token_file is not None:
            raise InvalidUsage("--token-file needs --http PORT: add that option, or leave this one out.")
        asyncio.run(server.run_stdio_async())
        return 0
    from holo_tasks.cli.mcp.http_server import serve_http

    return serve_http(server, options.http, options.token_file, granted.home)
