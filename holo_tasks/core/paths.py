"""Paths as people write them."""

from __future__ import annotations

from pathlib import Path

from holo_tasks.core.errors import InvalidUsage


def is_folder(path: Path) -> bool:
    """Say whether there is such a folder; what no file system takes for a name is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def expanded(path: str) -> Path:
    """Return a path with its ``~`` filled in, or raise `InvalidUsage` if nobody lives there."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InvalidUsage(f"{path!r} names no home folder; give a whole path.") from None
