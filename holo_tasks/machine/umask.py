"""What a process makes is for its user alone; the programs it starts for a person go by that person's umask."""

from __future__ import annotations

import os
import re
from pathlib import Path

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
    found = re.search(r"^Umask:\s*([0-7]+)$", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    return int(found[1], 8) if found else -1
