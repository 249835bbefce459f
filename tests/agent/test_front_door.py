"""Limits of a block of code and of a sub-goal, and Prefect's own options of flows and tasks."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import Flow, Task, flow
from prefect.cache_policies import INPUTS
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterParentFlowRunId

from holo_tasks import InvalidUsage, LimitReached, Limits, agent_step, is_done, limits, pursue, subgoal
from holo_tasks.agent import prefect_options
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.ledger import Ledger
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

CLICK = step("click", element="OK button", x=500, y=500)
DONE = step("answer", content="done")

pytestmark = pytest.mark.usefixtures("prefect")


async def test_inner_and_outer_limits_of_code_blocks_both_apply(tmp_path: Path) -> None:
    desktop = PaintedDesktop()

    async def acting(most: int) -> None:
        async with agent(model, desktop, tmp_path):
            with limits(max_actions=2):
                async with limits(max_actions=most):
                    await pursue("Press OK.")

    for most in (1, 9):
        with ScriptedModel([CLICK]) as model, pytest.raises(LimitReached) as caught:
            await acting(most)
        assert (caught.value.limit, caught.value.scope) == ("max_actions", "‘limits’")
    assert len(desktop.gestures) == 1 + 2


async def test_a_hung_block_is_stopped_at_its_deadline() -> None:
    with pytest.raises(LimitReached, match="‘a nap’") as caught:
        async with limits(timeout_seconds=0.05, name="a nap"):
            await asyncio.sleep(3600)
    assert caught.value.limit == "timeout_seconds"
    with pytest.raises(TimeoutError):
        async with limits(timeout_seconds=60):
            raise TimeoutError("of its own")
    with limits(timeout_seconds=60) as guard, pytest.raises(LimitReached):
        guard.check_time(time.monotonic() + 60)


async def test_each_block_of_an_item_keeps_its_own_budget_over_re_runs(tmp_path: Path) -> None:
    desktop = PaintedDesktop()

    @subgoal(key="{item}", effect=None)
    async def press(item: str) -> None:
        for _ in range(2):
            async with limits(max_actions=2):
                await pursue("Press OK.")

    async def around() -> None:
        async with agent(model, desktop, tmp_path):
            await press("I-1")

    with ScriptedModel([CLICK, DONE, CLICK, CLICK, CLICK]) as model, pytest.raises(LimitReached):
        await around()
    assert len(desktop.gestures) == 1 + 2
    with ScriptedModel([CLICK, CLICK]) as model, pytest.raises(LimitReached):
        await around()
    assert len(desktop.gestures) == 3 + 1


def test_limits_without_a_limit_are_refused() -> None:
    with pytest.raises(InvalidUsage, match="guards nothing without a limit"):
        limits()
    with pytest.raises(InvalidUsage, match="max_actions must be a whole number"):
        limits(max_actions=0.5)  # type: ignore[arg-type]


async def test_limits_of_a_sub_goal_apply_over_its_re_runs(tmp_path: Path) -> None:
    desktop = PaintedDesktop()

    @subgoal(key="{item}", effect=None, limits=Limits(max_actions=3))
    async def press(item: str) -> str:
        return str(await pursue("Press OK."))

    async def around() -> None:
        async with agent(model, desktop, tmp_path):
            await press("I-1")

    for _ in range(2):
        with ScriptedModel([CLICK]) as model, pytest.raises(LimitReached) as caught:
            await around()
        assert caught.value.scope == "‘press’"
    assert len(desktop.gestures) == 3
    Ledger(store_at(tmp_path / "holo")).free("I-1", not_done=False)
    with ScriptedModel([CLICK, DONE]) as model:
        await around()


async def test_a_sub_goal_with_a_deadline_does_not_hang(tmp_path: Path) -> None:
    @subgoal(limits=Limits(timeout_seconds=0.05))
    async def hang() -> None:
        await asyncio.sleep(3600)

    async def around() -> None:
        async with agent(model, PaintedDesktop(), tmp_path):
            await hang()

    with ScriptedModel([DONE]) as model, pytest.raises(LimitReached, match="‘hang’"):
        await around()


async def runs_inside(flow_run_id: str) -> list[Any]:
    among = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[flow_run_id]))
    async with get_client() as client:
        return await client.read_flow_runs(flow_run_filter=among)


async def test_prefects_options_of_a_flow_are_passed_on_and_its_key_is_kept(tmp_path: Path) -> None:
    ended: list[str] = []

    def note(flow: Any, flow_run: Any, state: Any) -> None:
        ended.append(f"{flow.description}: {state.name}")

    @subgoal(key="{item}", title="Read {item}", tags=["reading"], description="Reads", on_completion=[note])
    async def read(item: str) -> str:
        return str(await pursue("Read it."))

    other = read.with_options(tags=["again"], description="Reads again", log_prints=True)

    @flow(name="options", persist_result=False)
    async def around() -> tuple[str, list[bool]]:
        async with agent(model, PaintedDesktop(), tmp_path) as run:
            await read("R-1")
            known = [is_done(other, "R-1"), is_done(other, "R-2")]
            await other("R-1")
            await other("R-2")
            return run.flow_run_id, known

    with ScriptedModel([DONE]) as model:
        inside, known = await around()
    assert known == [True, False]
    tagged = {run.name: (run.tags, run.state.name) for run in await runs_inside(inside)}
    assert tagged == {"Read R-1": (["reading"], "Completed"), "Read R-2": (["again"], "Completed")}
    assert ended == ["Reads: Completed", "Reads again: Completed"]


async def looked() -> None: ...


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: subgoal(retries=2), "does not take retries=: a sub-goal acts, and the effect of"),
        (lambda: subgoal(persist_result=True), "the ledger stores the result of a sub-goal under its key="),
        (lambda: subgoal(timeout_seconds=5), r"write limits=Limits\(timeout_seconds=…\)"),
        (lambda: subgoal(flow_run_name="x"), "title= is the name of its runs"),
        (lambda: subgoal(looked).with_options(retries=2), "does not take retries="),
        (lambda: subgoal(nonsense=1), "has no option nonsense=; of Prefect's it takes: description, "),
        (lambda: agent_step(acts=True, retries=2), "a step that acts is tried once"),
        (lambda: agent_step(acts=True, cache_policy=INPUTS), "cannot be cached or kept"),
        (lambda: agent_step(acts=True, persist_result=True), "only with a cache_policy="),
        (lambda: agent_step(acts=False, retry_condition_fn=print), "HoloError.transient"),
        (lambda: agent_step(acts=True)(looked).with_options(retries=2), "a step that acts is tried once"),
        (lambda: agent_step(acts=False, nonsense=1), "has no option nonsense="),
    ],
)
def test_an_option_that_conflicts_with_a_guarantee_is_refused_with_the_reason(
    made: Callable[[], Any], why: str
) -> None:
    with pytest.raises(InvalidUsage, match=why):
        made()


def test_prefect_knows_every_option_that_is_passed_on_to_it() -> None:
    assert prefect_options.FLOW_OPTIONS - {"tags"} <= inspect.signature(Flow).parameters.keys()
    taken = prefect_options.TASK_OPTIONS | prefect_options.LOOKING_OPTIONS
    assert taken <= inspect.signature(Task).parameters.keys()
    assert taken - {"version"} <= inspect.signature(Task.with_options).parameters.keys()


def test_prefects_options_of_a_task_are_passed_on() -> None:
    looking: Any = agent_step(acts=False, tags=["look"], retry_delay_seconds=1, timeout_seconds=9)(looked)
    assert (looking.tags, looking.retries, looking.retry_delay_seconds) == ({"look"}, 4, 1)
    acting: Any = agent_step(acts=True, tags=["act"], log_prints=True)(looked)
    assert (acting.tags, acting.retries, acting.log_prints, acting.persist_result) == ({"act"}, 0, True, False)
    cached: Any = agent_step(acts=False, cache_policy=INPUTS)(looked)
    assert (cached.persist_result, cached.result_serializer) == (True, "json")
