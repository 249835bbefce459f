"""Redis, the message broker of Prefect servers, fails while items are processed, and returns."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect import flow
from prefect.settings import PREFECT_API_URL, temporary_settings
from redis import Redis as Client

from holo_tasks import step
from holo_tasks.prefect_server.temporary import TemporaryServer
from holo_tasks.safety.records.work_items import QueueCounts
from tests.bench.fleet.parts import REDIS, Redis, server_settings
from tests.faults.test_restarted_database import ITEMS, PATIENCE_S, fill, look, paid, pay, until, worker

pytestmark = pytest.mark.skipif(shutil.which(REDIS) is None, reason="Redis is not installed")


@flow(persist_result=False)
async def book(report: str) -> str:
    """Let Prefect's server record a flow run and its states."""
    return report


async def pay_and_book(report: str, effects: Path) -> str:
    return await book(await pay(report, effects))


paying = step(key="pay-{report}", inputs=["report"], probe=look, ledger="paying")(pay_and_book)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    redis = Redis(tmp_path / "redis")
    try:
        yield redis
    finally:
        redis.crash()


@pytest.fixture
def prefect_on_redis(redis: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Prefect server configured as one of several, except for its database."""
    settings = {name: text for name, text in server_settings("", redis.port).items() if "DATABASE" not in name}
    environ = {**os.environ, **settings, "PREFECT_HOME": str(tmp_path / "prefect")}
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "holo"))
    server = TemporaryServer(environ, login=os.environ["PREFECT_API_AUTH_STRING"])
    try:
        with temporary_settings({PREFECT_API_URL: server.wait()}):
            yield
    finally:
        server.stop()


@pytest.mark.usefixtures("prefect_on_redis")
async def test_a_restarted_redis_neither_loses_nor_doubles_an_effect(redis: Redis, tmp_path: Path) -> None:
    payments = await fill(tmp_path)
    (tmp_path / "held").touch()
    with worker(__name__) as first, worker(__name__) as second:
        until(lambda: len(paid(tmp_path)) == 2)  # both are processing an item
        assert Client(port=redis.port).dbsize(), "Prefect's server uses Redis for its messages"
        redis.crash()
        (tmp_path / "held").unlink()
        # Prefect's server then answers with errors. No run continues without it, and its item returns to the list.
        assert all(process.wait(PATIENCE_S) for process in (first, second))
    redis.start()
    with worker(__name__) as another:  # as a fan-out replaces each worker
        assert another.wait(PATIENCE_S) == 0
    assert sorted(paid(tmp_path)) == [f"R-{number}" for number in range(ITEMS)]
    assert await payments.counts() == QueueCounts(done=ITEMS)
