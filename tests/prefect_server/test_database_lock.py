"""The temporary server's transactions wait for the lock of the SQLite database instead of being refused."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path

import pytest
import sqlalchemy as sa
from prefect.server.database.configurations import AioSqliteConfiguration

from holo_tasks.prefect_server.process import _lock_before_reading


async def _add_at_the_same_time(path: Path) -> int:
    """Let two transactions read a row and then write it, one beginning while the other is under way."""
    database = AioSqliteConfiguration(f"sqlite+aiosqlite:///{path}")
    engine = await database.engine()
    async with engine.begin() as connection:
        await connection.execute(sa.text("CREATE TABLE counted (number INTEGER)"))
        await connection.execute(sa.text("INSERT INTO counted VALUES (0)"))
    has_begun = asyncio.Event()

    async def add(pause_s: float) -> None:
        session = await database.session(engine)
        async with session, database.begin_transaction(session):
            number = (await session.execute(sa.text("SELECT number FROM counted"))).scalar_one()
            has_begun.set()
            await asyncio.sleep(pause_s)
            await session.execute(sa.text("UPDATE counted SET number = :number"), {"number": number + 1})

    first = asyncio.create_task(add(0.3))
    await has_begun.wait()
    await asyncio.gather(first, add(0))
    async with engine.connect() as connection:
        return int((await connection.execute(sa.text("SELECT number FROM counted"))).scalar_one())


@pytest.fixture(autouse=True)
def put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AioSqliteConfiguration, "begin_transaction", AioSqliteConfiguration.begin_transaction)


async def test_a_transaction_that_reads_and_then_writes_is_not_refused(tmp_path: Path) -> None:
    with pytest.raises(sa.exc.OperationalError, match="database is locked"):
        await _add_at_the_same_time(tmp_path / "usual.db")
    _lock_before_reading()
    assert await _add_at_the_same_time(tmp_path / "ours.db") == 2


@pytest.mark.parametrize("begins", [True, False])
async def test_a_session_within_a_transaction_does_not_wait_for_its_lock(tmp_path: Path, begins: bool) -> None:
    _lock_before_reading()
    database = AioSqliteConfiguration(f"sqlite+aiosqlite:///{tmp_path}/nested.db")
    engine = await database.engine()
    question = sa.text("SELECT count(*) FROM sqlite_master")
    outer, inner = await database.session(engine), await database.session(engine)
    async with asyncio.timeout(10), outer, database.begin_transaction(outer):
        await outer.execute(question)
        async with inner, database.begin_transaction(inner) if begins else nullcontext():
            assert (await inner.execute(question)).scalar_one() == 0
