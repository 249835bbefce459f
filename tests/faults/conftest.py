"""The two databases that runs share their state in: every promise holds on both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A Postgres server for the whole test run."""
    from tests.support.postgres import Postgres

    server = Postgres()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of either make, as HOLO_DATABASE_URL has it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'holo.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database()
