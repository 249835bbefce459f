"""A live view: a VNC server on the desktop's side, pages and a websocket for browsers on this one."""

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
from holo_tasks.core.remote_input import ByHand
from holo_tasks.core.this_machine import is_loopback, switched_on
from holo_tasks.live_view.door import Door
from holo_tasks.live_view.programs import require
from holo_tasks.live_view.rfb import NotRfb, Viewer
from holo_tasks.live_view.site import Site

LOOPBACK = "127.0.0.1"
ANY = ("0.0.0.0", "::")
CHUNK = 1 << 16
logger = logging.getLogger("holo_tasks.live_view")
# Its requests hold the token: they are nobody's business.
_silent = logging.Logger("holo_tasks.live_view.requests", logging.CRITICAL + 1)


@dataclass(frozen=True)
class LiveView:
    """Where a person finds the desktop. Whoever has ``url`` has the desktop: it goes into no log."""

    url: str
    watch_url: str
    site: Site | None = field(default=None, compare=False)

    def ask(self, question: str, *, when: str, answer: str) -> None:
        """Say on the page what a person is asked, until when, and the command that answers."""
        if self.site is not None:
            self.site.asked = question, when, answer

    def until(self, ended: Callable[[], None]) -> None:
        """Say on the page that what is done there is recorded, and have it call this when the person is done."""
        if self.site is not None:
            self.site.ended = ended

    def __repr__(self) -> str:
        return "<LiveView>"


@asynccontextmanager
async def open_live_view(desktop: ports.Shown, *, host: str = LOOPBACK, port: int = 0) -> AsyncIterator[LiveView]:
    """Show a desktop in a browser for as long as this is entered; all connections are closed when it is left.

    ``url`` is for a person to see and use it: what they press and point at reaches the desktop only while it is held
    (`core.ports.Held`). ``watch_url`` shows it and takes no input. ``port`` 0
    is any free one. On another ``host`` than a loopback address anybody on the way reads along, for there is no TLS.
    Raises `InvalidUsage` if what it takes is not installed.
    """
    folder = require()
    _check(host)
    path = await desktop.open_vnc()
    try:
        door = Door(socket.gethostname() if host in ANY else host)
        site = Site(door, folder)
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
            yield _view(door, server, site)
        finally:
            server.close()
            await server.wait_closed()
    finally:
        with contextlib.suppress(HoloError):  # the desktop is gone, and its server with it
            await desktop.close_vnc(path)


class Bridge:
    """Joins websockets to the VNC server's socket and to the desktop."""

    def __init__(self, desktop: ports.Shown, path: Path, site: Site) -> None:
        self._desktop = desktop
        self._path = path
        self._site = site
        self.answer = site.answer

    async def join(self, viewer: ServerConnection) -> None:
        """Carry one viewer's conversation until either side ends it."""
        said = Viewer()
        may_use = self._site.may_use(viewer)
        try:
            reader, writer = await asyncio.open_unix_connection(str(self._path))
        except OSError:
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_to_viewer(reader, viewer))
                group.create_task(self._from_viewer(viewer, said, writer, may_use))
        except* (ConnectionClosed, NotRfb, OSError, EOFError):
            pass
        finally:
            writer.close()
            if may_use:
                await self._do(said.left())

    async def _from_viewer(
        self, viewer: ServerConnection, said: Viewer, writer: asyncio.StreamWriter, may_use: bool
    ) -> None:
        async for message in viewer:
            if isinstance(message, str):
                raise NotRfb("the viewer sends text")
            data, inputs = said.heard(message)
            if may_use:
                await self._do(inputs)
            if data:
                writer.write(data)
                await writer.drain()
        raise EOFError

    async def _do(self, inputs: Sequence[ByHand]) -> None:
        """Do what a person does, if they have the screen; the desktop makes sure of that itself."""
        if inputs and isinstance(self._desktop, ports.Held) and self._desktop.held:
            with contextlib.suppress(HoloError):  # given back, killed or gone meanwhile; a key that nothing produces
                await self._desktop.by_hand(inputs)


async def _to_viewer(reader: asyncio.StreamReader, viewer: ServerConnection) -> None:
    while data := await reader.read(CHUNK):
        await viewer.send(data)
    raise EOFError


def _check(host: str) -> None:
    if is_loopback(host) or host == "localhost":
        return
    if switched_on(os.environ):
        raise InvalidUsage(f"Local-only mode is on, and the live view would listen at {host}: use {LOOPBACK}.")
    logger.warning(
        "The live view listens at %s WITHOUT ENCRYPTION: whoever can read the traffic sees the desktop, reads what is "
        "typed, and can take the link and use it. Use %s and an SSH tunnel instead.",
        host,
        LOOPBACK,
    )


def _view(door: Door, server: Server, site: Site) -> LiveView:
    port = next(iter(server.sockets)).getsockname()[1]
    host = f"[{door.host}]" if ":" in door.host else door.host
    use, watch = (f"http://{host}:{port}/{token}/" for token in (door.use, door.watch))
    return LiveView(use, watch, site)
