"""What a process keeps of memory: how often it looks for garbage, and what it gives back."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

EVERY, OLDER, OLDEST = 50_000, 30, 100
"""So many objects more than there were; every so many of such looks at what was left then, and at all there is."""

ARENAS, ARENAS_AT_MOST = -8, 2
LARGE, LARGE_FROM = -3, 1024 * 1024
"""Options of glibc's `mallopt`, and what they are set to."""


def collect_seldom() -> None:
    """Look for garbage less often than Python does by itself, which looks hundreds of times while libraries load.

    Nothing of what is loaded is garbage, and looking through it takes a fifth of the time. It costs no memory to speak
    of: most of what is left over goes without being looked for.
    """
    gc.set_threshold(EVERY, OLDER, OLDEST)


def give_back() -> None:
    """Have the memory of pictures go back to the system when they are dropped.

    After the first large piece was freed, glibc takes pieces of that size from its heaps, where a small one above
    keeps them; and it makes a heap for each of many threads. Elsewhere than with glibc nothing is changed.
    """
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(ARENAS, ARENAS_AT_MOST)
        mallopt(LARGE, LARGE_FROM)
