"""Drain a machine before it is shut down: its runs finish the items they hold and take no more from work lists.

The request is a file in HOLO_HOME. It holds until it is withdrawn or the machine restarts.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from holo_tasks.machine.clock import era
from holo_tasks.machine.private import open_private, private_folder

FILE = "draining"


def begin(home: Path) -> None:
    """Stop runs on this machine from taking items. Raises `OSError` if the file cannot be written."""
    private_folder(home)
    with os.fdopen(open_private(home / FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="ascii") as file:
        file.write(era())


def end(home: Path) -> bool:
    """Let runs take items again. Return whether the machine was draining."""
    was_draining = is_draining(home)
    (home / FILE).unlink(missing_ok=True)
    return was_draining


def is_draining(home: Path) -> bool:
    """Return whether runs should take no more items. An unreadable file counts as no."""
    with contextlib.suppress(OSError, ValueError):
        return (home / FILE).read_text(encoding="ascii") == era()
    return False
