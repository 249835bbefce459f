"""The durable state that runs share: one SQLite file by default, Postgres by URL for many machines."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from holo_tasks.core.errors import InvalidUsage, StoreLost
from holo_tasks.core.this_machine import NotThisMachine, loopback_address, switched_on
from holo_tasks.safety.scrubbing import hushed

DATABASE_VARIABLE = "HOLO_DATABASE_URL"
TABLES = sa.MetaData()
"""Every table; each module of this package adds its own."""
PATIENCE_S = 30
"""How long a transaction waits for another one, or for an answer of the database."""


class Prose(sa.types.TypeDecorator[str]):
    """A column for people to read, which never holds the value of a secret.

    All others are keys, tokens and digests: rows are found by them, and they are kept as they are.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else hushed(value)


class Store:
    """A database. Each `transaction` is serialised against others that touch the same rows, and durable when it ends.

    On SQLite a transaction takes the write lock at its beginning and is synced to the disk at its end. On Postgres
    a condition has to be part of the UPDATE that relies on it, and rows are locked in the order of their keys.
    """

    def __init__(self, url: str) -> None:
        self.url = _checked(url)
        self.local = url.startswith("sqlite")
        self._pin = _pin(self.url) if switched_on(os.environ) and not self.local else {}

    @property
    def place(self) -> str:
        """Where it is, without a password, for messages."""
        parts = sa.make_url(self.url)
        return str(parts.database) if self.local else f"{parts.host}:{parts.port or 5432}/{parts.database}"

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Do some statements together or not at all. Raises `StoreLost` when the database cannot be used."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            what = "free disk space or set HOLO_HOME" if self.local else f"check {DATABASE_VARIABLE}"
            raise StoreLost(f"The database {self.place} cannot be used ({reason}); {what}.") from None

    def now_s(self, connection: sa.Connection) -> float:
        """Return seconds on the clock that all users of this database share, and that nobody sets back.

        On one machine this is the monotonic clock; on Postgres it is the server's.
        """
        if self.local:
            return time.monotonic()
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    @cached_property
    def era(self) -> str:
        """What `now_s` counts from: times of another era cannot be compared with times of this one."""
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() if self.local else "epoch"

    @cached_property
    def _engine(self) -> sa.Engine:
        try:
            if not self.local:
                waits = {"connect_timeout": 10, "tcp_user_timeout": PATIENCE_S * 1000, **self._pin}
                engine = sa.create_engine(
                    self.url, pool_pre_ping=True, isolation_level="READ COMMITTED", connect_args=waits
                )
                sa.event.listen(engine, "connect", _prepare_session)
                with engine.begin() as connection:
                    # Two that create the same table at the same time would trip over each other.
                    connection.execute(sa.text("SELECT pg_advisory_xact_lock(484951001)"))
                    TABLES.create_all(connection)
                return engine
            path = Path(urlsplit(self.url).path.removeprefix("/"))
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            engine = sa.create_engine(self.url, connect_args={"timeout": PATIENCE_S})
            sa.event.listen(engine, "connect", _prepare)
            sa.event.listen(engine, "begin", _begin)
            TABLES.create_all(engine)
        except ImportError as error:
            raise InvalidUsage(
                f"The database {self.place} cannot be opened ({error}); install prefect-holo[postgres]."
            ) from None
        except (OSError, sa.exc.SQLAlchemyError) as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreLost(f"The database {self.place} cannot be opened ({reason}).") from None
        return engine


def store_at(home: Path) -> Store:
    """Return the database that HOLO_DATABASE_URL names, else the one in ``home``."""
    url = os.environ.get(DATABASE_VARIABLE, "").strip()
    if not url:
        return Store(f"sqlite:///{home / 'holo.db'}")
    if url.startswith(("postgres://", "postgresql://")):
        return Store("postgresql+psycopg://" + url.split("://", 1)[1])
    if url.startswith(("postgresql+psycopg://", "sqlite:///")):
        return Store(url)
    raise InvalidUsage(f"{DATABASE_VARIABLE} must begin with postgresql:// or sqlite:///.")


def _checked(url: str) -> str:
    """Return a URL that can be read, or raise `InvalidUsage`; it is not repeated, for it may hold a password."""
    try:
        if not 0 < (sa.make_url(url).port or 5432) < 65_536:
            raise ValueError
    except (ValueError, sa.exc.ArgumentError):
        raise InvalidUsage(
            f"{DATABASE_VARIABLE} cannot be read; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with a port "
            "from 1 to 65535."
        ) from None
    return url


def check_kept_here(url: str, what: str = f"the database of {DATABASE_VARIABLE}") -> None:
    """Raise `NotThisMachine` if a database is on another machine; an empty URL is a file of this one."""
    if url and not url.startswith("sqlite"):
        try:
            _pin(url, what)
        except (ValueError, sa.exc.ArgumentError):
            raise InvalidUsage(f"Local-only mode is on, and the URL of {what} cannot be read.") from None


def _pin(url: str, what: str = f"the database of {DATABASE_VARIABLE}") -> dict[str, str]:
    """Return what makes the driver connect to the loopback address that was checked, and not look it up again."""
    parts = sa.make_url(url)
    hosts = parts.query.get("host") or parts.host or os.environ.get("PGHOST") or ""
    elsewhere = [name for name in ("hostaddr", "service") if name in parts.query]
    elsewhere += [name for name in ("PGHOSTADDR", "PGSERVICE") if os.environ.get(name)]
    if elsewhere or not isinstance(hosts, str) or "," in hosts:
        raise NotThisMachine(
            f"Local-only mode is on, and {what} is named by more than one host ({', '.join(elsewhere) or 'host'}): "
            "nothing was sent. Name one host, as 127.0.0.1."
        )
    if not hosts or hosts.startswith("/"):
        return {}  # a socket of this machine's file system
    return {"hostaddr": loopback_address(hosts, socket.getaddrinfo, what)}


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


def _prepare_session(connection: Any, _: object) -> None:
    # What was committed outlives a crash of the server; who is stopped while holding locks loses them.
    for statement in (
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        f"SET lock_timeout = '{PATIENCE_S}s'",
        f"SET idle_in_transaction_session_timeout = '{PATIENCE_S}s'",
    ):
        connection.execute(statement)
    connection.commit()


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
