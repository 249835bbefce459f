"""A page of memory that the process which runs an agent shares with the one that owns the mouse.

A lock, a pipe or a message needs both processes to be well. Memory does not: what one has written the other reads,
also when the first is stopped, hung or gone.
"""

from __future__ import annotations

import mmap
import os

SIZE = mmap.PAGESIZE
_LATCHED, _LEASE, _SEEN, _HELD = 0, 1, 2, 3
"""Places of aligned words of eight bytes, which a processor reads and writes in one piece."""


class Page:
    """The kill latch, the lease of input, and whether a person has the screen. Safe to use from any thread."""

    def __init__(self, file: int) -> None:
        memory = memoryview(mmap.mmap(file, SIZE))
        self._words = memory.cast("Q")
        self._times = memory.cast("d")

    @staticmethod
    def create() -> int:
        """Make a page and return its file descriptor, to be passed on and closed."""
        file = os.memfd_create("holo-gate")
        os.ftruncate(file, SIZE)
        return file

    @property
    def latched(self) -> bool:
        """Whether input was stopped for good."""
        return self._words[_LATCHED] != 0

    def latch(self) -> None:
        """Stop input for good: there is no way back."""
        self._words[_LATCHED] = 1

    @property
    def held(self) -> bool:
        """Whether a person has the screen."""
        return self._words[_HELD] != 0

    def hold(self, held: bool) -> None:
        """Say whether a person has the screen; the latch stays above it."""
        self._words[_HELD] = int(held)

    @property
    def lease_until_s(self) -> float:
        """Until when input may be sent, by `boot_s`: a machine that sleeps does not make a lease last longer."""
        return self._times[_LEASE]

    def renew(self, until_s: float) -> None:
        """Let input be sent until then."""
        self._times[_LEASE] = until_s

    @property
    def seen(self) -> bool:
        """Whether the process that owns the mouse has noticed the latch, and nothing is pressed any more."""
        return self._words[_SEEN] != 0

    def see(self) -> None:
        """Acknowledge the latch."""
        self._words[_SEEN] = 1
