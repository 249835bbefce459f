"""The MCP server over HTTP: at 127.0.0.1 only, for clients with the token, and not for pages in a browser.

The token comes from a file or the environment, because all users of a machine can read the arguments of a process.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holo_tasks.cli.mcp.processes import FOLDER, TOKEN_VARIABLE
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.live_view.access import fresh
from holo_tasks.machine.output import say
from holo_tasks.machine.private import is_open_to_others, open_private, private_folder

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST, PATH = "127.0.0.1", "/mcp"
SHORTEST = 20
"""Fewest characters of a token; a shorter one could be guessed."""


def serve_http(server: MCPServer[Any], port: int, file: Path | None, home: Path) -> int:
    """Serve until a signal, and return the exit code. Raises `InvalidUsage` without a usable token or port."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    if not 0 <= port <= 65_535:
        raise InvalidUsage(f"--http must be a port from 0 to 65535, not {port}.")
    token, where = token_of(file, home)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # before the address is printed, so that a client can connect at once
    except OSError as error:
        listening.close()
        raise InvalidUsage(
            f"The server cannot listen at {HOST}:{port}: {error.strerror}; give another --http PORT."
        ) from None
    port = listening.getsockname()[1]
    ours = [f"{host}:{port}" for host in (HOST, "localhost")]
    # Against DNS rebinding: pages of any site can send requests here, and any name can resolve to this machine.
    security = TransportSecuritySettings(allowed_hosts=ours, allowed_origins=[f"http://{name}" for name in ours])
    app = RequestGuard(server.streamable_http_app(streamable_http_path=PATH, transport_security=security), token, ours)
    say(f"MCP server at http://{HOST}:{port}{PATH}; its token is {where}")
    running = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, server_header=False))
    asyncio.run(running.serve(sockets=[listening]))
    return 0


def token_of(file: Path | None, home: Path) -> tuple[str, str]:
    """Return the token and a phrase for its place. Without a given token, a new one is kept in the home."""
    if file is not None:
        return _read(file), f"in {file}"
    if token := os.environ.pop(TOKEN_VARIABLE, "").strip():
        return _checked(token, TOKEN_VARIABLE), f"that of {TOKEN_VARIABLE}"
    kept = private_folder(home, FOLDER) / "token"
    if not kept.exists():
        with os.fdopen(open_private(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="ascii") as out:
            out.write(f"{fresh()}\n")
    return _read(kept), f"in {kept}"


def _read(file: Path) -> str:
    try:
        text = file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not plain text"
        raise InvalidUsage(f"The token cannot be read from {file}: {why}.") from None
    if is_open_to_others(file):
        raise InvalidUsage(f"Other users can read the token in {file}: run `chmod 600 {file}`.")
    return _checked(text.strip(), str(file))


def _checked(token: str, where: str) -> str:
    if len(token) < SHORTEST or not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidUsage(f"The token of {where} must be one word of at least {SHORTEST} characters.")
    return token


class RequestGuard:
    """ASGI application that refuses requests without the token (401), or with a foreign Host or Origin (403)."""

    def __init__(self, app: ASGIApp, token: str, hosts: list[str]) -> None:
        self._app = app
        self._bearer = f"bearer {token}".encode()
        self._hosts = [host.encode() for host in hosts]
        self._origins = [b"http://" + host for host in self._hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._refusal(scope["headers"])
            await (self._refuse(send, refusal) if refusal else self._app(scope, receive, send))

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> int:
        hosts = [value.lower() for name, value in headers if name == b"host"]
        origins = [value.lower() for name, value in headers if name == b"origin"]
        if len(hosts) != 1 or hosts[0] not in self._hosts or any(one not in self._origins for one in origins):
            return 403
        given = [value for name, value in headers if name == b"authorization"]
        kind, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        return 0 if hmac.compare_digest(kind.lower() + b" " + token.strip(), self._bearer) else 401

    async def _refuse(self, send: Send, status: int) -> None:
        wanted = " or ".join(host.decode() for host in self._hosts)
        body = b"Send the token as: Authorization: Bearer TOKEN\n"
        if status == 403:
            body = f"This server answers requests to {wanted} only: use that address, also through a tunnel.\n".encode()
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"text/plain; charset=utf-8")]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
