"""A machine that is to be stopped soon: its runs take no more items of lists, and end with those that they have.

That is a file in HOLO_HOME, which counts until it is taken back or the machine is started again.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from holo_tasks.machine.clock import era
from holo_tasks.machine.private import open_private, private_folder

FILE = "draining"


def begin(home: Path) -> None:
    """Have no more items taken on this machine. Raises OSError if that cannot be written down."""
    private_folder(home)
    with os.fdopen(open_private(home / FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="ascii") as file:
        file.write(era())


def end(home: Path) -> bool:
    """Let items be taken again; say whether they were not."""
    was = asked(home)
    (home / FILE).unlink(missing_ok=True)
    return was


def asked(home: Path) -> bool:
    """Say whether no more items are to be taken. A file that cannot be read holds up nobody."""
    with contextlib.suppress(OSError, ValueError):
        return (home / FILE).read_text(encoding="ascii") == era()
    return False
