"""Translate database errors into error messages with advice.

Texts of the driver about a connection are not quoted, because they may hold a part of the URL and so of a password.
"""

from __future__ import annotations

import os
import re
import sqlite3
from typing import Any

import sqlalchemy as sa

from holo_tasks.core.errors import DatabaseAway, StoreLost
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.scrubbing import scrub_text


class TransactionAborted(DatabaseAway):
    """The database aborted this transaction in favor of another one. A retry may succeed."""


_FULL = "give it more space"
_FOREIGN = "its tables are not as prefect-holo makes them"
_OWN_DATABASE = "give prefect-holo a database of its own, or bring back the previous copy"
_LOGIN = f"check the user and the password in {DATABASE_VARIABLE}"
_GONE = "its server was restarted, or the network was interrupted", "try again when it is back"

_POSTGRES: dict[str, tuple[str, str]] = {
    "25006": (
        "it is read-only",
        "name the primary server, and let this role write (default_transaction_read_only)",
    ),
    "25P03": ("this process was paused in the middle of a transaction", "try again"),
    "28000": ("it refuses the login", _LOGIN),
    "28P01": ("it refuses the login", _LOGIN),
    "3D000": ("the database does not exist", f"create it, or check the name in {DATABASE_VARIABLE}"),
    "42501": ("the role lacks a right", "grant it the rights to create and change tables in its schema"),
    "42703": (_FOREIGN, _OWN_DATABASE),
    "42P01": (_FOREIGN, _OWN_DATABASE),
    "53100": ("the disk of its server is full", _FULL),
    "53200": ("its server is out of memory", "give it more, or run fewer workers"),
    "53300": ("it takes no more connections", "raise max_connections or the role's limit, or run fewer workers"),
    "55P03": (
        "another transaction has held a needed lock for too long",
        "try again; if it happens again, find the session in pg_stat_activity and end it",
    ),
    "57014": (
        "a statement took too long or was cancelled",
        "try again; if it happens again, check that its server is not overloaded",
    ),
    "57P01": _GONE,
    "57P02": _GONE,
    "57P03": ("its server is starting or stopping", "try again when it is up"),
    "58030": ("the disk of its server has failed", "look into the server's log"),
}
"""Problem and advice by SQLSTATE."""
_CONNECTING: tuple[tuple[str, tuple[str, str]], ...] = (
    # Errors before the login have no SQLSTATE, only an English text. Texts in other languages match nothing.
    ("password authentication failed|no password supplied|no pg_hba|role .* does not exist", _POSTGRES["28P01"]),
    ("role .* is not permitted to log in", _POSTGRES["28P01"]),
    ("database .* does not exist", _POSTGRES["3D000"]),
    ("too many|remaining connection slots", _POSTGRES["53300"]),
    ("starting up|shutting down|recovery mode", _POSTGRES["57P03"]),
    ("refused|No such file", ("no server listens there", f"start it, or check {DATABASE_VARIABLE}")),
    (
        "resolve|translate host|Name or service|No address",
        ("its host name is unknown", f"check the host in {DATABASE_VARIABLE}"),
    ),
    ("No route|unreachable", ("its machine cannot be reached", "check the network")),
    ("SSL|certificate", ("TLS failed", f"check sslmode and certificates in {DATABASE_VARIABLE}")),
    (
        "closed the connection|connection is closed|connection is lost|reset by peer|Broken pipe|EOF",
        ("the connection to it was lost", "try again when it is back"),
    ),
)
_SQLITE: dict[str, tuple[str, str]] = {
    "SQLITE_BUSY": ("another process has kept it locked", "end the program that has it open"),
    "SQLITE_CANTOPEN": ("it cannot be opened", "let this user write to its folder"),
    "SQLITE_CORRUPT": ("it is damaged", "move it away, or bring back a copy"),
    "SQLITE_FULL": ("its disk is full", "free disk space"),
    "SQLITE_IOERR": ("its disk has failed or is full", "look into the disk"),
    "SQLITE_LOCKED": ("another process has kept it locked", "end the program that has it open"),
    "SQLITE_NOTADB": ("it is damaged, or not a SQLite database", "move it away, or bring back a copy"),
    "SQLITE_PERM": ("it may not be written", "let this user write to it and to its folder"),
    "SQLITE_READONLY": ("it may not be written", "let this user write to it and to its folder"),
}


