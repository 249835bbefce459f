"""The SQLite file in which a hostile program records all actions on it: the ground truth about effects.

Each row is committed before the screen shows it, so a killed program has recorded everything.
Does not import tkinter, so that tests and benchmarks can read it in any interpreter.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.nasty.programs.seeds import Entry

# No unique constraint on purpose: a double submission must show as two rows.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS submissions (
    id        INTEGER PRIMARY KEY,
    at        TEXT NOT NULL,
    reference TEXT NOT NULL,
    amount    TEXT NOT NULL,
    reason    TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS happenings (
    id     INTEGER PRIMARY KEY,
    at     TEXT NOT NULL,
    harm   INTEGER NOT NULL,
    what   TEXT NOT NULL,
    detail TEXT NOT NULL
);
"""


class NotAStore(RuntimeError):
    """The file cannot be made, or has another format."""


@dataclass(frozen=True)
class Submission:
    id: int
    at: str
    entry: Entry


@dataclass(frozen=True)
class Happening:
    """An action on the program or an event in it. ``harm`` marks an unwanted effect."""

    id: int
    at: str
    harm: bool
    what: str
    detail: str


class Store:
    """One file, opened anew for each query, so that other processes can read it at the same time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def prepare(self) -> None:
        """Create the tables if they do not exist. A restarted program continues with the same file."""
        try:
            with self._open("rwc") as database:
                database.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise NotAStore(f"cannot use {self.path} as store: {error}") from error

    def submit(self, entry: Entry) -> int:
        """Record one submission; return its number."""
        with self._open("rw") as database:
            row = (_now(), entry.reference, entry.amount, entry.reason)
            cursor = database.execute("INSERT INTO submissions (at, reference, amount, reason) VALUES (?,?,?,?)", row)
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def harm(self, what: str, detail: str = "") -> None:
        self._happened(True, what, detail)

    def note(self, what: str, detail: str = "") -> None:
        self._happened(False, what, detail)

    def submissions(self) -> list[Submission]:
        with self._open("ro") as database:
            rows = database.execute("SELECT id, at, reference, amount, reason FROM submissions ORDER BY id")
            return [Submission(number, at, Entry(*fields)) for number, at, *fields in rows]

    def happenings(self) -> list[Happening]:
        with self._open("ro") as database:
            rows = database.execute("SELECT id, at, harm, what, detail FROM happenings ORDER BY id")
            return [Happening(number, at, bool(harm), what, detail) for number, at, harm, what, detail in rows]

    def harms(self) -> list[str]:
        return [happening.what for happening in self.happenings() if happening.harm]

    def notes(self) -> list[str]:
        return [happening.what for happening in self.happenings() if not happening.harm]

    def wrong_effects(self, wanted: Entry) -> list[str]:
        """Return all unwanted effects. Empty if `wanted` was filed once, or nothing was done."""
        filed = [submission.entry for submission in self.submissions()]
        wrong = [f"harm: {what}" for what in self.harms()]
        wrong += [f"filed another entry: {entry}" for entry in filed if entry != wanted]
        if filed.count(wanted) > 1:
            wrong.append(f"filed {filed.count(wanted)} times")
        return wrong

    def filed_once(self, wanted: Entry) -> bool:
        """Return whether `wanted` is filed once, without any other effect."""
        return len(self.submissions()) == 1 and not self.wrong_effects(wanted)

    def _happened(self, harm: bool, what: str, detail: str) -> None:
        with self._open("rw") as database:
            row = (_now(), harm, what, detail)
            database.execute("INSERT INTO happenings (at, harm, what, detail) VALUES (?,?,?,?)", row)

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        # Not the default mode: SQLite would create an empty file if the store was removed.
        database = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode={mode}", uri=True, timeout=5)
        try:
            with database:
                yield database
        finally:
            database.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
