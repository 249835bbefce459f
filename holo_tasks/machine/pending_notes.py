"""Outbox of small JSON files under HOLO_HOME, for updates that could not be delivered.

A later command reads the notes and delivers them.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holo_tasks.machine.private import open_private, private_folder

FOLDER = "notes"
_LONGEST = 1_000_000


@dataclass(frozen=True)
class Note:
    """A note in the outbox, and its JSON content."""

    path: Path
    says: Mapping[str, Any]

    def age_s(self, now_s: float) -> float:
        """Return the seconds since the note was written, by its modification time; 0 if the file does not exist."""
        try:
            return now_s - self.path.stat().st_mtime
        except OSError:
            return 0.0

    def drop(self) -> None:
        """Delete the note."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def leave(home: Path, kind: str, says: Mapping[str, Any]) -> Path:
    """Write a note durably, readable only by this user; return its path.

    Raises `OSError`, or `InvalidUsage` if the home folder is not private.
    """
    folder = private_folder(home, FOLDER)
    path = folder / f"{kind}-{secrets.token_hex(8)}.json"
    part = path.with_name(f".{path.name}.part")
    try:
        descriptor = open_private(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(dict(says), file)
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return path


def pending(home: Path, kind: str) -> Iterator[Note]:
    """Yield the notes of a kind in no particular order. Files that are not valid notes are skipped."""
    for path in (home / FOLDER).glob(f"{kind}-*.json"):
        with contextlib.suppress(OSError, ValueError), path.open("rb") as file:
            says = json.loads(file.read(_LONGEST))
            if isinstance(says, dict):
                yield Note(path, says)
