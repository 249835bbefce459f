"""Decorators keep signatures: `make check` reads this file with mypy --strict, and nothing runs it.

A line that must be wrong says so in a ``type: ignore``, which mypy reports where it is not needed.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import assert_type

from holo_blocks import holo_agent, holo_agents
from holo_tasks import (
    Answer,
    Effect,
    Hooks,
    Limits,
    NotDone,
    Outcome,
    Script,
    StepTaken,
    SubgoalOptions,
    agent_step,
    cost_guardrail,
    flow,
    hand_over,
    is_done,
    limits,
    pursue,
    step,
    subgoal,
)
from holo_tasks.core.limits.budget import Guard
from holo_tasks.run.run import Run


async def look(item: str, amount: int) -> float | NotDone | None:
    return None


@subgoal
async def bare(item: str, amount: int = 0) -> float:
    answer: float = await pursue("Add it.", returns=float, options=SubgoalOptions(layers=["model", "person"]))
    return answer


@subgoal(
    key="{item}",
    effect=Effect(probe=look, press_once=("Save",)),
    layers=["model", lambda item, amount: Script("ledger.playbook.yaml", "add", item=item), "person"],
    limits=Limits(max_cost_usd=0.5),
    tags=["ledger"],
)
@cost_guardrail(max_actions=5)
async def full(item: str, *, amount: int) -> float:
    return await bare(item, amount)


@agent_step(acts=False, tags=["look"])
async def asked(item: str) -> bool:
    return bool(item)


@step(key="{item}")
async def sent(item: str) -> int:
    return 1


@cost_guardrail(timeout_seconds=5)
def summed(item: str) -> list[int]:
    return []


@flow
def counted(item: str) -> int:
    return 1


@flow(name="Add", flow_run_name="{item}", retries=1)
@cost_guardrail(max_actions=5)
async def added(item: str) -> float:
    return 0.0


async def decorators_keep_arguments_and_results() -> None:
    assert_type(bare("I-1", 2), Awaitable[float])
    assert_type(await bare("I-1", amount=2), float)
    assert_type(await full("I-1", amount=2), float)
    assert_type(await full.with_options(tags=["again"])("I-1", amount=2), float)
    assert_type(await asked("I-1"), bool)
    assert_type(await sent("I-1"), int)
    assert_type(counted("I-1"), int)
    assert_type(await added("I-1"), float)
    assert_type(summed("I-1"), list[int])
    assert_type(is_done(full, "I-1", amount=2), bool)


async def wrong_calls_are_found() -> None:
    await bare(1)  # type: ignore[arg-type]
    await bare("I-1", total=2)  # type: ignore[call-arg]
    await full("I-1", 2)  # type: ignore[call-arg]
    await asked()  # type: ignore[call-arg]
    await sent("I-1", 2)  # type: ignore[call-arg]
    summed(1)  # type: ignore[arg-type]
    subgoal(layers=["modell"])  # type: ignore[list-item]
    subgoal(effect=False)  # type: ignore[call-overload]
    agent_step()  # type: ignore[call-arg]


async def what_a_flow_opens() -> None:
    def count(taken: StepTaken) -> None: ...

    async with holo_agent(
        "nightly", model="holo", desktop="ledger", audit="evidence", hooks=Hooks(on_step=count)
    ) as run:
        assert_type(run, Run)
    async with holo_agents("all", desktops=2, model="holo", desktop="ledger", audit="evidence", limits=None) as agents:
        async for one in agents.map(bare, ["I-1"]):
            assert_type(one, Outcome[str, float])
            assert_type(one.result, float)
        agents.map(bare, [1])  # type: ignore[arg-type]
    with limits(max_cost_usd=0.5) as guard:
        assert_type(guard, Guard)
    async with limits(timeout_seconds=60) as guard:
        assert_type(guard, Guard)
    assert_type(await hand_over("Solve it.", timeout_seconds=60), Answer)
    await holo_agent("nightly", model="holo", desktop="ledger", audit="evidence")  # type: ignore[misc]
