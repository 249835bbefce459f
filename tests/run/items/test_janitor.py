"""The items, seat and run of a killed worker are released, and the work is done once by another worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holo_tasks import NOT_DONE, NotDone, WorkList, step
from holo_tasks.desktop import processes
from holo_tasks.desktop.session import leftovers
from holo_tasks.run.items.business_item import ItemRecords
from holo_tasks.safety.records.run_list import RunBook
from holo_tasks.safety.records.seats import Seats, SeatsTaken
from holo_tasks.safety.records.work_items import QueueCounts
from janitor import janitor
from tests.support import warm
from tests.support.prefect_api import PrefectAPI

ROOT = Path(__file__).parent.parent.parent.parent


async def pay(report: str, effects: Path) -> str:
    """Have an effect that must not happen twice. The process hangs after the effect for one of the items."""
    with (effects / "paid").open("a") as paid:
        paid.write(f"{report}\n")
    if report == "R-1" and not (effects / "hung").exists():
        (effects / "hung").write_text("")
        time.sleep(600)
    return report


async def paid(report: str, effects: Path) -> str | NotDone:
    lines = (effects / "paid").read_text().split() if (effects / "paid").exists() else []
    return report if report in lines else NOT_DONE


paying = step(key="pay-{report}", inputs=["report"], probe=paid, ledger="paying")(pay)


async def cleared() -> dict[str, Any]:
    """Run the janitor; leave out the leftovers of other tests' desktops."""
    return {name: value for name, value in (await janitor()).items() if name != "desktops"}


WORKER = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/flows"]
from prefect import flow
from tests.run.items.test_janitor import paying
from holo_tasks import WorkList, seat

@flow(name="paying", persist_result=False)
async def work():
    async with seat("bank"):
        async for one in WorkList("payments").map(paying):
            pass
asyncio.run(work())
"""
DESKTOP = """
import asyncio, sys
from holo_tasks.desktop import VirtualDesktop

async def main():
    desktop = await VirtualDesktop.start()
    print(desktop._child.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


async def test_the_items_seat_and_run_of_a_killed_worker_are_released(prefect: str, tmp_path: Path) -> None:
    payments = WorkList("payments")
    for number in range(3):
        await payments.add({"report": f"R-{number}", "effects": str(tmp_path)}, key=f"R-{number}")
    env = {**os.environ, "PREFECT_API_URL": prefect}  # otherwise the worker would start its own server
    with warm.ScriptPopen([sys.executable, "-c", WORKER, str(ROOT)], env=env) as worker:
        try:
            while not (tmp_path / "hung").exists():
                assert worker.poll() is None
                time.sleep(0.05)
            assert await cleared() == {}  # the worker is alive
        finally:
            worker.kill()
    held = await payments.find("R-1")
    assert held is not None
    assert held.state == "taken"
    api, store = PrefectAPI(prefect), ItemRecords.of_current_run().ledger.store
    assert api.flow_run(held.flow_run_id)["state"]["type"] == "RUNNING"
    assert await cleared() == {"items": 1, "seats": 1, "flow_runs": (held.flow_run_id,)}
    assert api.flow_run(held.flow_run_id)["state"]["type"] == "CRASHED"
    assert Seats(store).all() == [SeatsTaken("bank", 1, 0)]
    assert [one.result async for one in payments.map(paying)] == ["R-1", "R-2"]
    assert await payments.counts() == QueueCounts(done=3)
    assert (tmp_path / "paid").read_text().split() == ["R-0", "R-1", "R-2"]
    assert await cleared() == {}


async def test_an_open_run_without_a_process_is_marked_interrupted(prefect: str) -> None:
    book = RunBook(ItemRecords.of_current_run().ledger.store)
    book.began("r-1", title="t", model="m", limit_micro=None, trace="t", flow_run_id="")
    assert await cleared() == {"runs": ("r-1",)}
    assert book.latest(1)[0].status == "interrupted"
    assert await cleared() == {}


@pytest.mark.desktop
def test_the_leftovers_of_a_killed_desktop_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    owner = subprocess.Popen([sys.executable, "-c", DESKTOP], stdout=subprocess.PIPE, cwd=ROOT)
    with owner:
        try:
            assert owner.stdout is not None
            host = int(owner.stdout.readline())
            folder = next(tmp_path.glob(f"{leftovers.PREFIX}*"))
            assert folder.name not in leftovers.remove_dead_desktops()
            os.kill(owner.pid, signal.SIGSTOP)
            os.kill(host, signal.SIGKILL)
        finally:
            owner.kill()
    assert folder.exists()
    assert leftovers.remove_dead_desktops()[0] == folder.name
    assert not folder.exists()
    assert processes.processes_of_desktop(folder.name, -1) == []
