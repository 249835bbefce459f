"""Reads the kernel's table of TCP connections by ``NETLINK_SOCK_DIAG`` (see ``sock_diag(7)``), as ``ss`` does."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle

from holo_tasks.machine.proc import process, stat_of

NETLINK_SOCK_DIAG, TCPDIAG_GETSOCK, NLMSG_ERROR, NLMSG_DONE = 4, 18, 2, 3
"""``TCPDIAG_GETSOCK`` gives IPv4 and IPv6 at once. A query for each would walk the whole table of the kernel twice."""
NLM_F_REQUEST_DUMP = 0x301
INET_DIAG_INFO = 2
SYN_SENT, FIN_WAIT1, FIN_WAIT2, LISTEN = 2, 4, 5, 10
STATES = (1, SYN_SENT, FIN_WAIT1, FIN_WAIT2, LISTEN)
"""ESTABLISHED, and the states in which a program still waits. After CLOSE_WAIT the server sends nothing more. LISTEN
shows the ports of servers on this machine.
"""
HEADER = struct.Struct("=IHHII")
QUESTION = struct.Struct("=3xB48xII")
"""``idiag_ext``, ``idiag_states`` and ``idiag_dbs`` of ``struct inet_diag_req``."""
ADDRESSES = struct.Struct("=BBxx2s2s16s16s")
"""``idiag_family``, ``idiag_state``, the ports of this end and of the other, and their addresses."""
INODE = struct.Struct("=I")
INODE_AT, ATTRIBUTES_AT = HEADER.size + 68, HEADER.size + 72
"""``idiag_inode`` is the last field of ``struct inet_diag_msg``, which has 72 bytes."""
AGES_AT, ROUND_TRIP_AT, RECEIVED_AT, SEGMENTS_AT, SENT_AT = 44, 68, 128, 152, 200
"""Offsets in ``struct tcp_info``: ``tcpi_last_data_sent`` (then ``_ack_sent`` and ``_data_recv``), ``tcpi_rtt``,
``tcpi_bytes_received``, ``tcpi_data_segs_in`` (then ``_out``) and ``tcpi_bytes_sent`` (since Linux 4.19)."""
AGES, WORD, LONG, PAIR = struct.Struct("=I4xI"), INODE, struct.Struct("=Q"), struct.Struct("=II")
CHUNK = 1 << 18
_NUMBERS = cycle(range(1, 1 << 16))
"""Numbers of queries, by which their answers are known."""
MOST_FOREIGN = 1 << 16
"""The largest number of other programs' sockets that the table remembers, so as not to look for their owners again."""
MOST_FILES = 200
"""With more open files, looking at each takes about as long as the kernel's walk through its table."""
OTHER_PROTOCOLS = (b"UNIX", b"NETLINK", b"PACKET", b"UDP", b"PING", b"RAW")
"""The first letters of the kernel's names for sockets that are no TCP connections."""


class TableUnavailable(Exception):
    """The kernel does not answer a query. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """One TCP connection of a program, with the kernel's counters.

    ``inode`` is the number of the socket as a file. ``peer`` is the other end, for example ``127.0.0.1:8000``. ``sent``
    and ``received`` count bytes of data, ``segments_out`` and ``segments_in`` the segments that carried them.
    ``sent_ago_ms`` and ``received_ago_ms`` are the times since the last data in each direction. The kernel rounds them
    to its timer, which is 1 to 10 ms. ``connecting`` is true until the other end has accepted the connection.
    ``round_trip_ms`` is the round trip time as the kernel estimates it.
    """

    inode: int
    peer: str
    sent: int = 0
    received: int = 0
    sent_ago_ms: int = 0
    received_ago_ms: int = 0
    segments_out: int = 0
    segments_in: int = 0
    connecting: bool = False
    round_trip_ms: int = 0


class TcpTable:
    """Reads the connections of processes, in one or more network namespaces.

    ``kernels`` are open sockets of the ``NETLINK_SOCK_DIAG`` family. Each answers for the network namespace in which it
    was made. Without any, the table makes one in the namespace of this process.
    """

    def __init__(self, kernels: Sequence[socket.socket] = ()) -> None:
        self._kernels = list(kernels) or [open_diag()]
        self._owned: dict[int, int] = {}
        self._foreign: set[int] = set()
        self._known: set[int] = set()
        self._answered = False
        self.unreadable: set[int] = set()
        """The processes whose open files this process may not list."""

    def read(self, pids: Collection[int]) -> list[TcpSocket]:
        """Return the connections that these processes have made to servers.

        A server's own end of a connection is left out. Raises `TableUnavailable` if the kernel refuses the query.

        The kernel walks through its whole table for a query, which has 262,144 rows on a machine with 16 GB. This takes
        milliseconds, so processes without a TCP socket cause no query. The first call shows whether the kernel answers.
        """
        if self._answered and not self._owned and not _may_hold_tcp(pids):
            self.unreadable.clear()
            return []
        if not self._known >= set(pids):
            # A new process may hold sockets that others had before.
            self._foreign.clear()
        self._known = set(pids)
        self.unreadable &= self._known
        found, unknown = {}, set[int]()
        for kernel in self._kernels:
            for inode, message in _clients(kernel):
                if inode not in self._foreign:
                    found[inode] = message
                    if inode not in self._owned:
                        unknown.add(inode)
        self._answered = True
        if unknown:
            self._owned |= _socket_owners(pids, self.unreadable)
            self._foreign |= unknown - self._owned.keys()
        self._owned = {inode: pid for inode, pid in self._owned.items() if inode in found}
        if len(self._foreign) > MOST_FOREIGN:
            self._foreign.clear()
        return [_socket(found[inode]) for inode, pid in self._owned.items() if pid in self._known]

    def close(self) -> None:
        """Close the sockets to the kernel."""
        for kernel in self._kernels:
            kernel.close()


def unavailable_reason() -> str:
    """Return why this process cannot read the table of connections. Returns an empty string if it can."""
    try:
        table = TcpTable()
    except TableUnavailable as reason:
        return str(reason)
    try:
        table.read([os.getpid()])
    except TableUnavailable as reason:
        return str(reason)
    finally:
        table.close()
    return ""


def open_diag() -> socket.socket:
    """Open a socket that asks the kernel about the connections of this network namespace. Raises `TableUnavailable`."""
    try:
        kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG)
    except OSError as error:
        raise TableUnavailable(os.strerror(error.errno or 0)) from None
    kernel.settimeout(1.0)
    return kernel


def _clients(kernel: socket.socket) -> Iterable[tuple[int, bytes]]:
    """Yield the inode and the message of each connection, without the servers' ends."""
    connections, servers = [], set[bytes]()
    for message in _dump(kernel):
        _, state, port, _, _, _ = ADDRESSES.unpack_from(message, HEADER.size)
        if state == LISTEN:
            servers.add(port)
        else:
            connections.append((port, message))
    for port, message in connections:
        (inode,) = INODE.unpack_from(message, INODE_AT)
        if inode and port not in servers:
            yield inode, message


