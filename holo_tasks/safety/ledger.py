"""What is done already: finished sub-goals by business token, so that a re-run repeats none of them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import InvalidUsage, TokenConflict

SCHEMA = """
CREATE TABLE IF NOT EXISTS finished (
    token TEXT NOT NULL,
    goal TEXT NOT NULL,
    inputs TEXT NOT NULL,
    result TEXT NOT NULL,
    trace TEXT NOT NULL,
    PRIMARY KEY (token, goal)
) STRICT;
"""


@dataclass(frozen=True)
class Finished:
    """A stored result, as JSON text, and where its evidence is."""

    result: str
    trace: str


@dataclass(frozen=True)
class Ledger:
    """A SQLite file, safe for several processes; each call is one transaction, synced to the disk.

    ``token`` names the business item, ``goal`` the kind of work done on it. The same token and goal with other
    inputs is an error (`TokenConflict`): it would hand back an answer to another question.
    """

    path: Path

    def find(self, token: str, goal: str, inputs: str) -> Finished | None:
        """Return the stored result of finished work, or None."""
        with self._open() as db:
            row = db.execute(
                "SELECT inputs, result, trace FROM finished WHERE token = ? AND goal = ?", (token, goal)
            ).fetchone()
        if row is None:
            return None
        if row[0] != inputs:
            raise TokenConflict(
                f"Token {token!r} was already used for {goal!r} with other inputs; use a new token for new work."
            )
        return Finished(row[1], row[2])

    def finish(self, token: str, goal: str, inputs: str, result: str, trace: str) -> None:
        """Store a result; the first one stays."""
        with self._open() as db:
            db.execute(
                "INSERT INTO finished VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (token, goal, inputs, result, trace),
            )

    @contextmanager
    def claim(self, token: str, goal: str) -> Iterator[None]:
        """Keep others from the same work; the claim ends with this block, or with this process.

        Raises `InvalidUsage` if somebody else on this machine is at it.
        """
        name = hashlib.sha256(f"{token}\x00{goal}".encode()).hexdigest()
        folder = self.path.parent / "claims"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = (folder / name).open("w")
        except OSError as error:
            raise InvalidUsage(f"{folder} cannot be written ({error.strerror}); set HOLO_HOME.") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InvalidUsage(
                    f"{token!r} is being worked on by another run; wait until it ends, then ask again."
                ) from None
            yield

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            db = sqlite3.connect(self.path, timeout=30)
        except (OSError, sqlite3.Error) as error:
            raise InvalidUsage(f"The ledger {self.path} cannot be opened ({error}); set HOLO_HOME.") from None
        try:
            with db:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = FULL")
                db.executescript(SCHEMA)
                yield db
        except sqlite3.Error as error:
            raise InvalidUsage(
                f"The ledger {self.path} cannot be used ({error}); free disk space or set HOLO_HOME."
            ) from None
        finally:
            db.close()


def digest_of(inputs: Any) -> str:
    """Return the SHA-256 of JSON-like inputs; equal inputs have equal digests whatever their order."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, default=str).encode()).hexdigest()
