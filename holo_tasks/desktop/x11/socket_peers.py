"""Look up the peer of a Unix socket in the kernel (sock_diag), by the inodes of sockets.

`Peers` is the main class; `sleeping_clients` uses it.
"""

from __future__ import annotations

import socket
import struct

SOCK_DIAG, BY_FAMILY, REQUEST = 4, 20, 1
ANY, SHOW_PEER, PEER = 0xFFFFFFFF, 4, 2
ESTABLISHED, LISTENS, STREAMS = 1, 10, (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
HEAD, QUESTION, ANSWER, FIELD = struct.Struct("=IHHII"), struct.Struct("=BBHIIIII"), struct.Struct("=BBBBIII"), "=HH"
MOST_BYTES, MOST_KNOWN = 4096, 4096
FUTURE_CLIENT = -1
"""Placeholder for the peer of a listening socket, whose clients are not connected yet."""


class Peers:
    """The known peers of connected sockets. A connection never changes its peer, so each is looked up once."""

    def __init__(self) -> None:
        self._kernel: socket.socket | None = None
        self._known: dict[int, int] = {}

    def of(self, number: int) -> int:
        """Return the inode of a Unix socket's peer, or `FUTURE_CLIENT` for a listening socket.

        ``number`` is the inode of the socket. Returns zero if the peer is unknown: for sockets of other kinds, and
        those of another network namespace.
        """
        if not (found := self._known.get(number, 0)):
            found = self._ask_kernel(number)
            if found:
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[number] = found
        return found

    def _ask_kernel(self, number: int) -> int:
        question = QUESTION.pack(socket.AF_UNIX, 0, 0, ANY, number, SHOW_PEER, ANY, ANY)
        try:
            if self._kernel is None:
                self._kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, SOCK_DIAG)
                self._kernel.setblocking(False)
            self._kernel.send(HEAD.pack(HEAD.size + QUESTION.size, BY_FAMILY, REQUEST, number, 0) + question)
            reply = self._kernel.recv(MOST_BYTES)  # the kernel answers before `send` returns
        except OSError:
            self.close()
            return 0
        return _peer(reply, number)

    def close(self) -> None:
        """Close the socket to the kernel."""
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None


def _peer(reply: bytes, number: int) -> int:
    """Read the peer's inode from the kernel's answer about socket ``number``; zero if the answer has none."""
    body = HEAD.size + ANSWER.size
    if len(reply) < body:
        return 0
    length, kind, _, asked, _ = HEAD.unpack_from(reply)
    if kind != BY_FAMILY or asked != number:
        return 0
    family, of_kind, state, _, named, _, _ = ANSWER.unpack_from(reply, HEAD.size)
    if family != socket.AF_UNIX or of_kind not in STREAMS or named != number:
        return 0
    if state != ESTABLISHED:
        return FUTURE_CLIENT if state == LISTENS else 0
    end, at = min(length, len(reply)), body
    while at + 4 <= end:
        size, what = struct.unpack_from(FIELD, reply, at)
        if what == PEER and size >= 8 and at + 8 <= end:
            return int(struct.unpack_from("=I", reply, at + 4)[0])
        at += max(4, size + 3 & ~3)
    return 0
