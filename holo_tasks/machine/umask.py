"""What a process makes is for its user alone; the programs it starts for a person go by that person's umask."""

from __future__ import annotations

import os

from holo_tasks.machine.proc import OURS, status_of

_NARROW = 0o077
_before: list[int] = []
"""What was in force before this process narrowed it."""


def narrow_umask() -> None:
    """Have all that this process makes, by whatever library, made for its user alone. For a process of our own."""
    found = os.umask(_NARROW)
    if not _before:
        _before.append(found)


def persons_umask() -> int:
    """Return the umask of whoever started this process, for programs that are theirs: `subprocess.Popen(umask=…)`."""
    if _before:
        return _before[0]
    # To read it by `os.umask` is to change it for a moment, in which another thread may make a file.
    found = status_of(OURS).get("Umask")
    return int(found, 8) if found else -1
