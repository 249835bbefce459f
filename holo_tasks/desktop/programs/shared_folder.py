"""Create the folder that a desktop's programs share with the agent. It is private and is deleted with the desktop."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.machine.private import FOLDER

NAME = "files"
VARIABLE = "HOLO_FILES"
"""The environment variable that names the folder for programs."""


def make_shared(parent: Path, uid: int | None = None, gid: int | None = None) -> SharedFolder:
    """Create the shared folder below ``parent``, which other users cannot enter.

    ``uid`` and ``gid`` make another user its owner, for programs that run as that user.
    """
    path = parent / NAME
    path.mkdir(FOLDER)
    path.chmod(FOLDER)  # a umask may remove rights of the owner
    if uid is not None and gid is not None:
        os.chown(path, uid, gid, follow_symlinks=False)
    found = path.lstat()
    return SharedFolder(path, found.st_dev, found.st_ino, uid, gid)


def to_message(shared: SharedFolder | None) -> dict[str, Any] | None:
    """Return the folder as plain values for the message to the process that uses the desktop."""
    return None if shared is None else {**asdict(shared), "path": str(shared.path)}
