"""The SQLite file of the legacy program: its schema, the queries of the program, and readers for tests.

This module does not use tkinter, so tests and the demo can use it in any interpreter.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path

REASONS = ("Wrong amount", "Unknown merchant", "Duplicate receipt", "No receipt", "Other")
REFERENCE = re.compile(r"TX-[0-9]{5}")

# `flags` has no unique constraint on purpose, so that a double submission shows as two rows.
_SCHEMA = """
CREATE TABLE transactions (
    reference    TEXT PRIMARY KEY,
    merchant     TEXT NOT NULL,
    date         TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    currency     TEXT NOT NULL,
    card_holder  TEXT NOT NULL,
    status       TEXT NOT NULL
);
CREATE TABLE flags (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    reference  TEXT NOT NULL,
    reason     TEXT NOT NULL,
    note       TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE journal (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        TEXT NOT NULL,
    reference TEXT NOT NULL,
    outcome   TEXT NOT NULL,
    flag_id   INTEGER
);
"""


class NotALedger(RuntimeError):
    """The file is missing, or is not a database made by `create_database`."""


@dataclass(frozen=True)
class Transaction:
    reference: str
    merchant: str
    date: str
    amount_cents: int
    currency: str
    card_holder: str
    status: str

    @property
    def amount(self) -> str:
        """As the program prints it: 128450 is `1,284.50`."""
        sign = "-" if self.amount_cents < 0 else ""
        whole, cents = divmod(abs(self.amount_cents), 100)
        return f"{sign}{whole:,}.{cents:02d}"


@dataclass(frozen=True)
class Flag:
    id: int
    reference: str
    reason: str
    note: str
    created_at: str


@dataclass(frozen=True)
class SaveAttempt:
    """One press of “Save flag”. `outcome` is `saved`, `rejected` (a field was wrong) or `expired`."""

    id: int
    at: str
    reference: str
    outcome: str
    flag_id: int | None


def create_database(path: str | Path, transactions: Iterable[Transaction], *, first_flag_id: int = 1001) -> None:
    """Make a new ledger file. Raises `FileExistsError` if the file exists.

    The file appears complete or not at all. Flag numbers start after `first_flag_id`, as in a program that has been
    in use for years.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} exists; a ledger is never replaced")
    rows = [astuple(transaction) for transaction in transactions]
    for row in rows:
        if not REFERENCE.fullmatch(row[0]):
            raise ValueError(f"reference {row[0]!r} is not of the form TX-10482")
    draft = path.with_name(path.name + ".draft")
    draft.unlink(missing_ok=True)
    database = sqlite3.connect(draft)
    try:
        with database:
            database.executescript(_SCHEMA)
            database.executemany("INSERT INTO transactions VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            database.execute("INSERT INTO sqlite_sequence VALUES ('flags', ?)", (first_flag_id - 1,))
    except BaseException:
        database.close()
        draft.unlink(missing_ok=True)
        raise
    database.close()
    draft.rename(path)


class LedgerFile:
    """A ledger file. Each query opens it anew, so that other processes can read it at the same time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def check(self) -> None:
        """Raise `NotALedger` unless the file exists and has the three tables."""
        if not self.path.is_file():
            raise NotALedger(f"no ledger file at {self.path}: create it with legacy_ledger_db.create_database")
        try:
            with self._open() as database:
                names = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        except sqlite3.DatabaseError as error:
            raise NotALedger(f"{self.path} is not a ledger file: {error}") from error
        if not {"transactions", "flags", "journal"} <= names:
            raise NotALedger(f"{self.path} is not a ledger file: tables are missing")

    def transaction(self, reference: str) -> Transaction | None:
        with self._open() as database:
            row = database.execute("SELECT * FROM transactions WHERE reference = ?", (reference,)).fetchone()
        return Transaction(*row) if row else None

    def save_flag(self, reference: str, reason: str, note: str) -> int:
        """Insert a flag with its journal line. Returns the number of the flag."""
        with self._open() as database:
            cursor = database.execute(
                "INSERT INTO flags (reference, reason, note, created_at) VALUES (?, ?, ?, ?)",
                (reference, reason, note, _now()),
            )
            flag_id = cursor.lastrowid
            assert flag_id is not None
            _write_journal(database, reference, "saved", flag_id)
        return flag_id

    def refuse_save(self, reference: str, outcome: str) -> None:
        """Record a press of “Save flag” that saved nothing."""
        with self._open() as database:
            _write_journal(database, reference, outcome, None)

    def flags(self, reference: str | None = None) -> list[Flag]:
        """Return all flags, or those of one transaction, oldest first."""
        with self._open() as database:
            rows = database.execute("SELECT * FROM flags WHERE ?1 IS NULL OR reference = ?1 ORDER BY id", (reference,))
            return [Flag(*row) for row in rows]

    def journal(self) -> list[SaveAttempt]:
        """Return all save attempts, oldest first."""
        with self._open() as database:
            return [SaveAttempt(*row) for row in database.execute("SELECT * FROM journal ORDER BY id")]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # mode=rw: sqlite would otherwise create an empty file if the ledger was removed.
        database = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=rw", uri=True, timeout=5)
        try:
            with database:
                yield database
        finally:
            database.close()


def _write_journal(database: sqlite3.Connection, reference: str, outcome: str, flag_id: int | None) -> None:
    database.execute(
        "INSERT INTO journal (at, reference, outcome, flag_id) VALUES (?, ?, ?, ?)",
        (_now(), reference, outcome, flag_id),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
