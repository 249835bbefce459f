"""If a server goes away after a run has acted, the run does not end as Unavailable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect import flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName
from prefect.client.schemas.objects import State

from holo_tasks import HoloError, InvalidUsage, NeedsPerson, cost_guardrail, pursue, subgoal
from holo_tasks.audit import Destination
from holo_tasks.cli.run_command import flow as run_flow
from holo_tasks.cli.run_command.settings import Settings
from holo_tasks.core.errors import DatabaseAway, StoreLost, Unavailable
from holo_tasks.models.profile import profile_for
from holo_tasks.run.prefect_edge.unreported_runs import report_noted
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.budgets import Budgets
from holo_tasks.safety.records.run_list import RunBook
from tests.support.agents import agent
from tests.support.interruptions import CLICK, DONE, World, pressing
from tests.support.scripted_model import ScriptedModel


@pytest.fixture
def world(tmp_path: Path, prefect: str) -> World:
    return World(tmp_path)


@pytest.fixture
def goes_away(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the database unavailable after the first action."""
    real = Budgets.count_action

    async def count(self: Budgets, guard: Any) -> None:
        if world.desktop.gestures:
            raise DatabaseAway("The database is away.")
        await real(self, guard)

    monkeypatch.setattr(Budgets, "count_action", count)


def status(world: World) -> str:
    """Return the status of the last run."""
    return RunBook(store_at(world.folder / "holo")).latest(1)[0].status


@subgoal
async def plain() -> str:
    return str(await pursue("Press OK."))


@subgoal
async def stops_between() -> str:
    await pursue("Press OK.")
    raise Unavailable("Prefect does not give a block.")


@subgoal(key="I-1")
async def kept_stops_between() -> str:
    await pursue("Press OK.")
    raise Unavailable("Prefect does not give a block.")


@subgoal(key="I-1", effect=None)
async def looks() -> str:
    return str(await pursue("Press OK."))


async def by_itself() -> str:
    return str(await pursue("Press OK."))


@pytest.mark.usefixtures("goes_away")
@pytest.mark.parametrize(("work", "script", "raised", "ends"), [
    (by_itself, [CLICK, CLICK], NeedsPerson, "needs_person"),
    (plain, [CLICK, CLICK], NeedsPerson, "needs_person"),
    (stops_between, [CLICK, DONE], NeedsPerson, "needs_person"),
    (kept_stops_between, [CLICK, DONE], NeedsPerson, "needs_person"),
    (looks, [CLICK, CLICK], StoreLost, "invalid"),
])  # fmt: skip
async def test_work_with_an_action_does_not_end_as_unavailable(
    world: World, work: Any, script: list[Any], raised: type[HoloError], ends: str
) -> None:
    with pytest.raises(raised, match=r"away|block") as caught:
        await world.run(work, script, in_flow=work is by_itself)
    assert (caught.value.status, status(world)) == (ends, ends)
    assert ("after 1 action" in str(caught.value)) == (raised is NeedsPerson)
    assert len(world.desktop.gestures) == 1
    assert [item.status for item in world.items] == (["needs_person"] if work is kept_stops_between else [])


async def test_work_with_model_calls_only_ends_as_unavailable(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*args: Any) -> None:
        raise DatabaseAway("The database is away.")

    monkeypatch.setattr(Budgets, "count_action", away)
    with pytest.raises(Unavailable):
        await world.run(plain, [CLICK])
    assert (world.cost, status(world)) == ((1, 0), "unavailable")


@pytest.mark.usefixtures("goes_away")
async def test_a_run_with_a_finished_item_does_not_end_as_unavailable(world: World) -> None:
    press = pressing()

    async def both() -> None:
        await press("I-1")
        await press("I-2")

    with pytest.raises(StoreLost) as caught:
        await world.run(both, [CLICK, DONE, CLICK])
    assert (caught.value.status, status(world)) == ("invalid", "invalid")
    assert world.items == [], "each of them can simply be run again"


async def test_a_flow_whose_first_agent_has_acted_does_not_end_as_unavailable(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(book: RunBook) -> None:
        if world.desktop.gestures:
            raise DatabaseAway("The database is away.")

    monkeypatch.setattr(RunBook, "check", away)
    monkeypatch.setenv("HOLO_PATIENCE", "0")

    @flow(persist_result=False)
    @cost_guardrail(max_actions=9)
    async def two() -> None:
        for _ in range(2):
            async with agent(model, world.desktop, world.folder):
                await plain()

    with ScriptedModel([CLICK, DONE]) as model:
        state: State[Any] = await two(return_state=True)
    assert state.name == "Invalid"
    with pytest.raises(StoreLost):
        await state.aresult()


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_flow_run_that_could_not_begin_is_resumed_or_ended(
    world: World, monkeypatch: pytest.MonkeyPatch, comes_back: bool
) -> None:
    monkeypatch.setenv("HOLO_PATIENCE", "300" if comes_back else "0")
    goal, real, away = f"Press {world.folder}.", PrefectClient.set_flow_run_state, [1]

    async def busy(self: PrefectClient, *args: Any, **options: Any) -> Any:
        if away:
            away.pop()
            raise httpx.ConnectError("away")
        return await real(self, *args, **options)

    monkeypatch.setattr(PrefectClient, "set_flow_run_state", busy)
    where, home = Destination.parse(str(world.folder / "runs")), world.folder / "holo"
    with ScriptedModel([DONE]) as model:
        settings = Settings(goal, model.base_url, profile_for("rehearsal"), where, home=home)
        if comes_back:
            assert (await run_flow.run_goal(settings, world.desktop)).status == "answered"
        else:
            with pytest.raises(Unavailable):
                await run_flow.run_goal(settings, world.desktop)
            assert "ended as Unavailable" in " ".join(await report_noted(home))
    async with get_client() as client:
        found = await client.read_flow_runs(flow_run_filter=FlowRunFilter(name=FlowRunFilterName(any_=[goal])))
    assert [one.state and one.state.name for one in found] == ["Completed" if comes_back else "Unavailable"]


async def test_a_goal_that_has_begun_does_not_end_as_unavailable(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*args: Any) -> Any:
        raise httpx.ConnectError("gone")

    monkeypatch.setattr(run_flow, "_claimed", broken)
    where, home = Destination.parse(str(world.folder / "runs")), world.folder / "holo"
    settings = Settings("Press OK.", "http://127.0.0.1:9/v1", profile_for("rehearsal"), where, home=home)
    with pytest.raises(InvalidUsage, match="gone") as caught:
        await run_flow.run_goal(settings, world.desktop)
    assert not isinstance(caught.value, Unavailable)
