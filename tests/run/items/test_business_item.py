"""Sub-goals, steps and the command line end an attempt at an item alike: with a stored result, or on the list."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from holo_tasks import Hooks, InvalidUsage, NeedsPerson, current_run, pursue, step, subgoal
from holo_tasks.core.errors import StoreLost
from holo_tasks.run.hooks import ItemFinished
from holo_tasks.safety.records.items import Items
from holo_tasks.safety.records.ledger import Ledger
from tests.support.interruptions import CLICK, DONE, World, pressing

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_a_stored_result_counts_although_the_list_cannot_be_updated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*args: Any) -> bool:
        raise StoreLost("The database cannot be used.")

    press = pressing()
    with monkeypatch.context() as patch:
        patch.setattr(Items, "settle", lost)
        assert await world.run(lambda: press("I-1"), [CLICK, DONE]) == "done"
    assert world.items == []


async def test_a_sub_goal_cancelled_while_its_result_is_stored_is_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, begun, go, heard = asyncio.get_running_loop(), asyncio.Event(), threading.Event(), list[ItemFinished]()
    finish = Ledger.finish

    def slow(*args: Any) -> None:
        loop.call_soon_threadsafe(begun.set)
        go.wait(60)
        finish(*args)

    press = pressing()
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "finish", slow)
        hooks = Hooks(on_item=heard.append)
        working = asyncio.ensure_future(world.run(lambda: press("I-1"), [CLICK, DONE], hooks=hooks))
        await begun.wait()
        working.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await working
    assert [(one.key, one.status, one.layer) for one in heard] == [("I-1", "answered", "model")]
    assert world.items == []
    assert await world.run(lambda: press("I-1"), []) == "done"


async def test_an_item_of_a_step_inside_a_sub_goal_is_listed_with_the_flow_run(world: World) -> None:
    """The sub-goal's own flow run would be useless, because it cannot be started alone."""

    @step(key="{item}")
    async def send(item: str) -> str:
        raise ConnectionError("the line was cut")

    @subgoal
    async def around(item: str) -> str:
        return await send(item)

    flows: list[str] = []

    async def work() -> None:
        flows.append(current_run().flow_run_id)
        await around("I-1")

    with pytest.raises(ConnectionError):
        await world.run(work, [], in_flow=True)
    assert flows[0]
    assert [(item.goal, item.flow_run_id) for item in world.items] == [("send", flows[0])]


async def test_an_item_of_a_killed_run_is_listed_as_killed_whatever_it_raises(world: World) -> None:
    @subgoal(key="{item}")
    async def enter(item: str) -> str:
        current_run().switch.trip("test", "Enough for today.")
        raise InvalidUsage("It was cut off.")

    @subgoal(key="{item}")
    async def ask(item: str) -> str:
        current_run().switch.trip("test", "Enough for today.")
        raise NeedsPerson("It was cut off.")

    for work in (enter, ask):
        with pytest.raises((InvalidUsage, NeedsPerson, asyncio.CancelledError)):
            await world.run(lambda work=work: work("I-1"), [])
    assert {(item.goal, item.status, item.reason) for item in world.items} == {
        (goal, "killed", "Enough for today.") for goal in ("enter", "ask")
    }


async def test_a_sub_goal_without_an_item_is_not_listed(world: World) -> None:
    @subgoal
    async def plain() -> str:
        return str(await pursue("Press OK."))

    @subgoal
    async def fails() -> str:
        raise NeedsPerson("Who knows?")

    assert await world.run(plain, [CLICK, DONE]) == "done"
    with pytest.raises(NeedsPerson):
        await world.run(fails, [])
    assert world.items == []
