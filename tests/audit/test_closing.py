"""Test that a run reports that it waits for its bucket at the end."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from holo_tasks.agent import open_agent
from holo_tasks.audit import Delivery

ARRIVED = Delivery("s3://evidence/run-1", True, "")


class Slow:
    """A trace that closes only after the wait was reported."""

    uri = ARRIVED.uri

    def __init__(self) -> None:
        self.said = asyncio.Event()

    async def close(self) -> Delivery:
        await self.said.wait()
        return ARRIVED


async def test_waiting_for_a_bucket_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    trace: Any = Slow()
    said: list[str] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())
            trace.said.set()

    listening = Listening()
    monkeypatch.setattr(open_agent, "SILENT_S", 0.01)
    open_agent.logger.addHandler(listening)
    try:
        async with asyncio.timeout(30):
            assert await open_agent.close_recorder(trace) is ARRIVED
    finally:
        open_agent.logger.removeHandler(listening)
    assert said == [f"The run is over and waits for its evidence to arrive in {trace.uri}, for two minutes at most."]
    assert await open_agent.close_recorder(trace) is ARRIVED
    assert len(said) == 1
