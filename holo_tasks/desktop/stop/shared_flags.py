"""Share a page of memory between the process that runs an agent and the process that owns the mouse.

A lock, a pipe or a message needs both processes to work. Shared memory does not: one process can read the other's
flags even if that process is stopped, hangs or has ended. `SharedFlags` is the main class; `gate` and `host` use it.
"""

from __future__ import annotations

import mmap
import os

SIZE = mmap.PAGESIZE
_LATCHED, _LEASE, _SEEN, _HELD = 0, 1, 2, 3
"""Indexes of aligned words of eight bytes, which a processor reads and writes atomically."""


class SharedFlags:
    """The shared flags: the kill latch, the input lease, and whether a person has the screen. Thread-safe."""

    def __init__(self, file: int) -> None:
        memory = memoryview(mmap.mmap(file, SIZE))
        self._words = memory.cast("Q")
        self._times = memory.cast("d")

    @staticmethod
    def create() -> int:
        """Create a page; return its file descriptor, which the caller passes on and closes."""
        file = os.memfd_create("holo-gate")
        os.ftruncate(file, SIZE)
        return file

    @property
    def latched(self) -> bool:
        """Return whether input was stopped for good."""
        return self._words[_LATCHED] != 0

    def latch(self) -> None:
        """Stop input for good. This cannot be undone."""
        self._words[_LATCHED] = 1

    @property
    def held(self) -> bool:
        """Return whether a person has the screen."""
        return self._words[_HELD] != 0

    def hold(self, held: bool) -> None:
        """Set whether a person has the screen. A set latch still stops all input."""
        self._words[_HELD] = int(held)

    @property
    def lease_until_s(self) -> float:
        """Return the time until which input may be sent, by `boot_s`: that clock goes on while the machine sleeps."""
        return self._times[_LEASE]

    def renew(self, until_s: float) -> None:
        """Allow input until this time."""
        self._times[_LEASE] = until_s

    @property
    def is_acknowledged(self) -> bool:
        """Return whether the process that owns the mouse has noticed the latch and released everything."""
        return self._words[_SEEN] != 0

    def acknowledge(self) -> None:
        """Acknowledge the latch."""
        self._words[_SEEN] = 1
