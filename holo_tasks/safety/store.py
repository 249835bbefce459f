"""The durable state that runs share: one SQLite file by default, Postgres by URL for many machines."""

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
from holo_tasks.machine.private import close_to_others, make_private, private_file, private_folder
from holo_tasks.safety import schema
from holo_tasks.safety.database_address import DATABASE_VARIABLE, checked, pinned, place_of
from holo_tasks.safety.database_errors import InEachOthersWay, is_time_out, trouble, unanswered
from holo_tasks.safety.scrubbing import hushed
from holo_tasks.safety.silent_database import Watch

T = TypeVar("T")

TABLES = sa.MetaData()
"""Every table; each module of this package adds its own. `schema` says how one is added, and how one is changed."""
PATIENCE_S, HURRY_S = 30.0, 8.0
"""How long a transaction waits for others, and for an answer of the database; the second for what holds up input."""
HELD_S = 20.0
"""How long who is stopped in a transaction keeps what others wait for: less than they do."""
_LIMITS = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"
_NAME = "holo-tasks"
# What a pool has to say of a lost connection is a traceback with the statement; who uses the connection is told.
logging.getLogger(f"sqlalchemy.pool.impl.QueuePool.{_NAME}").setLevel(logging.CRITICAL + 1)


class Prose(sa.types.TypeDecorator[str]):
    """A column for people to read, which never holds the value of a secret.

    All others are keys, tokens and digests: rows are found by them, and they are kept as they are.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else hushed(value)


class Store:
    """A database. Each `transaction` is serialized against others that touch the same rows, and durable when it ends.

    On SQLite a transaction takes the write lock at its beginning and is synced to the disk at its end. On Postgres
    a condition has to be part of the UPDATE that relies on it, and rows are locked in the order of their keys.

    Whoever changes several rows does it by `do`: there two can be in each other's way. Nothing else is done once more.
    A connection that was lost in a transaction may have lost the answer to its COMMIT, and a silent database has been
    waited for: whoever gets `StoreLost` has to reckon with both. One that was lost before is made anew.
    ``patience_s`` is `HURRY_S` for what comes between the model's word and the input, or is asked again soon.
    """

    def __init__(self, url: str, home: Path | None = None) -> None:
        """``home`` is the folder of local state if the database is that of its own."""
        self._home = home
        # A path of ours is no URL: a folder's name may have a “?” in it.
        self.url = url if home is not None else checked(url)
        self.local = url.startswith("sqlite")
        self._pin = pinned(self.url) if switched_on(os.environ) and not self.local else {}
        self._waiting = threading.local()

    @property
    def place(self) -> str:
        """Where it is, without user and password, for messages."""
        return str(self._file) if self.local else place_of(self.url)

    @property
    def _file(self) -> Path:
        return Path(sa.make_url(self.url).database or "") if self._home is None else self._home / "holo.db"

    @contextmanager
    def transaction(self, patience_s: float = PATIENCE_S) -> Iterator[sa.Connection]:
        """Do some statements together or not at all.

        Raises `StoreLost` when the database cannot be used, or has not answered for ``patience_s``, and `InvalidUsage`
        for a value that no database keeps.
        """
        with self._patient(patience_s) as watch:
            try:
                with self._engine.begin() as connection:
                    yield connection
            except (UnicodeEncodeError, OverflowError, sa.exc.DataError):
                raise InvalidUsage(
                    "What was given is in no database and cannot be kept in one: a text that is not UTF-8 or holds a "
                    "NUL, or a number that is too large; give another one."
                ) from None
            except sa.exc.SQLAlchemyError as error:
                if watch is not None and (watch.fired or is_time_out(error)):
                    watch.fired = True
                    raise unanswered(self.place, watch.waited_s) from None
                raise trouble(error, self.place, local=self.local) from None

    def do(self, work: Callable[[sa.Connection], T], patience_s: float = PATIENCE_S) -> T:
        """Do some work in a transaction; once more, if the database took it back for another one's sake.

        What the ``work`` does besides may be done twice.
        """
        try:
            with self.transaction(patience_s) as connection:
                return work(connection)
        except InEachOthersWay:
            # The other one has to be through first: at once, this one could be in its way again.
            time.sleep(random.uniform(0.05, 0.2))
            with self.transaction(patience_s) as connection:
                return work(connection)

    def examine(self) -> str:
        """Say what kind of database it is, if it can be read and written; raise `StoreLost` otherwise."""
        with self.transaction(HURRY_S) as db:
            schema.write_nothing(db)
            ask = "SELECT sqlite_version()" if self.local else "SHOW server_version"
            version = str(db.execute(sa.text(ask)).scalar_one()).split()[0]
        return f"{'SQLite' if self.local else 'Postgres'} {version}"

    def now_s(self, connection: sa.Connection) -> float:
        """Return seconds on the clock that all users of this database share.

        On one machine this is the monotonic clock, which nobody sets; on Postgres it is the server's, which somebody
        may: what two must never do at once does not rely on it (`Ledger`).
        """
        if self.local:
            return time.monotonic()
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    @cached_property
    def era(self) -> str:
        """What `now_s` counts from: times of another era cannot be compared with times of this one."""
        return era() if self.local else "epoch"

    @contextmanager
    def _patient(self, patience_s: float) -> Iterator[Watch | None]:
        """Bound what this thread waits for; SQLite bounds it by itself."""
        self._waiting.patience_s = patience_s
        if self.local:
            yield None
            return
        with Watch(self.url, patience_s) as watch:
            self._waiting.watch = watch
            yield watch

    @cached_property
    def _engine(self) -> sa.Engine:
        try:
            engine = self._file_engine() if self.local else self._server_engine()
            with engine.begin() as connection:
                if not self.local:
                    schema.check_server(connection, self.place)
                    # Two that create the same table at the same time would trip over each other.
                    connection.execute(sa.text("SELECT pg_advisory_xact_lock(484951001)"))
                schema.bring_up(connection, TABLES, self.place)
        except ImportError as error:
            raise InvalidUsage(
                f"The database {self.place} cannot be opened ({error}); install prefect-holo[postgres]."
            ) from None
        except OSError as error:
            raise trouble(error, self.place, local=self.local) from None
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
        """Make the file before SQLite does, which would by the umask; what it puts beside it has the file's mode."""
        if self._home is None:
            make_private(path.parent)
            if path.exists():
                return  # whoever named it may share it with others
        else:
            private_folder(self._home)
            for beside in ("-wal", "-shm"):
                close_to_others(path.with_name(path.name + beside))
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
        def _be_bounded(dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> None:
            options["connect_timeout"] = self._watch.connect_s

        @sa.event.listens_for(engine, "connect", insert=True)
        def _begin_session(connection: Any, record: Any) -> None:
            self._watch.over(connection.fileno())
            record.info["new"] = True
            _prepare_session(connection)

        @sa.event.listens_for(engine, "begin")
        def _begin_transaction(connection: sa.Connection) -> None:
            self._watch.begun()

        @sa.event.listens_for(engine, "before_cursor_execute")
        def _tell_limits(connection: sa.Connection, *_: Any) -> None:
            if limits := self._watch.limits():
                connection.exec_driver_sql(_LIMITS, limits)

        @sa.event.listens_for(engine, "checkout")
        def _look_alive(connection: Any, record: Any, proxy: Any) -> None:
            if record.info.pop("new", False):
                return
            self._watch.over(connection.fileno())
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error:
                if self._watch.fired:
                    raise
                raise sa.exc.InvalidatePoolError from None  # all are made anew

        return engine

    @property
    def _watch(self) -> Watch:
        watch: Watch = self._waiting.watch
        return watch

    def _begin(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {math.ceil(self._waiting.patience_s * 1000)}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def store_at(home: Path) -> Store:
    """Return the database that HOLO_DATABASE_URL names, else the one in ``home``."""
    url = os.environ.get(DATABASE_VARIABLE, "").strip()
    if not url:
        return Store(f"sqlite:///{home / 'holo.db'}", home)
    if url.startswith(("postgres://", "postgresql://")):
        return Store("postgresql+psycopg://" + url.split("://", 1)[1])
    if url.startswith(("postgresql+psycopg://", "sqlite:///")):
        return Store(url)
    raise InvalidUsage(f"{DATABASE_VARIABLE} must begin with postgresql:// or sqlite:///.")


def add(db: sa.Connection, table: sa.Table, **values: Any) -> bool:
    """Add a row unless there is one with its key; say whether it was added."""
    insert = postgresql.insert if db.dialect.name == "postgresql" else sqlite.insert
    key = table.primary_key.columns.values()[0]
    return db.execute(insert(table).values(**values).on_conflict_do_nothing().returning(key)).first() is not None


def _prepare(connection: Any, _: object) -> None:
    # The driver would begin transactions by itself, late and without the write lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    _switch_to_wal(cursor)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    # SQLite does not wait for others here, whatever its timeout: they may be recovering what a killed process left.
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
    # What was committed outlives a crash of the server; who is stopped while holding locks loses them.
    for statement in (
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        f"SET idle_in_transaction_session_timeout = '{HELD_S:.0f}s'",
    ):
        connection.execute(statement)
    connection.commit()
