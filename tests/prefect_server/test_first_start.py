"""A first start: Prefect's database is created at once, and a command ends when its outcome is printed."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sqlite3
import stat
import subprocess
import sys
import time
import warnings
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sqlalchemy as sa

from holo_tasks.cli.run_command import run as run_command
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.prefect_server import database as prefect_database
from holo_tasks.prefect_server import process
from holo_tasks.prefect_server.database import migrated_schema, prepare
from holo_tasks.prefect_server.temporary import TemporaryServer
from tests.support import warm

stored = pytest.mark.skipif(
    not prefect_database._is_known_to_prefect(prefect_database._revision(prefect_database.SCHEMA.read_text())),
    reason="the installed Prefect is older than the stored schema",
)


def parts(sql: str) -> list[str]:
    """Return the lines in a canonical order. The order of constraints of one table differs between migrations."""
    return sorted(line.strip().rstrip(",") for line in sql.splitlines())


@stored
def test_the_stored_schema_equals_the_migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forked = SimpleNamespace(run=lambda words, check, **options: warm.run_script(words, **options).check_returncode())
    monkeypatch.setattr(prefect_database, "subprocess", forked)
    fresh, kept = tmp_path / "fresh.db", tmp_path / "kept.db"
    assert prepare(kept)
    with closing(sqlite3.connect(kept)) as database:
        assert parts("\n".join(database.iterdump())) == parts(migrated_schema(fresh))


@stored
def test_the_database_is_private_and_leaves_no_other_file(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        assert prepare(tmp_path / "prefect.db")
    finally:
        os.umask(previous)
    assert [path.name for path in tmp_path.iterdir()] == ["prefect.db"]
    assert stat.S_IMODE((tmp_path / "prefect.db").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["prefect.db", "prefect.db-wal", "prefect.db-journal"])
def test_existing_databases_and_remains_are_not_touched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("somebody's")
    assert not prepare(tmp_path / "prefect.db")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "somebody's"


@stored
def test_a_leftover_of_a_killed_try_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".prefect.db.new").write_text("half of one")
    assert prepare(tmp_path / "prefect.db")
    assert [path.name for path in tmp_path.iterdir()] == ["prefect.db"]


def test_an_older_prefect_creates_its_own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = tmp_path / "newer.sql"
    revision = prefect_database._revision(prefect_database.SCHEMA.read_text())
    newer.write_text(prefect_database.SCHEMA.read_text().replace(revision, "0123456789ab"))
    monkeypatch.setattr(prefect_database, "SCHEMA", newer)
    assert not prepare(tmp_path / "prefect.db")
    assert not (tmp_path / "prefect.db").exists()


def test_prefect_creates_the_database_if_we_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.sql"
    broken.write_text(prefect_database.SCHEMA.read_text() + "CREATE TABLE log (id INT);")
    assert not prepare(tmp_path / "missing" / "prefect.db")
    monkeypatch.setattr(prefect_database, "SCHEMA", broken)
    assert not prepare(tmp_path / "prefect.db")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.sql"]


def test_no_database_is_created_if_another_one_is_configured(tmp_path: Path) -> None:
    home = tmp_path / "prefect"
    environ = {"PATH": os.environ["PATH"], "PREFECT_HOME": str(home)}
    environ["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = f"sqlite+aiosqlite:///{tmp_path}/other.db"
    server = TemporaryServer(environ, blocks=False)
    try:
        assert not (home / "prefect.db").exists()
    finally:
        server.stop()


COMMAND = """
import atexit, sys
from holo_tasks.cli import commands
class Late:
    def __del__(self):
        print("taken apart")
late, sys.argv = Late(), ["holo-tasks", "models"]
if {fails}:
    def fail(options):
        raise RuntimeError("a defect")
    commands.COMMANDS["models"] = fail
try:
    commands.main()
finally:
    atexit.register(print, "the exit handlers of libraries ran")
"""


@pytest.mark.parametrize("fails", [False, True])
def test_a_command_ends_when_its_work_is_done(tmp_path: Path, fails: bool) -> None:
    command = [sys.executable, "-c", COMMAND.format(fails=fails)]
    ended = subprocess.run(command, env={**os.environ, "HOLO_HOME": str(tmp_path)}, capture_output=True, text=True)
    assert "the exit handlers of libraries ran" in ended.stdout
    assert (ended.returncode, "RuntimeError: a defect" in ended.stderr) == ((1, True) if fails else (0, False))
    assert ("holo3" in ended.stdout, "taken apart" in ended.stdout) == (not fails, fails)


def test_installed_modules_are_compiled() -> None:
    """Otherwise each process compiles the modules again if Python may not write bytecode."""
    for name in ("prefect", "prefect.server.database.orm_models", "openai", "holo_tasks.cli.commands"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert Path(spec.cached or "none").exists(), f"make setup compiles {name}"


@pytest.mark.parametrize(
    ("up", "server", "said"),
    [
        (False, object(), "the desktop and a temporary Prefect server, because none is configured"),
        (True, object(), "a temporary Prefect server, because none is configured"),
        (False, None, "the desktop and Prefect to load"),
    ],
)
async def test_waits_are_reported(up: bool, server: Any, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    coming_up = asyncio.create_task(asyncio.sleep(0 if up else 60))
    await asyncio.sleep(0.01)
    for aloud in (True, False):
        run_command._print_waiting(cast("Any", SimpleNamespace(aloud=aloud)), server, coming_up)
        assert capsys.readouterr().err == (f"holo-tasks: waiting for {said}\n" if aloud else "")
    coming_up.cancel()


def test_a_slow_start_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_command, "TOLD_AFTER_S", 0.0)
    monkeypatch.setattr(run_command, "_load", lambda: time.sleep(0.3))

    class Nowhere:
        async def __aenter__(self) -> Any:
            await asyncio.sleep(0.2)
            raise InvalidUsage("no desktop here")

    settings = SimpleNamespace(desktop=Nowhere(), aloud=True)
    with pytest.raises(InvalidUsage, match="no desktop here"):
        asyncio.run(run_command._run_async(cast("Any", settings), None))
    assert capsys.readouterr().err == "holo-tasks: waiting for the desktop and Prefect to load\n"


def test_uuid_comparisons_issue_no_warnings() -> None:
    from prefect.server.utilities.database import UUID

    column = sa.column("id", UUID())
    process._declare_uuid_operators()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(column == "00000000-0000-0000-0000-000000000000") == "id = :id_1"
