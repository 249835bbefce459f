"""The database of a fleet restarts while its workers process items: each effect happens once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL

from holo_tasks import NOT_DONE, NotDone, WorkList, step
from holo_tasks.safety.records.work_items import QueueCounts
from tests.support import warm
from tests.support.postgres import Postgres

pytestmark = pytest.mark.usefixtures("prefect")
ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 120.0
ITEMS = 4


async def pay(report: str, effects: Path) -> str:
    """Have an effect that must happen once, then wait for as long as a file exists."""
    with (effects / "paid").open("a") as paid:
        paid.write(f"{report}\n")
    while (effects / "held").exists():
        time.sleep(0.02)
    return report


async def look(report: str, effects: Path) -> str | NotDone:
    return report if report in paid(effects) else NOT_DONE


paying = step(key="pay-{report}", inputs=["report"], probe=look, ledger="paying")(pay)

WORKER = """
import asyncio, importlib, sys
sys.path[:0] = [sys.argv[1], *(sys.argv[1] + below for below in ("/flows", "/flows/demo"))]
from holo_tasks import WorkList
paying = importlib.import_module(sys.argv[2]).paying


async def work():
    async for one in WorkList("payments", pause_s=0).map(paying, to_the_end=True):
        pass
asyncio.run(work())
"""


def paid(effects: Path) -> list[str]:
    return (effects / "paid").read_text().split() if (effects / "paid").exists() else []


def until(true: Callable[[], object]) -> None:
    """Wait until a condition holds, with a time limit."""
    end_s = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.05)


@contextmanager
def worker(module: str = __name__) -> Iterator[subprocess.Popen[bytes]]:
    """Process the list in another process, with a module's ``paying`` flow."""
    served = str(PREFECT_API_URL.value())  # otherwise it would start its own server
    env = {**os.environ, "PREFECT_API_URL": served, "HOLO_PATIENCE": str(PATIENCE_S)}
    with warm.ScriptPopen([sys.executable, "-c", WORKER, str(ROOT), module], env=env) as process:
        try:
            yield process
        finally:
            process.kill()


async def fill(effects: Path, items: int = ITEMS) -> WorkList:
    payments = WorkList("payments")
    for number in range(items):
        await payments.add({"report": f"R-{number}", "effects": str(effects)}, key=f"R-{number}")
    return payments


async def test_a_restarted_database_neither_loses_nor_doubles_an_effect(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLO_DATABASE_URL", postgres.new_database())
    payments = await fill(tmp_path)
    (tmp_path / "held").touch()
    with worker() as first, worker() as second:
        until(lambda: len(paid(tmp_path)) == 2)  # both are processing an item
        postgres.crash()
        try:
            (tmp_path / "held").unlink()  # now they want to record the outcome
        finally:
            postgres.start()
        assert [process.wait(PATIENCE_S) for process in (first, second)] == [0, 0]
    assert sorted(paid(tmp_path)) == [f"R-{number}" for number in range(ITEMS)]
    # Effects during the outage are done, or a person is asked. No item is left over or lost.
    counts = await payments.counts()
    assert counts == QueueCounts(done=ITEMS - counts.person, person=counts.person)
    assert counts.person <= 2
