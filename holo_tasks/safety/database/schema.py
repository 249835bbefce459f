"""Schema version of the shared database, and the migrations between versions.

A new table needs no migration. Add it to `store.TABLES` in its module, and add the module's name to `TABLE_MODULES`. It
is created when a database without it is next opened.

A changed table needs a migration. Change its `sa.Table`, and append a function to `STEPS` that makes the same change in
SQL that both SQLite and Postgres understand::

    def _priority_of_items(db: sa.Connection) -> None:
        db.execute(sa.text("ALTER TABLE items ADD COLUMN priority BIGINT NOT NULL DEFAULT 0"))

    STEPS = (_items_by_goal, _priority_of_items)  # version 3

A migration runs once, in the transaction that writes the new version number. It runs only if the database has tables;
use `has_table` for a table that may be missing. Older releases refuse a migrated database. Use a migration only for a
change that older releases cannot live with. A new column with a default is such a change, because older releases would
not write it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import sqlalchemy as sa

from holo_tasks.core.errors import StoreLost

Step = Callable[[sa.Connection], None]


def _items_by_goal(db: sa.Connection) -> None:
    """Extend the primary key of the dead-letter list by the goal: one token may have several kinds of work."""
    if not has_table(db, "items"):
        return
    if db.dialect.name == "postgresql":  # change it in place, because a new table would lose granted rights
        key = sa.inspect(db).get_pk_constraint("items")["name"]
        quoted = db.dialect.identifier_preparer.quote(str(key))
        db.execute(sa.text(f"ALTER TABLE items DROP CONSTRAINT {quoted}, ADD PRIMARY KEY (token, goal)"))
        return
    columns = "token, goal, status, reason, trace, flow_run_id, how, attempts, at"
    kinds = columns.replace(",", " TEXT NOT NULL,").replace("attempts TEXT", "attempts BIGINT")
    db.execute(sa.text(f"CREATE TABLE items_by_goal ({kinds} TEXT NOT NULL, PRIMARY KEY (token, goal))"))
    db.execute(sa.text(f"INSERT INTO items_by_goal ({columns}) SELECT {columns} FROM items"))
    db.execute(sa.text("DROP TABLE items"))
    db.execute(sa.text("ALTER TABLE items_by_goal RENAME TO items"))


STEPS: tuple[Step, ...] = (_items_by_goal,)
"""Migrations from each version to the next, starting at version 1. A database without a version table has version 1."""
OLDEST_POSTGRES = 14
"""Oldest supported major version of Postgres; older ones get no security updates. Tests run on 15, 16 and 18."""
TABLE_MODULES = (
    "approvals",
    "budgets",
    "handoffs",
    "items",
    "kill_requests",
    "ledger",
    "meters",
    "run_list",
    "seats",
    "used_codes",
    "work_items",
)
"""Modules that define tables. All are imported before the tables are created, although a command may need only a
few.
"""
_VERSION_TABLE = sa.table("holo_version", sa.column("version", sa.BigInteger))


def newest() -> int:
    """Return the schema version of this release."""
    return 1 + len(STEPS)


def has_table(db: sa.Connection, name: str) -> bool:
    """Return whether the database has a table."""
    return sa.inspect(db).has_table(name)


def migrate(db: sa.Connection, tables: sa.MetaData, place: str) -> None:
    """Migrate a database to the newest version and create missing tables.

    The caller makes sure that only one process does. Raises `StoreLost` if a newer release has changed the database.
    """
    for name in TABLE_MODULES:  # importing a module adds its tables to `tables`
        import_module(f"holo_tasks.safety.records.{name}")
    there = set(sa.inspect(db).get_table_names())
    wanted = set(tables.tables)
    found = _version(db) if _VERSION_TABLE.name in there else 1 if there & wanted else newest()
    if found > newest():
        raise StoreLost(
            f"The database {place} was changed by a newer version of prefect-holo (its form is {found}, this version "
            f"knows {newest()}); install that version here as well."
        )
    for step in STEPS[found - 1 :]:
        step(db)
    if found < newest():
        there |= set(sa.inspect(db).get_table_names())
    if missing := [table for name, table in tables.tables.items() if name not in there]:
        tables.create_all(db, missing, checkfirst=False)
    if _VERSION_TABLE.name not in there:
        db.execute(sa.text(f"CREATE TABLE {_VERSION_TABLE.name} (version BIGINT NOT NULL PRIMARY KEY)"))
        db.execute(sa.insert(_VERSION_TABLE).values(version=newest()))
    elif found < newest():
        db.execute(sa.update(_VERSION_TABLE).values(version=newest()))


def check_server(db: sa.Connection, place: str) -> None:
    """Raise `StoreLost` if the server is a Postgres older than `OLDEST_POSTGRES`."""
    found = db.dialect.server_version_info or ()
    if db.dialect.name == "postgresql" and found < (OLDEST_POSTGRES,):
        version = ".".join(map(str, found))
        raise StoreLost(
            f"The database {place} is a Postgres {version}, and the oldest supported version is {OLDEST_POSTGRES}: "
            "upgrade that server, or use another one."
        )


def write_nothing(db: sa.Connection) -> None:
    """Run a DELETE that matches no row. It fails if the database is read-only."""
    db.execute(sa.delete(_VERSION_TABLE).where(sa.false()))


def _version(db: sa.Connection) -> int:
    return int(db.execute(sa.select(sa.func.max(_VERSION_TABLE.c.version))).scalar_one() or 1)
