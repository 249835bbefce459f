"""What a process keeps of memory: how often it looks for garbage, and what it gives back."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

EVERY, OLDER, OLDEST = 50_000, 30, 100
"""So many objects more than there were; every so many of such looks at what was left then, and at all there is."""

ARENAS, ARENAS_AT_MOST = -8, 2
LARGE, LARGE_FROM, LARGER_THAN_PICTURES = -3, 1 << 20, 32 << 20
KEPT, KEPT_AT_MOST = -1, 16 << 20
"""Options of glibc's `mallopt`, and what they are set to, in bytes: from which size on a piece comes from the system
and goes back there, and how much of what is free at the end of a heap is kept."""
QUIET_S = 1.0
"""Who has waited this long has time to give memory back."""


def collect_seldom() -> None:
    """Look for garbage less often than Python does by itself, which looks hundreds of times while libraries load.

    Nothing of what is loaded is garbage, and looking through it takes a fifth of the time. It costs no memory to speak
    of: most of what is left over goes without being looked for.
    """
    gc.set_threshold(EVERY, OLDER, OLDEST)


def keep_little() -> None:
    """Have the memory of all large pieces go back to the system when they are dropped.

    After the first large piece was freed, glibc takes pieces of that size from its heaps, where a small one above
    keeps them; and it makes a heap for each of many threads. Elsewhere than with glibc nothing is changed.
    """
    _set({ARENAS: ARENAS_AT_MOST, LARGE: LARGE_FROM})


def reuse() -> None:
    """Have the memory of pictures that are dropped be that of the next ones; `give_back` says when it goes back.

    The system gives memory page by page, as it is written to. For a picture that takes as long as what is then done
    with it, or longer. Elsewhere than with glibc nothing is changed.
    """
    _set({ARENAS: ARENAS_AT_MOST, LARGE: LARGER_THAN_PICTURES, KEPT: KEPT_AT_MOST})


def give_back() -> None:
    """Give back to the system what is free: for a while, nothing will be done with it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def giving_back() -> Iterator[None]:
    """Wait for somebody inside of this, in a task: once that has taken a while, memory is given back."""
    import asyncio  # takes a while to load

    quiet = asyncio.get_running_loop().call_later(QUIET_S, give_back)
    try:
        yield
    finally:
        quiet.cancel()


def _set(options: Mapping[int, int]) -> None:
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in options.items():
            mallopt(option, value)