def _dump(kernel: socket.socket) -> Iterable[bytes]:
    """Yield the message for each connection."""
    asked, question = next(_NUMBERS), QUESTION.pack(1 << (INET_DIAG_INFO - 1), sum(1 << state for state in STATES), 0)
    head = HEADER.pack(HEADER.size + len(question), TCPDIAG_GETSOCK, NLM_F_REQUEST_DUMP, asked, 0)
    try:
        kernel.send(head + question)
        while True:
            data, at = kernel.recv(CHUNK), 0
            while at + HEADER.size <= len(data):
                length, kind, _, number, _ = HEADER.unpack_from(data, at)
                if number != asked or length < HEADER.size:
                    break  # the answer to an earlier query that was abandoned
                if kind == NLMSG_DONE:
                    return
                if kind == NLMSG_ERROR:
                    (code,) = struct.unpack_from("=i", data, at + HEADER.size)
                    raise TableUnavailable(os.strerror(-code))
                if length >= ATTRIBUTES_AT:
                    yield data[at : at + length]
                at += (length + 3) & ~3
    except OSError as error:
        raise TableUnavailable(os.strerror(error.errno) if error.errno else "no answer within a second") from None


def _socket(message: bytes) -> TcpSocket:
    family, state, _, port, _, peer = ADDRESSES.unpack_from(message, HEADER.size)
    (inode,) = INODE.unpack_from(message, INODE_AT)
    address = socket.inet_ntop(family, peer[:4] if family == socket.AF_INET else peer)
    address = address.removeprefix("::ffff:")
    host = f"[{address}]" if ":" in address else address
    where = f"{host}:{int.from_bytes(port, 'big')}"
    info = _attribute(message, INET_DIAG_INFO)
    if len(info) < SENT_AT + LONG.size:
        raise TableUnavailable("the kernel is older than Linux 4.19")
    sent_ago, received_ago = AGES.unpack_from(info, AGES_AT)
    (sent,), (received,) = LONG.unpack_from(info, SENT_AT), LONG.unpack_from(info, RECEIVED_AT)
    segments_in, segments_out = PAIR.unpack_from(info, SEGMENTS_AT)
    (round_trip_us,) = WORD.unpack_from(info, ROUND_TRIP_AT)
    return TcpSocket(
        inode,
        where,
        sent,
        received,
        sent_ago,
        received_ago,
        segments_out,
        segments_in,
        connecting=state == SYN_SENT,
        round_trip_ms=round_trip_us // 1000,
    )


def _attribute(message: bytes, wanted: int) -> bytes:
    at = ATTRIBUTES_AT
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == wanted:
            return message[at + 4 : at + length]
        at += max(4, (length + 3) & ~3)
    return b""


def _socket_owners(pids: Iterable[int], unreadable: set[int]) -> dict[int, int]:
    """Return the processes that hold sockets, by socket number. Updates the set of ``unreadable`` processes."""
    found = dict[int, int]()
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208  thousands of files
        except PermissionError:
            if _lives(pid):
                unreadable.add(pid)
            continue
        except OSError:  # the process has ended
            continue
        unreadable.discard(pid)
        found.update((number, pid) for number, _ in _sockets(pid, names))
    return found


def _may_hold_tcp(pids: Collection[int]) -> bool:
    """Return whether one of these processes has a TCP socket, or whether this takes too long to find out."""
    files = dict[int, list[str]]()
    for pid in pids:
        try:
            files[pid] = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208  hundreds of files
        except OSError:
            if _lives(pid):
                return True
    return sum(map(len, files.values())) > MOST_FILES or any(
        _may_be_tcp(path) for pid, names in files.items() for _, path in _sockets(pid, names)
    )


def _lives(pid: int) -> bool:
    """Return whether a process has not ended. A zombie has."""
    try:
        return stat_of(process(pid))[0] != "Z"
    except OSError:
        return False


def _sockets(pid: int, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each socket among the open files of a process, and its path."""
    for name in names:
        path = f"/proc/{pid}/fd/{name}"
        with suppress(OSError):  # the file was closed meanwhile
            target = os.readlink(path)  # noqa: PTH115
            if target.startswith("socket:["):
                yield int(target[8:-1]), path


def _may_be_tcp(path: str) -> bool:
    """Return whether an open file is a TCP socket, or a socket of an unknown protocol."""
    try:
        return not os.getxattr(path, "system.sockprotoname").startswith(OTHER_PROTOCOLS)
    except OSError:
        return True
