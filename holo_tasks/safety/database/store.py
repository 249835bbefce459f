"""The shared database: one SQLite file by default, or a Postgres server for several machines.

`Store` opens the database and runs transactions. `store_at` chooses the database from the environment. All modules of
this package that persist state use it.
"""

from __future__ import annotations

import logging
import math
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.this_machine import switched_on
from holo_tasks.machine.clock import era
from holo_tasks.machine.private import make_private, private_file, private_folder, remove_access_of_others
from holo_tasks.safety.database import schema
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE, checked, pinned, place_of
from holo_tasks.safety.database.database_errors import TransactionAborted, error_for, is_time_out, no_answer_error
from holo_tasks.safety.database.database_time_limit import TransactionDeadline
from holo_tasks.safety.scrubbing import scrub_text

T = TypeVar("T")

TABLES = sa.MetaData()
"""All tables. Each module of this package adds its own. `schema` explains how to add or change a table."""
PATIENCE_S, HURRY_S = 30.0, 8.0
"""Seconds that a transaction waits for locks and for the server. `HURRY_S` is for transactions that delay input."""
HELD_S = 20.0
"""Seconds after which Postgres ends a session that is idle in a transaction. It is shorter than others wait for its
locks.
"""
_LIMITS = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"
_NAME = "holo-tasks"
# The pool would log a traceback with the statement for a lost connection, although its user gets the error anyway.
logging.getLogger(f"sqlalchemy.pool.impl.QueuePool.{_NAME}").setLevel(logging.CRITICAL + 1)


