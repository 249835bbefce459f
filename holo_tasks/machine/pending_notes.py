"""What could not be told when it should have been: small files under HOLO_HOME that a later command acts on."""

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
    """One that was left, and what it says."""

    path: Path
    says: Mapping[str, Any]

    def age_s(self, now_s: float) -> float:
        """Return for how long it has been there, by the clock of its disk; 0 if it is gone."""
        try:
            return now_s - self.path.stat().st_mtime
        except OSError:
            return 0.0

    def drop(self) -> None:
        """Throw it away: it has been acted on."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def leave(home: Path, kind: str, says: Mapping[str, Any]) -> Path:
    """Leave a note, durably, for this user alone. Raises OSError, or `InvalidUsage` for a home that is not private."""
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


def left(home: Path, kind: str) -> Iterator[Note]:
    """Give the notes of a kind, in no order; what is no note is passed over."""
    for path in (home / FOLDER).glob(f"{kind}-*.json"):
        with contextlib.suppress(OSError, ValueError), path.open("rb") as file:
            says = json.loads(file.read(_LONGEST))
            if isinstance(says, dict):
                yield Note(path, says)
