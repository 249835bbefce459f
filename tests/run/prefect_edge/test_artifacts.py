"""Artifacts reach Prefect also if the flow run that they belong to has ended meanwhile."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from holo_tasks.run.prefect_edge.artifacts import publish_markdown
from tests.support.agents import in_a_flow
from tests.support.prefect_api import PrefectAPI

pytestmark = pytest.mark.usefixtures("prefect")


async def test_an_artifact_is_published_after_its_flow_run_has_ended(prefect_url: str) -> None:
    """The flow run closes the client that the background task has in its context."""
    ended, begun = asyncio.Event(), list[asyncio.Task[UUID | None]]()

    async def later() -> UUID | None:
        await ended.wait()
        return await publish_markdown("late-timeline", "A page.", "written after the end")

    async def work() -> None:
        begun.append(asyncio.create_task(later()))

    await in_a_flow(work)
    ended.set()
    published = await begun[0]
    (artifact,) = PrefectAPI(prefect_url).post("/artifacts/filter", {"artifacts": {"key": {"any_": ["late-timeline"]}}})
    assert artifact["id"] == str(published)
    assert artifact["flow_run_id"] is not None
