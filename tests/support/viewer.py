"""A person with a VNC viewer over a live view's websocket, made of the few messages it needs (RFC 6143)."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect

from holo_tasks.core.input.keynames import of_character

WHOLE = struct.pack(">BBHHHH", 3, 0, 0, 0, 65535, 65535)
"""Requests the whole picture. The answer also acknowledges all earlier messages."""


class Person:
    """Looks, points and types."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.size = (0, 0)
        self._read = b""

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str, **options: object) -> AsyncIterator[Self]:
        """Open a live view's link as a browser does."""
        parts = urlsplit(url)
        headers = {"origin": f"http://{parts.netloc}", "compression": None, "proxy": None, **options}
        async with connect(f"ws://{parts.netloc}{parts.path}socket", **headers) as socket:  # type: ignore[arg-type]
            person = cls(socket)
            await person._greet()
            yield person

    async def _greet(self) -> None:
        await self.socket.send(await self._exactly(12))
        assert 1 in await self._exactly((await self._exactly(1))[0])
        await self.socket.send(b"\x01")
        assert await self._exactly(4) == b"\0\0\0\0"
        await self.socket.send(b"\x00")  # requests exclusive access, which the server has to ignore
        *self.size, length = struct.unpack(">HH16xI", await self._exactly(24))  # type: ignore[assignment]
        await self._exactly(length)
        # 32 bits per pixel, in this byte order.
        await self.socket.send(struct.pack(">B3xBBBBHHHBBB3x", 0, 32, 24, 0, 1, 255, 255, 255, 16, 8, 0))
        await self.socket.send(struct.pack(">BxHi", 2, 1, 0))

    async def _exactly(self, count: int) -> bytes:
        while len(self._read) < count:
            message = await self.socket.recv()
            assert isinstance(message, bytes)
            self._read += message
        data, self._read = self._read[:count], self._read[count:]
        return data

    async def picture(self) -> bytes:
        """Return the whole screen, four bytes per pixel. By then the server has handled all earlier messages."""
        await self.socket.send(WHOLE)
        screen = bytearray(self.size[0] * self.size[1] * 4)
        filled = 0
        while filled < len(screen):
            kind, count = struct.unpack(">BxH", await self._exactly(4))
            assert kind == 0
            for _ in range(count):
                left, top, width, height, encoding = struct.unpack(">HHHHi", await self._exactly(12))
                assert encoding == 0
                data = await self._exactly(width * height * 4)
                filled += len(data)
                for y in range(height):
                    at = ((top + y) * self.size[0] + left) * 4
                    screen[at : at + width * 4] = data[y * width * 4 : (y + 1) * width * 4]
        return bytes(screen)

    async def press(self, keysym: int) -> None:
        for down in (True, False):
            await self.key(keysym, down)

    async def key(self, keysym: int, down: bool) -> None:
        await self.socket.send(struct.pack(">BBxxI", 4, down, keysym))

    async def type(self, text: str) -> None:
        """Type as noVNC does: one message of keysyms per press, without pauses."""
        for character in text:
            await self.press(of_character(character))

    async def click(self, x: int, y: int) -> None:
        for buttons in (0, 1, 0):
            await self.socket.send(struct.pack(">BBHH", 5, buttons, x, y))
            await asyncio.sleep(0)
