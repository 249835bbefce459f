"""Forward the connections of a sandboxed program to the hosts that it was granted, and to no others.

This process runs outside of the sandbox. Its sockets listen inside the program's network, and each forwards to one host
and port. It resolves a host's name at each connection, as the program would have done. `Sandbox.start` starts it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import sys

from holo_tasks.core.network import Grant
from holo_tasks.desktop.sandbox.inner_sockets import READY, listening_inside

CHUNK = 64 * 1024
RESET = struct.pack("=ii", 1, 0)
"""SO_LINGER with zero seconds: closing sends a reset, which no program takes for the end of an answer."""


def main() -> None:
    """Serve one sandboxed program.

    The arguments are the descriptor of its network namespace, the descriptor of the pipe that gets ``READY`` or an
    error, and ADDRESS=HOST:PORT for each granted host.
    """
    network, tell = int(sys.argv[1]), int(sys.argv[2])
    arguments = [argument.partition("=") for argument in sys.argv[3:]]
    hosts = [(address, Grant.of(text)) for address, _, text in arguments]
    try:
        listening = listening_inside(network, [(address, grant.port) for address, grant in hosts])
    except OSError as error:
        os.write(tell, str(error).encode())
        sys.exit(1)
    os.close(network)
    asyncio.run(_serve([(each, grant) for each, (_, grant) in zip(listening, hosts, strict=True)], tell))


async def _serve(hosts: list[tuple[socket.socket, Grant]], tell: int) -> None:
    servers = [await _server(each, grant) for each, grant in hosts]
    os.write(tell, READY)
    os.close(tell)
    await asyncio.gather(*(server.serve_forever() for server in servers))


async def _server(listening: socket.socket, grant: Grant) -> asyncio.Server:
    async def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far = await asyncio.open_connection(grant.host, grant.port)
        except OSError:
            _reset(writer)
            return
        try:
            await asyncio.gather(_pass(reader, far[1]), _pass(far[0], writer))
        except OSError:
            _reset(writer)
            _reset(far[1])
        finally:
            for each in (writer, far[1]):
                each.close()

    return await asyncio.start_server(taken, sock=listening)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while some := await reader.read(CHUNK):
        writer.write(some)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


if __name__ == "__main__":
    main()
