"""Protect the memory and environment of this process from other processes of the same user."""

from __future__ import annotations

import contextlib
import ctypes

# <linux/prctl.h>
_PR_SET_DUMPABLE = 4


def close_process() -> None:
    """Make this process non-dumpable: it dumps no core, and only root may read its memory and environment in `/proc`.

    Call it as early as possible. It does not extend to programs that this process starts. Files of the same user stay
    readable for all of the user's programs. Only the files of another user are protected from those.
    """
    with contextlib.suppress(AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
