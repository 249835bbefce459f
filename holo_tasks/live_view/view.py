"""Open a live view: start a VNC server on the desktop, serve the pages, and bridge websockets to the server.

`open_live_view` is used by hand-offs, the blocks and `holo-tasks record`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from holo_tasks.core import ports
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.core.input.remote_input import ByHand
from holo_tasks.core.this_machine import is_loopback, switched_on
from holo_tasks.live_view.access import ViewAccess
from holo_tasks.live_view.programs import require
from holo_tasks.live_view.rfb import NotRfb, Viewer
from holo_tasks.live_view.site import Site

LOOPBACK = "127.0.0.1"
ANY = ("0.0.0.0", "::")
CHUNK = 1 << 16
logger = logging.getLogger("holo_tasks.live_view")
# The URLs of requests contain the token, so the server's own log lines are dropped.
_silent = logging.Logger("holo_tasks.live_view.requests", logging.CRITICAL + 1)


@dataclass(frozen=True)
class LiveView:
    """The URLs of a live view. Any holder of ``url`` can use the desktop, so never log it."""

    url: str
    watch_url: str
    site: Site | None = field(default=None, compare=False)

    def ask(self, question: str, *, when: str, answer: str) -> None:
        """Show a question on the page, with its time limit and the command that answers it."""
        if self.site is not None:
            self.site.waiting_question = question, when, answer

    def until(self, ended: Callable[[], None]) -> None:
        """Show on the page that input is recorded. Call ``ended`` when the person clicks *Done*."""
        if self.site is not None:
            self.site.ended = ended

    def __repr__(self) -> str:
        return "<LiveView>"


@asynccontextmanager
async def open_live_view(desktop: ports.Shown, *, host: str = LOOPBACK, port: int = 0) -> AsyncIterator[LiveView]:
    """Serve a desktop to browsers while the context is open. All connections are closed at its end.

    At ``url`` a person sees and uses the desktop. Their input reaches it only while it is held (`core.ports.Held`).
    ``watch_url`` shows the desktop and takes no input. ``port`` 0 picks any free port.

    Connections are not encrypted: if ``host`` is not a loopback address, anybody on the network path can read along.
    Raises `InvalidUsage` if a needed program is not installed, or if the server cannot listen at the port.
    """
    folder = require()
    _check_host(host)
    path = await desktop.open_vnc()
    try:
        access = ViewAccess(socket.gethostname() if host in ANY else host)
        site = Site(access, folder)
        bridge = Bridge(desktop, path, site)
        try:
            server = await serve(
                bridge.join,
                host,
                port,
                process_request=bridge.answer,
                compression=None,
                logger=_silent,
                server_header=None,
            )
        except OSError as error:
            raise InvalidUsage(f"The live view cannot listen at {host}, port {port}: {error.strerror}.") from None
        try:
            yield _live_view(access, server, site)
        finally:
            server.close()
            await server.wait_closed()
    finally:
        with contextlib.suppress(HoloError):  # the desktop has ended, and the VNC server with it
            await desktop.close_vnc(path)


class Bridge:
    """Connects websockets to the VNC server's socket, and sends a person's input to the desktop."""

    def __init__(self, desktop: ports.Shown, path: Path, site: Site) -> None:
        self._desktop = desktop
        self._path = path
        self._site = site
        self.answer = site.answer

    async def join(self, viewer: ServerConnection) -> None:
        """Forward one viewer's connection in both directions until either side ends it."""
        parser = Viewer()
        may_use = self._site.may_use(viewer)
        try:
            reader, writer = await asyncio.open_unix_connection(str(self._path))
        except OSError:
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_to_viewer(reader, viewer))
                group.create_task(self._from_viewer(viewer, parser, writer, may_use))
        except* (ConnectionClosed, NotRfb, OSError, EOFError):
            pass
        finally:
            writer.close()
            if may_use:
                await self._send_input(parser.release_all())

    async def _from_viewer(
        self, viewer: ServerConnection, parser: Viewer, writer: asyncio.StreamWriter, may_use: bool
    ) -> None:
        async for message in viewer:
            if isinstance(message, str):
                raise NotRfb("the viewer sends text")
            data, inputs = parser.receive(message)
            if may_use:
                await self._send_input(inputs)
            if data:
                writer.write(data)
                await writer.drain()
        raise EOFError

    async def _send_input(self, inputs: Sequence[ByHand]) -> None:
        """Send a person's input to the desktop if the desktop is held. The desktop checks this again itself."""
        if inputs and isinstance(self._desktop, ports.Held) and self._desktop.held:
            # The screen was returned, killed or closed meanwhile, or no key produces the symbol.
            with contextlib.suppress(HoloError):
                await self._desktop.by_hand(inputs)


async def _to_viewer(reader: asyncio.StreamReader, viewer: ServerConnection) -> None:
    while data := await reader.read(CHUNK):
        await viewer.send(data)
    raise EOFError


def _check_host(host: str) -> None:
    if is_loopback(host) or host == "localhost":
        return
    if switched_on(os.environ):
        raise InvalidUsage(
            f"Local-only mode is on, and the live view would listen at {host}. Listen at {LOOPBACK} instead."
        )
    logger.warning(
        "The live view listens at %s WITHOUT ENCRYPTION. Anybody on the network path can see the desktop and the typed "
        "text, and can use the link. Use %s and an SSH tunnel instead.",
        host,
        LOOPBACK,
    )


def _live_view(access: ViewAccess, server: Server, site: Site) -> LiveView:
    port = next(iter(server.sockets)).getsockname()[1]
    host = f"[{access.host}]" if ":" in access.host else access.host
    use, watch = (f"http://{host}:{port}/{token}/" for token in (access.use, access.watch))
    return LiveView(use, watch, site)
