"""Read the events that a Prefect server has received, as automations do."""

from __future__ import annotations

import asyncio
from typing import Any

from prefect.client.orchestration import get_client
from prefect.events.filters import EventFilter, EventNameFilter, EventOccurredFilter


async def payload_of(name: str, flow_run_id: str) -> dict[str, Any]:
    """Wait for an event of a flow run, and return its payload."""
    resource = f"prefect.flow-run.{flow_run_id}"
    wanted = EventFilter(event=EventNameFilter(name=[name]), occurred=EventOccurredFilter())
    body = {"filter": wanted.model_dump(mode="json"), "limit": 50}
    async with get_client() as client:
        for _ in range(100):
            page = (await client._client.post("/events/filter", json=body)).json()
            for found in page["events"]:
                if found["resource"]["prefect.resource.id"] == resource:
                    payload: dict[str, Any] = found["payload"]
                    return payload
            await asyncio.sleep(0.2)
    raise AssertionError(f"no event {name} arrived; the server keeps events only for tests with the fixture `recorded`")
