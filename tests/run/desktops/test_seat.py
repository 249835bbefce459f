"""Seats limit the holders over all machines, and a holder that loses its seat stops."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agents
from holo_tasks import InvalidUsage, Killed, Seat, pursue, seat, subgoal
from holo_tasks.run.desktops import seat as seats_module
from holo_tasks.run.items.business_item import ItemRecords
from holo_tasks.safety.database.store import Store
from holo_tasks.safety.records import ledger as ledgers
from holo_tasks.safety.records.ledger import CLAIMS
from holo_tasks.safety.records.seats import GOAL, Seats, SeatsTaken
from tests.agent.test_many_desktops import Shop, clicks
from tests.support import warm
from tests.support.agents import agents
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel
from tests.support.spending import PROFILE, open_store

pytestmark = pytest.mark.usefixtures("prefect")
ROOT = Path(__file__).parent.parent.parent.parent
DYING = """
import sys, time
sys.path.insert(0, sys.argv[2])
from tests.support.spending import open_store
from holo_tasks.safety.records.ledger import Ledger
with Ledger(open_store(sys.argv[1])).claim("seat:SAP login#1", "seat"):
    print("there", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats_module, "LOOK_S", 0.05)
    monkeypatch.setattr(ledgers, "RENEW_S", 0.05)


def take_over(store: Store) -> None:
    """Take over the seat as another machine does after missed renewals."""
    with store.transaction() as db:
        mine = CLAIMS.c.token.startswith("seat:") & (CLAIMS.c.holder != "")
        db.execute(sa.update(CLAIMS).where(mine).values(epoch=CLAIMS.c.epoch + 1, holder="another machine|1|1"))


async def test_seats_limit_the_holders_and_the_others_wait() -> None:
    there = most = 0

    async def work() -> None:
        nonlocal there, most
        async with seat("SAP login", of=2):
            there += 1
            most = max(most, there)
            await asyncio.sleep(0.05)
            there -= 1

    await asyncio.gather(*(work() for _ in range(5)))
    assert most == 2
    store = ItemRecords.of_current_run().ledger.store
    assert Seats(store).all() == [SeatsTaken("SAP login", 2, 0)]
    async with seat(Seat("SAP login", 2)):
        assert Seats(store).all() == [SeatsTaken("SAP login", 2, 1)]
        with pytest.raises(InvalidUsage, match="not 3: 1 are taken"):
            async with seat("SAP login", of=3):
                pass
    async with seat("SAP login", of=3):  # all seats are free, so their number may change
        assert Seats(store).all() == [SeatsTaken("SAP login", 3, 1)]
    with pytest.raises(InvalidUsage, match="seats of one name"):
        Seat("SAP login", 0)


async def test_the_seat_of_a_killed_process_is_released(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(store_url)
    monkeypatch.setenv("HOLO_DATABASE_URL", store_url)
    seats = Seats(store)
    seats.declare(Seat("SAP login"))
    with warm.ScriptPopen([sys.executable, "-c", DYING, store_url, str(ROOT)], stdout=subprocess.PIPE) as dying:
        assert dying.stdout is not None
        dying.stdout.readline()
        assert seats.release_lapsed() == 0
        dying.kill()
    assert seats.all() == [SeatsTaken("SAP login", 1, 1)]
    assert seats.release_lapsed() == 1
    assert seats.all() == [SeatsTaken("SAP login", 1, 0)]
    async with seat("SAP login"):
        with store.transaction() as db:
            epoch = db.execute(sa.select(CLAIMS.c.epoch).where(CLAIMS.c.goal == GOAL)).scalar_one()
    assert epoch == 3  # former holders are fenced out


async def test_an_item_that_loses_its_seat_stops_and_the_others_go_on(tmp_path: Path) -> None:
    @subgoal(title="File {item}", key="{item}")
    async def file(item: str) -> str:
        if item == "alone":
            return str(await pursue("Press OK."))
        async with seat("SAP login"):
            await pursue("Press OK.")
            await asyncio.to_thread(take_over, store)
            await asyncio.sleep(60)  # the item is stopped here
            return str(await pursue("Press OK."))

    store, shop, told = ItemRecords.of_current_run().ledger.store, Shop(), {}

    async def whole() -> None:
        async with agents(model, shop.start, tmp_path, desktops=2, profile=PROFILE) as opened:
            async for one in opened.map(file, ["seated", "alone"]):
                told[one.item] = one

    with ScriptedModel(clicks(1)) as model:
        await whole()
    assert isinstance(told["seated"].error, Killed)
    assert "Its seat of SAP login was taken over by another worker" in str(told["seated"].error)
    assert told["alone"].result == "done"


async def test_open_desktops_are_limited_by_the_seats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    up: list[PaintedDesktop] = []
    most, both = 0, asyncio.Event()

    class Counted(PaintedDesktop):
        async def close(self) -> None:
            up.remove(self)

    async def start(*given: object, **named: object) -> PaintedDesktop:
        nonlocal most
        up.append(Counted())
        most = max(most, len(up))
        return up[-1]

    @subgoal(title="File {item}", key="{item}")
    async def file(item: str) -> str:
        answer = str(await pursue("Press OK."))
        if len(up) == 2:
            both.set()
        await both.wait()
        return answer

    async def whole() -> list[str]:
        asked = {"model": HoloModel(base_url=model.base_url, model="holo3-1-35b-a3b"), "desktop": HoloDesktop(app="x")}
        opening = holo_agents(
            "list", desktops=3, fresh="item", seat=Seat("SAP login", 2), allow="act",
            audit=AuditBucket(local_folder=str(tmp_path / "runs")), **asked,
        )  # type: ignore[arg-type]  # fmt: skip
        async with opening as opened:
            return [one.result async for one in opened.map(file, ["1", "2", "3", "4"])]

    monkeypatch.setattr(HoloDesktop, "start", start)
    with ScriptedModel(clicks(1)) as model:
        assert await whole() == ["done"] * 4
    assert most == 2
    assert up == []
    assert Seats(ItemRecords.of_current_run().ledger.store).all() == [SeatsTaken("SAP login", 2, 0)]
