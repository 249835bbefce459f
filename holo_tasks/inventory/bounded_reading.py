"""Read files that other programs wrote: regular files only, up to a size, within a time."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path


def read_bounded(path: Path, most: int) -> bytes | None:
    """Return a file's content, or ``None`` if it is unreadable, not a regular file, or larger than ``most`` bytes."""
    try:
        # O_NONBLOCK: do not wait for the writer of a pipe. O_NOCTTY: do not take over a terminal.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return None
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(most + 1)
        return content if len(content) <= most else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def data_home(environment: Mapping[str, str]) -> Path:
    """Return the folder of a user's shared data (XDG_DATA_HOME)."""
    return Path(environment.get("XDG_DATA_HOME") or Path(environment.get("HOME", "/")) / ".local" / "share")


def files_below(folder: Path, suffix: str, *, most: int, until_s: float, depth: int = 2) -> Iterator[Path]:
    """Yield files by suffix, in order of their folders and names.

    It stops after ``most`` entries of folders, or at the time ``until_s`` (`time.monotonic`).
    """
    seen, waiting = 0, [(folder, 0)]
    while waiting:
        here, level = waiting.pop(0)
        try:
            with os.scandir(here) as entries:
                inside = []
                for entry in entries:
                    seen += 1
                    if seen > most or time.monotonic() > until_s:
                        break
                    inside.append(entry)
        except (OSError, ValueError):
            continue
        for entry in sorted(inside, key=lambda each: each.name):
            if entry.name.endswith(suffix):
                yield Path(entry.path)
            elif level < depth and _is_folder(entry):
                waiting.append((Path(entry.path), level + 1))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
