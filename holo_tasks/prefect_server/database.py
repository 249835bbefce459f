"""Create a new Prefect database from a stored schema, because running all migrations takes seconds.

`database.sql` is the result of the migrations; ``python -m holo_tasks.prefect_server.database`` writes it again. A
newer Prefect applies the migrations that were added since.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path

from holo_tasks.machine.private import private_file

SCHEMA = Path(__file__).with_suffix(".sql")
CREATE_DATABASE = """
import asyncio
from prefect.server.database import provide_database_interface
asyncio.run(provide_database_interface().create_db())
"""
"""Program that lets Prefect create its database."""


def prepare(path: Path) -> bool:
    """Create a new database, completely or not at all; return whether it was created.

    No database is created if there is one at ``path``, or only its write-ahead log or journal. None is created either
    if the installed Prefect is older than the stored schema, because it would refuse the newer database. In both cases
    Prefect creates or migrates the database when the server starts.
    """
    sql = SCHEMA.read_text(encoding="utf-8")
    # SQLite would apply a leftover journal to the new database.
    if any(path.with_name(path.name + end).exists() for end in ("", "-wal", "-journal")):
        return False
    if not _is_known_to_prefect(_revision(sql)):
        return False
    made = path.with_name(f".{path.name}.new")  # `TemporaryServer` holds the lock of the first start
    try:
        with suppress(FileNotFoundError):
            made.unlink()
        private_file(made)
        with closing(sqlite3.connect(made)) as database:
            database.executescript(sql)
        os.link(made, path)  # fails if the database exists by now
    except (OSError, sqlite3.Error):
        return False
    finally:
        with suppress(OSError):
            made.unlink()
    return True


def _revision(sql: str) -> str:
    """Return the id of the last migration in the schema."""
    return sql.rpartition("alembic_version")[2].partition("'")[2].partition("'")[0]


def _is_known_to_prefect(revision: str) -> bool:
    """Return whether the installed Prefect has the migration with this id."""
    prefect = find_spec("prefect")  # does not import it
    places = prefect.submodule_search_locations if prefect else None
    return any(
        any(Path(place, "server/database/_migrations/versions/sqlite").glob(f"*_{revision}_*.py"))
        for place in places or ()
    )


def migrated_schema(path: Path) -> str:
    """Let Prefect create the database at ``path`` by all its migrations; return its schema and rows as SQL."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with tempfile.TemporaryDirectory() as home:
        environ = known | {
            "PREFECT_HOME": home,
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{path}",
        }
        subprocess.run([sys.executable, "-c", CREATE_DATABASE], env=environ, check=True)
    with closing(sqlite3.connect(path)) as database:
        return "\n".join([*database.iterdump(), ""])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        SCHEMA.write_text(migrated_schema(Path(folder) / "prefect.db"), encoding="utf-8")