_PASSING = frozenset(
    {"25P03", "53100", "53200", "53300", "55P03", "57014", "57P01", "57P02", "57P03", "58030"}  # by SQLSTATE
    | {"SQLITE_BUSY", "SQLITE_LOCKED"}
)
"""Errors that may pass by themselves, by SQLSTATE and SQLite error name. All others need a repair first."""
_LASTING = "password|no pg_hba|role |database .* does not exist|SSL|certificate|Name or service|No address"
"""Errors before the login that do not pass by themselves."""


def is_time_out(error: sa.exc.SQLAlchemyError) -> bool:
    """Return whether the driver ran out of time while connecting."""
    return type(getattr(error, "orig", None)).__name__ == "ConnectionTimeout"


def no_answer_error(place: str, waited_s: float, *, local: bool = False) -> DatabaseAway:
    """Return the error for a database that does not answer."""
    advice = "see what keeps it locked or its disk busy" if local else "see that its server is well and can be reached"
    return DatabaseAway(f"The database {place} has not answered for {waited_s:.0f} s; {advice}.")


def error_for(error: Exception, place: str, *, local: bool) -> StoreLost:
    """Return the error to raise for an error of SQLAlchemy, a driver or the file system."""
    cause = getattr(error, "orig", None) or error
    what, advice = _of_sqlite(cause) if local else _of_postgres(cause)
    return _error_class(cause, local=local)(f"The database {place} cannot be used ({what}); {advice}.")


def _error_class(cause: BaseException, *, local: bool) -> type[StoreLost]:
    """Return the error class: only `StoreLost` itself needs a repair, its subclasses may pass."""
    state = getattr(cause, "sqlstate", None)
    if state in ("40P01", "40001"):
        return TransactionAborted
    if isinstance(cause, sa.exc.TimeoutError):
        return DatabaseAway
    if local:
        name = getattr(cause, "sqlite_errorname", "")
        return DatabaseAway if any(name.startswith(passing) for passing in _PASSING) else StoreLost
    wrong = state not in _PASSING if state else re.search(_LASTING, str(cause), re.IGNORECASE)
    return StoreLost if wrong else DatabaseAway


def _of_sqlite(cause: BaseException) -> tuple[str, str]:
    elsewhere = f"change {DATABASE_VARIABLE}" if os.environ.get(DATABASE_VARIABLE, "").strip() else "set HOLO_HOME"
    if isinstance(cause, OSError):
        return cause.strerror or type(cause).__name__, f"let this user write to its folder, or {elsewhere}"
    if isinstance(cause, sa.exc.TimeoutError):
        return _all_in_use()
    name = getattr(cause, "sqlite_errorname", "")
    for known, (what, advice) in _SQLITE.items():
        if name.startswith(known):
            return what, f"{advice}, or {elsewhere} to use another one"
    message = scrub_text(first_line(cause))
    if isinstance(cause, sqlite3.OperationalError) and re.match(
        "no such (table|column)|table .* has no column", message
    ):
        return f"{_FOREIGN}: {message}", f"bring back the previous copy, or move it away; or {elsewhere}"
    return message, f"move it away, or {elsewhere} to use another one"


def _of_postgres(cause: BaseException) -> tuple[str, str]:
    if isinstance(cause, sa.exc.TimeoutError):
        return _all_in_use()
    state = getattr(cause, "sqlstate", None)
    if state is None:
        message = str(cause)
        known = (problem for words, problem in _CONNECTING if re.search(words, message, re.IGNORECASE))
        return next(known, (f"it cannot be reached ({type(cause).__name__})", f"check {DATABASE_VARIABLE}"))
    if state in ("40P01", "40001"):
        return "it and another transaction were in each other's way", "try again"
    if problem := _POSTGRES.get(state):
        what, advice = problem
        return (f"{what}: {_server_says(cause)}" if state.startswith("42") else what), advice
    return f"{_server_says(cause)}, SQLSTATE {state}", "look into the server's log"


def _server_says(cause: Any) -> str:
    """Return the server's message about a statement. It holds no part of the URL."""
    return scrub_text(str(cause.diag.message_primary or type(cause).__name__))


def _all_in_use() -> tuple[str, str]:
    return "all connections of this process are in use", "let it do less at the same time"
