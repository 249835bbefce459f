"""Read paths as users write them."""

from __future__ import annotations

from pathlib import Path

from holo_tasks.core.errors import InvalidUsage


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder. A name that no file system accepts is not a folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def expanded(path: str) -> Path:
    """Return a path with its ``~`` expanded. Raises `InvalidUsage` if the user after the ``~`` is unknown."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InvalidUsage(f"{path!r} names no home folder; give an absolute path.") from None
