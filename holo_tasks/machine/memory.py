"""Tune garbage collection, and return unused memory to the operating system."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

YOUNGEST, OLDER, OLDEST = 50_000, 30, 100
"""Garbage collection thresholds: new objects per collection of the youngest generation, and collections per older
one.
"""

ARENAS, ARENAS_AT_MOST = -8, 2
LARGE, LARGE_FROM, ABOVE_SCREEN_SIZE, ABOVE_PICTURE_SIZE = -3, 1 << 20, 8 << 20, 32 << 20
KEPT, KEPT_AT_MOST = -1, 16 << 20
"""Options of glibc's `mallopt` with their values; sizes are in bytes.

`LARGE` is the size from which a block is mapped separately and unmapped when it is freed. `KEPT` is the free memory at
the end of a heap that is not returned.
"""
QUIET_S = 1.0
"""Seconds after which `returning_free_memory` and `return_free_memory_soon` return memory."""
_WAITS = threading.Lock()
"""Locked while `return_free_memory_soon` waits."""


def collect_garbage_rarely() -> None:
    """Run the garbage collector less often than Python's default, which runs it hundreds of times while libraries load.

    Loaded libraries contain no garbage, and searching them takes a fifth of the start time. The cost in memory is
    small, because reference counting frees most objects.
    """
    gc.set_threshold(YOUNGEST, OLDER, OLDEST)


def return_freed_blocks() -> None:
    """Return the memory of large blocks to the operating system when they are freed.

    After the first large block was freed, glibc takes blocks of its size from its heaps. A small block above keeps
    such memory from being returned. glibc also makes a heap for each of many threads. Without glibc, this does nothing.
    """
    _set({ARENAS: ARENAS_AT_MOST, LARGE: LARGE_FROM})


def reuse() -> None:
    """Reuse the memory of freed pictures for the next ones. `return_free_memory` returns it to the operating system.

    The operating system provides memory page by page at the first write. For a picture, this takes as long as its
    processing, or longer. Without glibc, this does nothing.
    """
    _set({ARENAS: ARENAS_AT_MOST, LARGE: ABOVE_PICTURE_SIZE, KEPT: KEPT_AT_MOST})


def return_larger_than_screens() -> None:
    """Return the memory of blocks larger than a picture of a common screen when they are freed.

    Text detection frees a hundred megabytes in such blocks. The heaps would keep more than that, because smaller blocks
    lie between them. Without glibc, this does nothing.
    """
    _set({ARENAS: ARENAS_AT_MOST, LARGE: ABOVE_SCREEN_SIZE})


def return_free_memory() -> None:
    """Return free memory to the operating system. Call it before an idle period."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def return_free_memory_soon() -> None:
    """Return free memory to the operating system once, `QUIET_S` from now. For work that is repeated often.

    New pages cost more CPU time than the search for free ones, so frequent work should find its memory again.
    """
    if _WAITS.acquire(blocking=False):
        soon = threading.Timer(QUIET_S, _return_as_announced)
        soon.daemon = True
        soon.start()


def _return_as_announced() -> None:
    _WAITS.release()
    return_free_memory()


@contextmanager
def returning_free_memory() -> Iterator[None]:
    """Return free memory to the operating system if this block takes longer than `QUIET_S`. For waits within a task."""
    import asyncio  # slow to import

    quiet = asyncio.get_running_loop().call_later(QUIET_S, return_free_memory)
    try:
        yield
    finally:
        quiet.cancel()


def _set(options: Mapping[int, int]) -> None:
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in options.items():
            mallopt(option, value)
