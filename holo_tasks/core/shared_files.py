"""The folder that an agent shares with the programs on a desktop, and the files in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SharedFolder:
    """A folder, identified by its path, device and inode. A different folder at the same path is refused.

    ``uid`` and ``gid`` are those of the user that runs the programs, if it is a different user.
    """

    path: Path
    device: int
    inode: int
    uid: int | None = None
    gid: int | None = None


@dataclass(frozen=True)
class SharedFile:
    """A file that was given to a program, or that arrived from one.

    ``name`` is the file's name, made safe because outsiders may have chosen it. An arrived file is at a ``path`` that
    no program of the desktop can reach, and stays unchanged after ``sha256`` was computed. A given file is at a
    ``path`` in the shared folder, where the program may change it. ``evidence`` is the file's path in the trace, or
    empty if it is not stored there.
    """

    path: Path
    name: str
    size: int
    sha256: str
    evidence: str = ""
