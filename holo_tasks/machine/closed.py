"""What a process holds in memory, and was started with, is for itself: no other one of the same user reads it."""

from __future__ import annotations

import contextlib
import ctypes

# <linux/prctl.h>
_PR_SET_DUMPABLE = 4


def close_process() -> None:
    """Give `/proc/PID/environ` and `/proc/PID/mem` of this process to root, and leave no core dump of it.

    As early as can be: until then they are open. It holds for this process, not for programs that it starts. What is
    in files of the same user stays open to all of that user's programs; only another user's are kept from those.
    """
    with contextlib.suppress(AttributeError):  # no Linux
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
