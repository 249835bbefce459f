"""A deployment's runs work through a list: enough runs for the ready items, each begun once, until all items ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterKey,
    FlowRunFilter,
    FlowRunFilterDeploymentId,
)
from prefect.client.schemas.objects import FlowRun, State
from prefect.client.schemas.sorting import ArtifactSort
from prefect.states import Completed, Crashed, Failed, Running

from holo_tasks import InvalidUsage, LimitReached, NeedsPerson, WorkList, step
from holo_tasks.agent.lists import fan_out
from holo_tasks.run.items.business_item import ItemRecords
from holo_tasks.safety.records.work_items import GOAL, WorkItems, new_worker
from work_through import add_table, add_to_list, work_through

Batch = Callable[[int, FlowRun], Awaitable[State[Any]]]

pytestmark = pytest.mark.usefixtures("prefect")


@step(key="check-{report}")
async def check(report: str) -> str:
    return report.upper()


@flow(name="checking", persist_result=False)
async def checking(work_list: str, most: int) -> None:
    """The deployed flow; the tests do its work themselves."""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fan_out, "POLL_S", 0.05)


async def worked(_: int, run: FlowRun) -> State[Any]:
    async for _one in WorkList(run.parameters["work_list"]).map(check, most=run.parameters["most"]):
        pass
    return Completed()


@asynccontextmanager
async def workers(name: str, batch: Batch) -> AsyncIterator[list[FlowRun]]:
    """Do the runs of a deployment as workers would, all at once, in this process."""
    had: list[FlowRun] = []

    async def do(client: PrefectClient, number: int, run: FlowRun) -> None:
        await client.set_flow_run_state(run.id, Running(), force=True)
        await client.set_flow_run_state(run.id, await batch(number, run), force=True)

    async with get_client() as client:
        flow_id = await client.create_flow(checking)
        deployment = await client.create_deployment(flow_id, name=name)
        these = FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=[deployment]))

        async def work() -> None:
            async with asyncio.TaskGroup() as group:
                while True:
                    for run in await client.read_flow_runs(flow_run_filter=these):
                        if run.id not in {known.id for known in had}:
                            had.append(run)
                            group.create_task(do(client, len(had), run))
                    await asyncio.sleep(0.05)

        working = asyncio.create_task(work())
        try:
            yield had
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working


async def test_runs_are_started_for_ready_items_until_every_item_ended() -> None:
    reports = WorkList("some", check)
    await reports.add_rows([{"report": str(number)} for number in range(5)])

    async def lost_at_first(number: int, run: FlowRun) -> State[Any]:
        if number > 1:
            return await worked(number, run)
        ledger = ItemRecords.of_current_run().ledger
        with ledger.claim("worker:gone", "work list") as claim:
            await asyncio.to_thread(_take, claim)
        return Crashed(message="The process was killed.")

    async with workers("some", lost_at_first) as had:
        counted = await work_through("some", "checking/some", batch=2, at_once=2)
    assert counted == {"done": 5, "failed": 0, "exhausted": 0, "person": 0}
    assert 3 <= len(had) <= 5
    assert all(run.parameters == {"work_list": "some", "most": 2} for run in had)
    lost = [item.tries for number in range(5) if (item := await reports.find(f"check-{number}")) is not None]
    assert sorted(lost) == [0, 0, 0, 0, 1]
    async with get_client() as client:
        (table,) = await client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=["fleet-some"])),
            sort=ArtifactSort.CREATED_DESC,
            limit=1,
        )
    rows = {row["what"]: row["number"] for row in json.loads(str(table.data))}
    assert rows["done"] == rows["done in the last hour"] == 5


async def test_a_run_on_a_dead_machine_is_replaced() -> None:
    reports = WorkList("dead", check)
    await reports.add_rows([{"report": str(number)} for number in range(2)])

    async def dead_at_first(number: int, run: FlowRun) -> State[Any]:
        if number > 1:
            return await worked(number, run)
        with ItemRecords.of_current_run().ledger.claim(new_worker(str(run.id)), GOAL) as claim:
            await asyncio.to_thread(_take, claim, "dead")
        await asyncio.Event().wait()  # its end is never reported to Prefect
        raise AssertionError

    async with workers("dead", dead_at_first) as had, asyncio.timeout(60):
        counts = await fan_out.fan_out("dead", "checking/dead", batch=2, at_once=1)
        assert (counts.done, len(had)) == (2, 2)
    async with get_client() as client:
        state = (await client.read_flow_run(had[0].id)).state
    assert state is not None
    assert state.is_crashed()


async def test_a_dead_run_is_replaced_while_items_are_ready() -> None:
    """At that time less than a batch is ready and one item is in progress, which is still work for two runs."""
    reports = WorkList("places", check)
    await reports.add_rows([{"report": str(number)} for number in range(6)])
    half, again = asyncio.Event(), asyncio.Event()

    async def one_dies(number: int, run: FlowRun) -> State[Any]:
        if number == 1:
            async for _one in WorkList("places").map(check, most=3):
                pass
            half.set()
            await again.wait()
            return Completed()
        await half.wait()
        if number == 2:
            return Crashed(message="The process was killed.")
        done = await worked(number, run)
        again.set()  # not earlier: before this run has taken an item, a fourth run would see one ready
        return done

    async with workers("places", one_dies) as had, asyncio.timeout(20):
        counts = await fan_out.fan_out("places", "checking/places", batch=4, at_once=2)
    assert (counts.done, len(had)) == (6, 3)


def _take(claim: Any, name: str = "some") -> None:
    assert WorkItems(claim.ledger.store).take(name, claim) is not None


async def test_a_retried_run_starts_no_batch_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = WorkList("twice", check)
    await reports.add({"report": "1"})
    monkeypatch.setattr(fan_out, "flow_run_id", lambda: "")
    monkeypatch.setattr(fan_out, "new_run_id", lambda: "the same one")
    async with workers("twice", worked) as had:
        await fan_out.fan_out("twice", "checking/twice")
        await reports.add({"report": "2"})
        with_old = asyncio.create_task(fan_out.fan_out("twice", "checking/twice"))
        await with_old
    assert len(had) == 2  # the first batch of the retry is the one that it began before, and is over


async def test_fruitless_or_limited_batches_end_the_fan_out() -> None:
    await WorkList("vain", check).add({"report": "1"})

    async def nothing(number: int, run: FlowRun) -> State[Any]:
        return Failed(message="There is no such block.")

    async with workers("vain", nothing) as had:
        with pytest.raises(NeedsPerson, match="no such block"):
            await fan_out.fan_out("vain", "checking/vain")
    assert len(had) == fan_out.MOST_FAILED_IN_A_ROW

    async def limited(number: int, run: FlowRun) -> State[Any]:
        return Failed(name="Limit: max_cost_usd", message="It costs too much.")

    async with workers("limited", limited) as had:
        with pytest.raises(LimitReached, match="costs too much"):
            await fan_out.fan_out("vain", "checking/limited")
    assert len(had) == 1
    with pytest.raises(InvalidUsage, match="no deployment"):
        await fan_out.fan_out("vain", "checking/none")
    with pytest.raises(InvalidUsage, match="not a priority"):
        await fan_out.fan_out("vain", "checking/vain", queues={"urgent": "q"})  # type: ignore[dict-item]


async def test_items_come_from_a_form_and_from_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLO_REPORTS", str(tmp_path))
    (tmp_path / "reports.csv").write_text("report\n17\n18\n")
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert await add_to_list("both", "check-17", {"report": "17"}, priority="high", deadline=noon)
    assert await add_table("both", "reports.csv", "check-{report}") == 1
    found = await WorkList("both").find("check-17")
    assert found is not None
    assert (found.priority, found.due) == ("high", "2030-01-01T12:00:00+00:00")
    with pytest.raises(InvalidUsage, match="not a file's name"):
        await add_table("both", "../reports.csv", "check-{report}")
