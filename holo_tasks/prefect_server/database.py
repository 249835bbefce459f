"""A new database for Prefect, as its migrations would leave it: they take seconds, and always come to the same.

`database.sql` is what they came to; ``python -m holo_tasks.prefect_server.database`` writes it anew. A Prefect that
is newer brings a database up to date itself, by the migrations that were added since.
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
MAKES = """
import asyncio
from prefect.server.database import provide_database_interface
asyncio.run(provide_database_interface().create_db())
"""


def prepare(path: Path) -> bool:
    """Make a new database, complete or not at all; say whether one was made.

    None is where there is one already, or something is left of one, or where the Prefect that is installed is older
    than what is kept: it would refuse a database from its future. Whoever starts a server there has Prefect make it.
    """
    sql = SCHEMA.read_text(encoding="utf-8")
    # A journal without its database would be taken for that of the new one.
    if any(path.with_name(path.name + end).exists() for end in ("", "-wal", "-journal")):
        return False
    if not _is_known(_revision(sql)):
        return False
    made = path.with_name(f".{path.name}.new")  # nobody else is at it: see `TemporaryServer`
    try:
        with suppress(FileNotFoundError):
            made.unlink()
        private_file(made)
        with closing(sqlite3.connect(made)) as database:
            database.executescript(sql)
        os.link(made, path)  # unless there is one by now
    except (OSError, sqlite3.Error):
        return False
    finally:
        with suppress(OSError):
            made.unlink()
    return True


def _revision(sql: str) -> str:
    """Return the name of the last migration."""
    return sql.rpartition("alembic_version")[2].partition("'")[2].partition("'")[0]


def _is_known(revision: str) -> bool:
    prefect = find_spec("prefect")  # loads nothing of it
    places = prefect.submodule_search_locations if prefect else None
    return any(
        any(Path(place, "server/database/_migrations/versions/sqlite").glob(f"*_{revision}_*.py"))
        for place in places or ()
    )


def migrated(path: Path) -> str:
    """Have Prefect's migrations make a database, or bring one up to date, and return what it is made of as SQL."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with tempfile.TemporaryDirectory() as home:
        environ = known | {
            "PREFECT_HOME": home,
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{path}",
        }
        subprocess.run([sys.executable, "-c", MAKES], env=environ, check=True)
    with closing(sqlite3.connect(path)) as database:
        return "\n".join([*database.iterdump(), ""])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        SCHEMA.write_text(migrated(Path(folder) / "prefect.db"), encoding="utf-8")
