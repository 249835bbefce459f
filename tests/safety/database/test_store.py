"""Addresses of the shared database, as users write them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import TABLES, store_at


@pytest.mark.parametrize("place", ["ada:pa55@host:port/db", "ada:pa55@host:99999/db", "ada:pa55@[::1/db", "host:-1/db"])
def test_an_invalid_url_is_reported_without_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("HOLO_DATABASE_URL", f"postgresql://{place}")
    with pytest.raises(InvalidUsage, match="HOLO_DATABASE_URL") as caught:
        store_at(tmp_path)
    assert "pa55" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_password_may_hold_url_delimiters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLO_DATABASE_URL", "postgresql://ada:pa#55?@host:5433/db")
    assert store_at(tmp_path).place == "host:5433/db"


@pytest.mark.parametrize("name", ["a?b", "a#b", "a%20b", "a:b@c", "ä b"])
def test_the_home_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    home = tmp_path / name / "home"
    store = store_at(home)
    store.examine()
    assert store.place == str(home / "holo.db")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (home / "holo.db").stat().st_mode & 0o777 == 0o600


def test_the_file_of_a_url_is_made_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, f"sqlite:///{tmp_path / 'a#b' / 'holo.db'}")
    store_at(tmp_path / "unused").examine()
    assert (tmp_path / "a#b" / "holo.db").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a#b"]


def test_a_reader_creates_all_tables_of_a_new_database(tmp_path: Path) -> None:
    look = "import sys; from pathlib import Path; from holo_tasks.safety.database.store import store_at\n"
    look += "store_at(Path(sys.argv[1])).examine()"
    subprocess.run([sys.executable, "-c", look, str(tmp_path)], check=True)
    with closing(sqlite3.connect(tmp_path / "holo.db")) as made:
        there = {name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert there >= set(TABLES.tables) | {"holo_version"}
    assert {"meters", "claims", "kills"} <= there
