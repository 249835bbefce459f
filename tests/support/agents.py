"""Open an agent on a painted desktop with a scripted model, for tests of the Prefect-facing code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from prefect import flow

from holo_tasks.agent.open_agent import open_agent
from holo_tasks.agent.open_agents import Agents, open_agents
from holo_tasks.audit import Destination, open_trace
from holo_tasks.core.events import AnyEvent
from holo_tasks.core.ports import Desktop
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from holo_tasks.run.run import Run
from holo_tasks.run.run_options import RunOptions
from tests.support.scripted_model import ScriptedModel

T = TypeVar("T")
NAMES = {field.name for field in fields(RunOptions)}


@asynccontextmanager
async def agent(model: ScriptedModel, desktop: Desktop, folder: Path, **options: Any) -> AsyncIterator[Run]:
    """Open an agent with permission to act. Options go to `RunOptions` and `open_agent`."""
    endpoint = ModelEndpoint(model.base_url, None)
    try:
        async with open_agent(desktop=desktop, endpoint=endpoint, **_settings(folder, options)) as run:
            yield run
    finally:
        await endpoint.close()


@asynccontextmanager
async def agents(
    model: ScriptedModel, start: Callable[[], Awaitable[Any]], folder: Path, **options: Any
) -> AsyncIterator[Agents]:
    """Open several agents with permission to act. Options go to `RunOptions` and `open_agents`."""
    endpoint = ModelEndpoint(model.base_url, None)
    try:
        async with open_agents(start=start, endpoint=endpoint, **_settings(folder, options)) as opened:
            yield opened
    finally:
        await endpoint.close()


async def in_a_flow(work: Callable[[], Awaitable[T]], name: str = "test flow") -> T:
    """Run some work in a flow of its own.

    Use it only for behaviour that depends on a flow, or for work outside sub-goals. Starting and ending a flow takes
    Prefect as long as a whole sub-goal, and sub-goals and steps do not need one.
    """

    @flow(name=name, persist_result=False)
    async def around() -> T:
        return await work()

    return await around()


def _settings(folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": "a test",
        "profile": profile_for("holo3-1-35b-a3b"),
        "destination": Destination.parse(str(folder / "runs")),
        "home": folder / "holo",
        "options": RunOptions(**{"allow": "act"} | {name: options.pop(name) for name in NAMES & options.keys()}),
        **options,
    }


def events(trace: str) -> list[AnyEvent]:
    """Return a trace's events, in order."""
    return [record.event for record in open_trace(trace).records()]
