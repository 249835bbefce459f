"""The folder that an agent shares with the programs on a desktop, and the files that come and go by it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SharedFolder:
    """A folder, by its path and by the number that the file system gave it: another one in its place is refused.

    ``uid`` and ``gid`` are those of the user that the programs run as, if it is another one.
    """

    path: Path
    device: int
    inode: int
    uid: int | None = None
    gid: int | None = None


@dataclass(frozen=True)
class SharedFile:
    """A file that was given, or that arrived.

    ``name`` is what it is called, made safe: others may have chosen it. One that arrived lies at ``path``, where no
    program of the desktop gets at it, as it was when ``sha256`` was taken of it; one that was given lies in the shared
    folder, and the program may change it. ``evidence`` is where the evidence has it, empty if it does not.
    """

    path: Path
    name: str
    size: int
    sha256: str
    evidence: str = ""
