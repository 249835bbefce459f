"""Build the seccomp filter for the system calls that namespaces do not isolate.

Sockets of some families ignore network namespaces: vsock, for example, reaches the host of a virtual machine. The keys
of a session are open to all its processes. Requests over io_uring bypass filters. `filter_program` is the main
function.
"""

from __future__ import annotations

import errno
import platform
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from holo_tasks.core.errors import DesktopFailed

FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
INSTRUCTION = struct.Struct("=HBBI")
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER, MACHINE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets of the call's number, the architecture and the first argument in the filter's data."""
ALLOW, FAIL = 0x7FFF0000, 0x00050000
OTHER_NUMBERS = 0x40000000
"""From this number on x86_64 has the same calls again, for x32 programs."""
IO_URING = 425


@dataclass(frozen=True, slots=True)
class Machine:
    """The calls of one architecture: its audit number, the number of `socket`, and the numbers that are refused."""

    audit: int
    socket: int
    refused: tuple[int, ...]


MACHINES = {
    "x86_64": (
        Machine(0xC000003E, 41, (248, 249, 250, IO_URING)),
        Machine(0x40000003, 359, (102, 286, 287, 288, IO_URING)),
    ),
    "aarch64": (
        Machine(0xC00000B7, 198, (217, 218, 219, IO_URING)),
        Machine(0x40000028, 281, (309, 310, 311, IO_URING)),
    ),
}
"""For each machine its own architecture and the 32-bit one. Refused are add_key, request_key, keyctl, io_uring, and
socketcall, whose arguments a filter cannot read."""


def filter_program() -> bytes:
    """Return the filter's instructions. Raises `DesktopFailed` on an architecture that is not in ``MACHINES``."""
    machines = MACHINES.get(platform.machine())
    if machines is None:
        raise DesktopFailed(
            f"Sandboxes are for x86_64 and aarch64, not for {platform.machine()}: give network='host', which uses none."
        )
    words = [(LOAD, 0, 0, MACHINE)]
    for machine in machines:
        block = _block(machine)
        words += [(EQUAL, 0, len(block), machine.audit), *block]
    return b"".join(INSTRUCTION.pack(*word) for word in [*words, _fails(errno.ENOSYS)])


def _block(machine: Machine) -> Sequence[tuple[int, int, int, int]]:
    allowed = (RETURN, 0, 0, ALLOW)
    words = [(LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, OTHER_NUMBERS), _fails(errno.ENOSYS)]
    for number in machine.refused:
        words += [(EQUAL, 0, 1, number), _fails(errno.ENOSYS)]
    words += [(EQUAL, 1, 0, machine.socket), allowed, (LOAD, 0, 0, FIRST_ARGUMENT)]
    for family in FAMILIES:
        words += [(EQUAL, 0, 1, int(family)), allowed]
    return [*words, _fails(errno.EAFNOSUPPORT)]


def _fails(number: int) -> tuple[int, int, int, int]:
    return RETURN, 0, 0, FAIL | number
