"""Narrow the umask of our own processes, and keep the user's umask for the programs that are started for the user."""

from __future__ import annotations

import os

from holo_tasks.machine.proc import OURS, status_of

_NARROW = 0o077
_before: list[int] = []
"""The umask before `narrow_umask`, or empty."""


def narrow_umask() -> None:
    """Make all files that this process creates private, even those of libraries. Only for a process of our own."""
    found = os.umask(_NARROW)
    if not _before:
        _before.append(found)


def users_umask() -> int:
    """Return the user's umask, for the programs of the user: `subprocess.Popen(umask=…)`. -1 if it is unknown."""
    if _before:
        return _before[0]
    # `os.umask` can only read it by changing it for a moment, and another thread may create a file then.
    found = status_of(OURS).get("Umask")
    return int(found, 8) if found else -1
