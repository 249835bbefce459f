"""Opens an agent on a painted desktop and a scripted model, for tests of the edge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from holo_tasks.agent.open_agent import open_agent
from holo_tasks.audit import Destination, open_trace
from holo_tasks.core.events import AnyEvent
from holo_tasks.core.ports import Desktop
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from holo_tasks.run.run import Run
from tests.support.scripted_model import ScriptedModel


@asynccontextmanager
async def agent(model: ScriptedModel, desktop: Desktop, folder: Path, **options: Any) -> AsyncIterator[Run]:
    """Open an agent that may act; options go to `open_agent`."""
    endpoint = ModelEndpoint(model.base_url, None)
    settings: dict[str, Any] = {
        "title": "a test",
        "profile": profile_for("holo3-1-35b-a3b"),
        "destination": Destination.parse(str(folder / "runs")),
        "allow": "act",
        "home": folder / "holo",
        **options,
    }
    try:
        async with open_agent(desktop=desktop, endpoint=endpoint, **settings) as run:
            yield run
    finally:
        await endpoint.close()


def events(trace: str) -> list[AnyEvent]:
    """Return a trace's events, in order."""
    return [record.event for record in open_trace(trace).records()]
