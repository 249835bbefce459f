"""One address for several servers: front.py PORT BACKEND… passes each connection to the next live server.

It replaces the load balancer of an installation. A connection whose server dies is closed, as a balancer does.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from itertools import cycle

CONNECT_S = 5.0


class Front:
    """Forwards bytes to the servers in turn."""

    def __init__(self, backends: list[int]) -> None:
        self._backends = backends
        self._next = cycle(range(len(backends)))

    async def serve(self, port: int) -> None:
        server = await asyncio.start_server(self._take, "127.0.0.1", port)
        print("front", flush=True)
        async with server:
            await server.serve_forever()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(self._next)
        for port in self._backends[first:] + self._backends[:first]:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_S):
                    there = await asyncio.open_connection("127.0.0.1", port)
                break
        else:
            writer.close()
            return
        both = [asyncio.create_task(_pass(reader, there[1])), asyncio.create_task(_pass(there[0], writer))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            for end in (writer, there[1]):
                end.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(Front([int(port) for port in sys.argv[2:]]).serve(int(sys.argv[1])))
