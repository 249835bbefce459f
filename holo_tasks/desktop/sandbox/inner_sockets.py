"""Open sockets that listen inside the network of a sandboxed program but belong to a process outside."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

# <linux/nsfs.h>, <linux/sockios.h>, <linux/in.h>
OWNER_OF_NAMESPACE, SET_ADDRESS, SET_MASK = 0xB701, 0x8916, 0x891C
IP_FREEBIND = 15
READY = b"ready"
"""The message by which the forwarder reports that it serves its sockets."""
WAITING = 64
"""Most connections that wait to be accepted, for each socket."""
LOOPBACK = "lo"


def listening_inside(network: int, places: Sequence[tuple[str, int]]) -> list[socket.socket]:
    """Return sockets that listen at addresses and ports in a network namespace, which a descriptor names.

    A child process enters the namespace and passes the sockets back. A process that enters a user namespace must have
    one thread only, and this process stays in its own namespaces. Raises `OSError`.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if not child:
            _hand_over(theirs, network, places)
        theirs.close()
        said, descriptors, _, _ = socket.recv_fds(ours, 1024, max(1, len(places)))
        os.waitpid(child, 0)
    if len(descriptors) != len(places):
        raise OSError(said.decode(errors="replace") or "the network of the program cannot be entered")
    return [socket.socket(fileno=descriptor) for descriptor in descriptors]


def _hand_over(channel: socket.socket, network: int, places: Sequence[tuple[str, int]]) -> None:
    try:
        _enter(network)
        others = [address for address, _ in dict.fromkeys(places) if not address.startswith("127.")]
        for number, address in enumerate(dict.fromkeys(others)):
            _add(address, number)
        found = [_listen(address, port) for address, port in places]
        socket.send_fds(channel, [b"here"], [each.fileno() for each in found])
    except Exception as error:
        channel.sendall(str(error).encode() or b"?")
    finally:
        os._exit(0)


def _enter(network: int) -> None:
    """Enter the user namespace that owns a network namespace, unless it is ours, and then the network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    owner = fcntl.ioctl(network, OWNER_OF_NAMESPACE)
    wanted = [] if os.fstat(owner).st_ino == Path("/proc/self/ns/user").stat().st_ino else [owner]
    for namespace in (*wanted, network):
        if libc.setns(namespace, 0):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def _add(address: str, number: int) -> None:
    """Add an address with the mask 255.255.255.255 to the loopback interface."""
    name = f"{LOOPBACK}:{number + 1}".encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for request, value in ((SET_ADDRESS, address), (SET_MASK, "255.255.255.255")):
            request_data = struct.pack("=16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(value))
            fcntl.ioctl(any_socket, request, request_data.ljust(40, b"\0"))


def _listen(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # The loopback interface may be activated a moment later.
    made.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address, port))
    made.listen(WAITING)
    return made