class Prose(sa.types.TypeDecorator[str]):
    """Column of text for people; the values of secrets are removed when it is written.

    All other columns hold keys, tokens and digests. They are stored unchanged, because rows are found by them.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else scrub_text(value)


class Store:
    """A database. Transactions that touch the same rows are serialized, and are durable when they end.

    On SQLite, a transaction takes the write lock when it begins, and is synced to disk when it ends. On Postgres, a
    condition must be part of the UPDATE that relies on it, and rows are locked in the order of their keys.

    Use `do` for a transaction that changes several rows, because two such transactions may deadlock. Only `do` retries.
    If the connection is lost within a transaction, it is unknown whether the COMMIT succeeded, so a caller that gets
    `StoreLost` must allow for both. A connection that was lost before the transaction is reopened.
    """

    def __init__(self, url: str, home: Path | None = None) -> None:
        """Prepare a database.

        ``home`` is the folder of local state if the database is the default one in that folder.
        """
        self._home = home
        # The default path is not parsed as a URL, because the folder's name may contain a “?”.
        self.url = url if home is not None else checked(url)
        self.local = url.startswith("sqlite")
        self._pin = pinned(self.url) if switched_on(os.environ) and not self.local else {}
        self._thread_state = threading.local()

    @property
    def place(self) -> str:
        """Location of the database for messages, without user and password."""
        return str(self._file) if self.local else place_of(self.url)

    @property
    def _file(self) -> Path:
        return Path(sa.make_url(self.url).database or "") if self._home is None else self._home / "holo.db"

    @contextmanager
    def transaction(self, patience_s: float = PATIENCE_S) -> Iterator[sa.Connection]:
        """Run statements in one transaction.

        Raises `StoreLost` if the database cannot be used or does not answer within ``patience_s``. Raises
        `InvalidUsage` for a value that no database can store.
        """
        with self._time_limit(patience_s) as watch:
            try:
                with self._engine.begin() as connection:
                    yield connection
            except (UnicodeEncodeError, OverflowError, sa.exc.DataError):
                raise InvalidUsage(
                    "A value cannot be stored in a database: it is a text that is not UTF-8 or holds a NUL, or a "
                    "number that is too large. Use another value."
                ) from None
            except sa.exc.SQLAlchemyError as error:
                if watch is not None and (watch.fired or is_time_out(error)):
                    watch.fired = True
                    raise no_answer_error(self.place, watch.waited_s) from None
                raise error_for(error, self.place, local=self.local) from None

    def do(self, work: Callable[[sa.Connection], T], patience_s: float = PATIENCE_S) -> T:
        """Run ``work`` in a transaction, and once more if the database aborted it in favor of another transaction.

        Side effects of ``work`` outside the database may happen twice.
        """
        try:
            with self.transaction(patience_s) as connection:
                return work(connection)
        except TransactionAborted:
            # Let the other transaction finish. An immediate retry could conflict with it again.
            time.sleep(random.uniform(0.05, 0.2))
            with self.transaction(patience_s) as connection:
                return work(connection)

    def examine(self) -> str:
        """Return the kind and version of the database if it can be read and written. Raises `StoreLost` otherwise."""
        with self.transaction(HURRY_S) as db:
            schema.write_nothing(db)
            ask = "SELECT sqlite_version()" if self.local else "SHOW server_version"
            version = str(db.execute(sa.text(ask)).scalar_one()).split()[0]
        return f"{'SQLite' if self.local else 'Postgres'} {version}"

    def now_s(self, connection: sa.Connection) -> float:
        """Return the time in seconds on a clock that all users of this database share.

        SQLite uses the monotonic clock of the machine, which cannot be set. Postgres uses the server's clock, which can
        be. Mutual exclusion therefore does not rely on it (see `Ledger`).
        """
        if self.local:
            return time.monotonic()
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    @cached_property
    def era(self) -> str:
        """Identity of the epoch of `now_s`. Times with different eras cannot be compared."""
        return era() if self.local else "epoch"

    @contextmanager
    def _time_limit(self, patience_s: float) -> Iterator[TransactionDeadline | None]:
        """Set the time-out of the transactions of this thread.

        SQLite enforces it by itself, Postgres needs a `TransactionDeadline`.
        """
        self._thread_state.patience_s = patience_s
        if self.local:
            yield None
            return
        with TransactionDeadline(self.url, patience_s) as watch:
            self._thread_state.watch = watch
            yield watch

    @cached_property
    def _engine(self) -> sa.Engine:
        try:
            engine = self._file_engine() if self.local else self._server_engine()
            with engine.begin() as connection:
                if not self.local:
                    schema.check_server(connection, self.place)
                    # Concurrent creation of the same table would fail.
                    connection.execute(sa.text("SELECT pg_advisory_xact_lock(484951001)"))
                schema.migrate(connection, TABLES, self.place)
        except ImportError as error:
            raise InvalidUsage(
                f"The database {self.place} cannot be opened ({error}); install prefect-holo[postgres]."
            ) from None
        except OSError as error:
            raise error_for(error, self.place, local=self.local) from None
        return engine

    def _file_engine(self) -> sa.Engine:
        self._make_private(self._file)
        named = sa.make_url(self.url) if self._home is None else sa.URL.create("sqlite", database=str(self._file))
        engine = sa.create_engine(
            named, connect_args={"timeout": PATIENCE_S}, hide_parameters=True, pool_logging_name=_NAME
        )
        sa.event.listen(engine, "connect", _prepare)
        sa.event.listen(engine, "begin", self._begin)
        return engine

    def _make_private(self, path: Path) -> None:
        """Create the file before SQLite does, because SQLite would use the umask.

        Its side files get the mode of the file.
        """
        if self._home is None:
            make_private(path.parent)
            if path.exists():
                return  # the user chose this file, and may share it with others
        else:
            private_folder(self._home)
            for suffix in ("-wal", "-shm"):
                remove_access_of_others(path.with_name(path.name + suffix))
        private_file(path)

    def _server_engine(self) -> sa.Engine:
        engine = sa.create_engine(
            self.url,
            isolation_level="READ COMMITTED",
            connect_args={"tcp_user_timeout": int(PATIENCE_S) * 1000, **self._pin},
            hide_parameters=True,
            pool_logging_name=_NAME,
        )

        @sa.event.listens_for(engine, "do_connect")
        def _limit_connect_time(dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> None:
            options["connect_timeout"] = self._current_watch.connect_s

        @sa.event.listens_for(engine, "connect", insert=True)
        def _begin_session(connection: Any, record: Any) -> None:
            self._current_watch.watch_connection(connection.fileno())
            record.info["new"] = True
            _prepare_session(connection)

        @sa.event.listens_for(engine, "begin")
        def _begin_transaction(connection: sa.Connection) -> None:
            self._current_watch.transaction_begun()

        @sa.event.listens_for(engine, "before_cursor_execute")
        def _send_limits(connection: sa.Connection, *_: Any) -> None:
            if limits := self._current_watch.limits():
                connection.exec_driver_sql(_LIMITS, limits)

        @sa.event.listens_for(engine, "checkout")
        def _check_connection(connection: Any, record: Any, proxy: Any) -> None:
            if record.info.pop("new", False):
                return
            self._current_watch.watch_connection(connection.fileno())
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error:
                if self._current_watch.fired:
                    raise
                raise sa.exc.InvalidatePoolError from None  # reopens all connections of the pool

        return engine

    @property
    def _current_watch(self) -> TransactionDeadline:
        watch: TransactionDeadline = self._thread_state.watch
        return watch

    def _begin(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {math.ceil(self._thread_state.patience_s * 1000)}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def store_at(home: Path) -> Store:
    """Return the database of HOLO_DATABASE_URL, or the SQLite file in ``home`` if it is not set."""
    url = os.environ.get(DATABASE_VARIABLE, "").strip()
    if not url:
        return Store(f"sqlite:///{home / 'holo.db'}", home)
    if url.startswith(("postgres://", "postgresql://")):
        return Store("postgresql+psycopg://" + url.split("://", 1)[1])
    if url.startswith(("postgresql+psycopg://", "sqlite:///")):
        return Store(url)
    raise InvalidUsage(f"{DATABASE_VARIABLE} must begin with postgresql:// or sqlite:///.")


def add(db: sa.Connection, table: sa.Table, **values: Any) -> bool:
    """Insert a row unless its key exists; return whether it was inserted."""
    insert = postgresql.insert if db.dialect.name == "postgresql" else sqlite.insert
    key = table.primary_key.columns.values()[0]
    return db.execute(insert(table).values(**values).on_conflict_do_nothing().returning(key)).first() is not None


def _prepare(connection: Any, _: object) -> None:
    # Otherwise the driver begins transactions by itself, late and without the write lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    _switch_to_wal(cursor)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    # SQLite ignores its timeout here, and another process may be recovering the file after a crash.
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until_s:
                raise
        time.sleep(0.02)


def _prepare_session(connection: Any) -> None:
    # Commits must survive a crash of the server, and a process that is stopped must lose its locks.
    for statement in (
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        f"SET idle_in_transaction_session_timeout = '{HELD_S:.0f}s'",
    ):
        connection.execute(statement)
    connection.commit()
