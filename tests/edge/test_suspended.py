"""Once Prefect has suspended a flow run nothing more is done in it, whatever becomes of the news on the way out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from holo_tasks import hand_over, pursue
from holo_tasks.run import Run
from holo_tasks.suspending import Suspended
from tests.support.agents import agent, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

NEWS = Suspended("abcd-efgh", "Hand-off abcd-efgh: May it be filed?")


async def suspend(run: Run) -> None:
    """Do what `hand_over` does once Prefect has accepted."""
    run.suspended = NEWS
    raise NEWS


async def by_itself(run: Run) -> None:
    await suspend(run)


async def in_a_group(run: Run) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(suspend(run))


async def among_results(run: Run) -> None:
    await asyncio.gather(suspend(run), return_exceptions=True)


async def behind_another_error(run: Run) -> None:
    try:
        await suspend(run)
    finally:
        raise RuntimeError("while it was being left")


async def run_with(model: ScriptedModel, folder: Path, work: Callable[[Run], Awaitable[None]]) -> None:
    async with agent(model, PaintedDesktop(), folder) as run:
        await work(run)


@pytest.mark.parametrize("work", [by_itself, in_a_group, among_results, behind_another_error])
async def test_the_run_ends_suspended(tmp_path: Path, work: Callable[[Run], Awaitable[None]]) -> None:
    with ScriptedModel([]) as model, pytest.raises(Suspended) as raised:
        await run_with(model, tmp_path, work)
    assert raised.value is NEWS
    (trace,) = (tmp_path / "runs").iterdir()
    (closed,) = [event for event in events(str(trace)) if event.kind == "run_closed"]
    assert (closed.status, closed.reason) == (
        "needs_person",
        "The flow run is suspended. Hand-off abcd-efgh: May it be filed?",
    )


@pytest.mark.parametrize("next_one", [lambda: pursue("Go on."), lambda: hand_over("And this one?")])
async def test_who_works_beside_it_gets_the_screen_no_more(
    tmp_path: Path, next_one: Callable[[], Awaitable[object]]
) -> None:
    async def work(run: Run) -> None:
        await among_results(run)
        with pytest.raises(Suspended):
            await next_one()

    with ScriptedModel([step("answer", content="done")]) as model, pytest.raises(Suspended):
        await run_with(model, tmp_path, work)
    assert model.requests == []
