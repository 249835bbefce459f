"""Test that a suspended flow run does no more work, whatever happens to the exception on its way out."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks import hand_over, pursue
from holo_tasks.core.errors import StoreLost
from holo_tasks.core.person import Answer
from holo_tasks.handoff.suspend import Suspended, Suspending
from holo_tasks.run.run import Run
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoff, Handoffs
from tests.support.agents import agent, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

NEWS = Suspended("abcd-efgh", "Hand-off abcd-efgh: May it be filed?")


async def suspend(run: Run) -> None:
    """Do the same as `hand_over` after Prefect has accepted the suspension."""
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
async def test_a_suspended_run_ends_as_suspended(tmp_path: Path, work: Callable[[Run], Awaitable[None]]) -> None:
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
async def test_concurrent_work_loses_the_screen(tmp_path: Path, next_one: Callable[[], Awaitable[object]]) -> None:
    async def work(run: Run) -> None:
        await among_results(run)
        with pytest.raises(Suspended):
            await next_one()

    with ScriptedModel([step("answer", content="done")]) as model, pytest.raises(Suspended):
        await run_with(model, tmp_path, work)
    assert model.requests == []


@pytest.mark.parametrize("failing", ["find", "answer"])
async def test_an_unreachable_store_does_not_hide_an_answer(
    prefect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    handoffs = Handoffs(store_at(tmp_path / "holo"))
    desktop: Any = SimpleNamespace(rebuilt=True)
    run: Any = SimpleNamespace(
        title="", flow_run_id=failing, attempt="2", handoffs=handoffs, deployment_id="d", desktop=desktop, front=None
    )
    asking = Suspending(run, "May it?", choices=("yes", "no"))
    asked = handoffs.open(
        "May it?", ("yes", "no"), run_id="r", timeout_s=60, flow_run_id=failing, suspended=("1", asking.asked)
    )

    async def by(flow_run_id: str, attempt: str) -> str:
        return asked.id

    async def said(handoff: Handoff) -> Answer:
        return Answer("yes")

    monkeypatch.setattr("holo_tasks.handoff.suspend.begun_by", by)
    monkeypatch.setattr("holo_tasks.handoff.suspend.said_to_suspended", said)

    def lost(*args: object, **kwargs: object) -> None:
        raise StoreLost("the disk is full")

    with monkeypatch.context() as away:
        away.setattr(Handoffs, failing, lost)
        with pytest.raises(StoreLost):
            await asking.answer()
    found = await asking.answer()
    assert found
    assert (found.id, found.choice) == (asked.id, "yes")


def test_only_the_latest_attempts_questions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.handoff.suspend.MAX_ATTEMPTS", 2)
    monkeypatch.setattr("holo_tasks.handoff.suspend._asked", OrderedDict())  # other tests may have left questions

    def again(flow_run: str, question: str) -> bool:
        run: Any = SimpleNamespace(title="t", flow_run_id=flow_run, attempt="1")
        return Suspending(run, question, choices=("yes",))._again

    assert [again("a", "q"), again("a", "q"), again("a", "other"), again("b", "q")] == [False, True, False, False]
    assert (again("a", "q"), again("c", "q"), again("a", "q")) == (True, False, True)
    assert not again("b", "q"), "the attempt that asked longest ago is forgotten"
