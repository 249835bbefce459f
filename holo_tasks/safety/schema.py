"""The form of the shared database: its version, and how an older database is brought up to this one.

A new table needs the name of its module in `KEEPERS`, and no step. Whoever keeps something adds it to `store.TABLES`;
it is made when a database is opened next that has it not, with all others that are missing.

A table that changes needs a step. Change its `sa.Table`, and append to `STEPS` a function that does the same to a
database of the version before, in SQL that SQLite and Postgres know::

    def _priority_of_items(db: sa.Connection) -> None:
        db.execute(sa.text("ALTER TABLE items ADD COLUMN priority BIGINT NOT NULL DEFAULT 0"))

    STEPS = (_items_by_goal, _priority_of_items)  # version 3

A step is called once, only if its database has tables (use `has_table` for one that may be missing), in the
transaction that writes the new version down. From then on older versions of the library refuse the database, so a step
is for what they cannot live with: a column with a default that only new code reads is one, too, for they would not
write it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import sqlalchemy as sa

from holo_tasks.core.errors import StoreLost

Step = Callable[[sa.Connection], None]


def _items_by_goal(db: sa.Connection) -> None:
    """Two kinds of work on one business item are two items of the list."""
    if not has_table(db, "items"):
        return
    if db.dialect.name == "postgresql":  # in place: a new table would lose the rights that others were granted
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
"""What leads from each version to the next, from version 1 on: databases from before versions were kept are of that."""
OLDEST_POSTGRES = 14
"""Older ones get no mends of their own any more. Tests run on 15, 16 and 18."""
KEEPERS = (
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
"""The modules with tables. A command loads those that it needs; but whoever opens a database first makes it whole."""
_FORM = sa.table("holo_version", sa.column("version", sa.BigInteger))


def newest() -> int:
    """Return the version that this library makes."""
    return 1 + len(STEPS)


def has_table(db: sa.Connection, name: str) -> bool:
    """Say whether a database has a table."""
    return sa.inspect(db).has_table(name)


def bring_up(db: sa.Connection, tables: sa.MetaData, place: str) -> None:
    """Make what is missing in a database and lead it to the newest version; to be called by one at a time.

    Raises `StoreLost` for a database that a newer version of this library has changed.
    """
    for name in KEEPERS:  # before it is known what is wanted: a command that looks only has loaded none of them
        import_module(f"holo_tasks.safety.{name}")
    there = set(sa.inspect(db).get_table_names())
    wanted = set(tables.tables)
    found = _version(db) if _FORM.name in there else 1 if there & wanted else newest()
    if found > newest():
        raise StoreLost(
            f"The database {place} was changed by a newer version of prefect-holo (its form is {found}, this version "
            f"knows {newest()}); install that version here, too."
        )
    for step in STEPS[found - 1 :]:
        step(db)
    if found < newest():
        there |= set(sa.inspect(db).get_table_names())
    if missing := [table for name, table in tables.tables.items() if name not in there]:
        tables.create_all(db, missing, checkfirst=False)
    if _FORM.name not in there:
        db.execute(sa.text(f"CREATE TABLE {_FORM.name} (version BIGINT NOT NULL PRIMARY KEY)"))
        db.execute(sa.insert(_FORM).values(version=newest()))
    elif found < newest():
        db.execute(sa.update(_FORM).values(version=newest()))


def check_server(db: sa.Connection, place: str) -> None:
    """Raise `StoreLost` for a Postgres that is too old."""
    found = db.dialect.server_version_info or ()
    if db.dialect.name == "postgresql" and found < (OLDEST_POSTGRES,):
        version = ".".join(map(str, found))
        raise StoreLost(
            f"The database {place} is a Postgres {version}, and the oldest that can be used is {OLDEST_POSTGRES}: "
            "upgrade that server, or name another one."
        )


def write_nothing(db: sa.Connection) -> None:
    """Do what changes nothing, and fails where nothing could be changed."""
    db.execute(sa.delete(_FORM).where(sa.false()))


def _version(db: sa.Connection) -> int:
    return int(db.execute(sa.select(sa.func.max(_FORM.c.version))).scalar_one() or 1)
