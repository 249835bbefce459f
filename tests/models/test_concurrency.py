"""Many conversations on one client: they share connections, run concurrently and do not mix."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from holo_tasks.audit import Destination
from holo_tasks.audit.recorder import new_run_id
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.core.prompts.transcript import Transcript
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.services import Services
from holo_tasks.loop.walk import Walk
from holo_tasks.models.build_model import model_at
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.encoding import ENCODERS
from holo_tasks.models.profile import profile_for
from holo_tasks.safety.policy import Rules
from holo_tasks.safety.redaction import NothingToRedact
from tests.support.conformance import ConformanceServer
from tests.support.painted_desktop import PaintedDesktop

MANY, STEPS = 10, 3
CLICK = {"tool": "click", "element": "OK", "x": 500, "y": 500}


async def converse(endpoint: ModelEndpoint, number: int, folder: Path) -> tuple[str, int]:
    """Hold one conversation without Prefect; return the answer and the number of gestures."""
    desktop = PaintedDesktop()
    recorder = Destination.parse(str(folder / "runs")).open(new_run_id(), home=folder)
    services = Services(
        desktop=desktop,
        redactor=NothingToRedact(),
        encoder=ENCODERS["default"],
        model=model_at(endpoint, profile_for("holo3-1-35b-a3b")),
        policy=Rules(trust="act"),
        recorder=recorder,
        now_s=time.monotonic,
    )
    walk = Walk(
        services, Guard("conversation", Limits(), time.monotonic()), 1, Transcript(f"Press OK, number {number}.")
    )

    async def decide(walk: Walk, answer_only: bool) -> object:
        return await walk.decide(answer_only=answer_only)

    found = await pursue(Executor(walk, Walk.act), read=str, decide=decide, max_steps=10)  # type: ignore[arg-type]
    await recorder.close()
    return found.value, len(desktop.gestures)


async def test_ten_conversations_share_the_connections_of_one_client(tmp_path: Path) -> None:
    script = [CLICK] * (STEPS - 1) + [{"tool": "answer", "content": "done"}]
    with ConformanceServer(script, latency_s=0.3) as server:
        endpoint = ModelEndpoint(server.base_url, None)
        results = await asyncio.gather(*(converse(endpoint, number, tmp_path) for number in range(MANY)))
        await endpoint.close()
    assert results == [("done", STEPS - 1)] * MANY
    assert len(server.requests) == MANY * STEPS
    assert server.connections <= MANY
    assert server.most_in_flight > MANY // 2
