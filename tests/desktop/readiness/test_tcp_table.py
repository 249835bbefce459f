"""The kernel's table of connections: real sockets, and kernels with bad or missing answers."""

from __future__ import annotations

import os
import resource
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from holo_tasks.desktop.readiness.tcp_table import (
    HEADER,
    NLMSG_ERROR,
    TableUnavailable,
    TcpTable,
    open_diag,
    unavailable_reason,
)

MANY = 1000


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=MANY) as listening:
        yield listening


@pytest.fixture
def table() -> Iterator[TcpTable]:
    if reason := unavailable_reason():
        pytest.skip(f"this kernel does not list connections: {reason}")
    table = TcpTable()
    yield table
    table.close()


def address(server: socket.socket) -> str:
    return "{}:{}".format(*server.getsockname())


def test_sent_and_unanswered_bytes_are_reported(table, server):
    with socket.create_connection(server.getsockname()) as client, server.accept()[0] as accepted:
        client.sendall(b"x" * 300)
        assert accepted.recv(300)
        (told,) = (each for each in table.read([os.getpid()]) if each.peer == address(server))
        assert (told.sent, told.received, told.connecting) == (300, 0, False)
        accepted.sendall(b"y" * 20)
        assert client.recv(20)
        (told,) = (each for each in table.read([os.getpid()]) if each.peer == address(server))
        assert (told.sent, told.received, told.segments_in) == (300, 20, 1)
    assert not [each for each in table.read([os.getpid()]) if each.peer == address(server)]


def test_ipv6_connections_are_reported(table):
    try:
        listening = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listening, socket.create_connection(listening.getsockname()[:2]) as client:
        client.sendall(b"x")
        (told,) = (each for each in table.read([os.getpid()]) if each.peer.startswith("[::1]:"))
        assert (told.peer, told.sent) == (f"[::1]:{listening.getsockname()[1]}", 1)


def test_connections_of_other_processes_are_omitted_until_requested(table, server):
    code = (
        "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); print(); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, *map(str, server.getsockname())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        assert not [each for each in table.read([os.getpid()]) if each.peer == address(server)]
        assert [each for each in table.read([child.pid]) if each.peer == address(server)]
        child.communicate()
    assert not table.read([child.pid])


class CountedKernel:
    """A netlink socket that counts its queries."""

    def __init__(self, kernel: socket.socket) -> None:
        self.queries, self.recv, self.close = 0, kernel.recv, kernel.close
        self._kernel = kernel

    def send(self, question: bytes) -> int:
        self.queries += 1
        return self._kernel.send(question)


@pytest.fixture
def kernel(table) -> Iterator[CountedKernel]:
    counted = CountedKernel(open_diag())
    yield counted
    counted.close()


def test_a_process_without_tcp_sockets_causes_no_query_until_it_connects(kernel, server):
    code = (
        "import socket, sys; pair = socket.socketpair(); print(flush=True); sys.stdin.readline()"
        "; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); print(flush=True); sys.stdin.readline()"
        "; s.close(); print(flush=True); sys.stdin.readline()"
    )
    table = TcpTable([kernel])
    command = [sys.executable, "-c", code, *map(str, server.getsockname())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline()
        assert [table.read([child.pid]) for _ in range(3)] == [[], [], []]
        assert kernel.queries == 1, "the first one, which shows that the kernel answers"
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert child.stdout.readline()
        assert [[each.peer for each in table.read([child.pid])] for _ in range(2)] == [[address(server)]] * 2
        assert kernel.queries == 3
        server.accept()[0].close()
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert child.stdout.readline()
        assert [table.read([child.pid]) for _ in range(3)] == [[], [], []]
        assert kernel.queries == 4


def test_a_connection_that_was_passed_to_a_process_is_reported(kernel, server):
    table = TcpTable([kernel])
    table.read([os.getpid()])
    with socket.create_connection(server.getsockname()) as client:
        command = [sys.executable, "-c", "input()"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[client.fileno()]) as child:
            assert [each.peer for each in table.read([child.pid])] == [address(server)]
            child.communicate(b"\n")


def test_sockets_of_an_unknown_protocol_cause_a_query(kernel, server, monkeypatch):
    def refused(path: str, name: str) -> bytes:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "getxattr", refused)
    table = TcpTable([kernel])
    with socket.create_connection(server.getsockname()):
        assert [each for each in table.read([os.getpid()]) if each.peer == address(server)]
        assert [each for each in table.read([os.getpid()]) if each.peer == address(server)]


def test_many_connections_are_reported(table, server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * MANY)), hard))
    try:
        with ExitStack() as stack:
            for _ in range(MANY):
                stack.enter_context(socket.create_connection(server.getsockname()))
            assert sum(each.peer == address(server) for each in table.read([os.getpid()])) == MANY
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Kernel:
    """Answers each query with its number and the same bytes, as ``socket.socket`` does for a netlink socket."""

    def __init__(self, answer: bytes | OSError) -> None:
        self.answer = answer

    def send(self, question: bytes) -> int:
        self.number = question[8:12]
        return len(question)

    def recv(self, size: int) -> bytes:
        if isinstance(self.answer, OSError):
            raise self.answer
        return self.answer[:8] + self.number + self.answer[12:]


def message(kind: int, body: bytes) -> bytes:
    return HEADER.pack(HEADER.size + len(body), kind, 0, 0, 0) + body


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (message(NLMSG_ERROR, struct.pack("=i", -1)), "Operation not permitted"),
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (TimeoutError(), "no answer within a second"),
    ],
)
def test_a_refused_query_is_reported(answer, reason):
    with pytest.raises(TableUnavailable, match=reason):
        TcpTable([Kernel(answer)]).read([os.getpid()])  # type: ignore[list-item]
