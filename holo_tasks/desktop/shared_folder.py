"""The folder that a desktop's programs share with the agent: made with the desktop, private, and gone with it."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.machine.private import FOLDER

NAME = "files"
VARIABLE = "HOLO_FILES"
"""The variable by which a program is told of the folder."""


def make_shared(parent: Path, uid: int | None = None, gid: int | None = None) -> SharedFolder:
    """Make the folder of a desktop, in one that is closed to others; it is another user's if the programs are."""
    path = parent / NAME
    path.mkdir(FOLDER)
    path.chmod(FOLDER)  # a umask may take from its owner, too
    if uid is not None and gid is not None:
        os.chown(path, uid, gid, follow_symlinks=False)
    found = path.lstat()
    return SharedFolder(path, found.st_dev, found.st_ino, uid, gid)


def told(shared: SharedFolder | None) -> dict[str, Any] | None:
    """Return it as the process that uses the desktop is told of it."""
    return None if shared is None else {**asdict(shared), "path": str(shared.path)}
