"""A proxy that can cut a server off: as if it had died (connection refused), or hung (accepted, no answer)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlsplit

How = Literal["refused", "hangs"]


class Outage:
    """Forwards connections from its own port until it is cut. After `mend` the same port forwards again."""

    def __init__(self, url: str) -> None:
        self._there = urlsplit(url)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = self._there._replace(netloc=f"127.0.0.1:{self._port}").geturl()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="outage", daemon=True)
        self._server: asyncio.Server | None = None
        self._hangs = False
        self._open: set[asyncio.Task[None]] = set()

        self._thread.start()
        self.mend()

    def cut(self, how: How) -> None:
        """Cut the server off, including open connections."""
        asyncio.run_coroutine_threadsafe(self._cut(how), self._loop).result(10)

    def mend(self) -> None:
        """Forward new connections again."""
        asyncio.run_coroutine_threadsafe(self._mend(), self._loop).result(10)

    async def _cut(self, how: How) -> None:
        self._hangs = how == "hangs"
        if not self._hangs and self._server is not None:
            self._server.close()
            self._server = None
            await self._drop()

    async def _mend(self) -> None:
        self._hangs = False
        await self._drop()
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)

    async def _drop(self) -> None:
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        there: asyncio.StreamWriter | None = None
        ways: set[asyncio.Future[None]] = set()
        try:
            ahead = await self._let_in(reader, writer)
            if ahead is None:
                return
            back, there = await asyncio.open_connection(self._there.hostname, self._there.port)
            there.write(ahead)
            ways = {asyncio.ensure_future(self._pass(reader, there)), asyncio.ensure_future(self._pass(back, writer))}
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            for way in ways:
                way.cancel()
            for one in filter(None, (writer, there)):
                one.transport.abort()

    async def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        """Return the bytes already read from a connection that is forwarded. Returns None if it is not forwarded."""
        return b""

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if self._hangs:  # a hung server sends nothing more to open connections
                    await asyncio.Event().wait()
                writer.write(data)
                await writer.drain()


class Crowd(Outage):
    """Rejects a new connection with a 503 if ``busy`` returns true for the first line of its request."""

    def __init__(self, url: str, busy: Callable[[str], bool]) -> None:
        self._busy = busy
        super().__init__(url)

    async def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        head = await reader.readuntil(b"\r\n\r\n")
        if not self._busy(head.partition(b"\r\n")[0].decode()):
            return head
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        await writer.drain()
        writer.write_eof()
        await reader.read(-1)  # read the rest of the request: closing the connection earlier would lose the answer
        return None
