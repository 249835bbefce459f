"""Hand-offs in flows on a real Prefect server: both ways to answer, and what happens when nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect import flow

from holo_tasks import Answer, hand_over
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.handoffs import Handoff, Handoffs
from holo_tasks.safety.store import store_at
from tests.support.agents import agent, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")


class HeldDesktop(PaintedDesktop):
    """Says when the agent was kept away."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    async def hold(self) -> None:
        self.told.append("hold")

    async def release(self) -> None:
        self.told.append("release")


class Stage:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.desktop = folder, url, HeldDesktop()
        self.handoffs = Handoffs(store_at(folder / "holo"))
        self.trace = ""
        self.flow_run = ""
        self.model = ScriptedModel([step("ask_human", question="Solve the captcha."), step("answer", content="done")])

    def flow(self, work: Callable[[], Awaitable[Any]], **options: Any) -> Awaitable[Any]:
        """Begin a flow with an agent around some work."""

        @flow(name="handing over", persist_result=False)
        async def around() -> Any:
            with self.model:
                async with agent(self.model, self.desktop, self.folder, **options) as run:
                    self.trace, self.flow_run = run.trace, run.flow_run_id
                    return await work()

        return asyncio.ensure_future(around())

    async def waiting(self) -> Handoff:
        """Wait until a person is asked."""
        for _ in range(600):
            if found := self.handoffs.waiting():
                return found[0]
            await asyncio.sleep(0.05)
        raise AssertionError("nobody was asked")

    async def state(self, kind: str) -> dict[str, Any]:
        """Wait until the flow run is in a state of some kind."""
        for _ in range(600):
            found: dict[str, Any] = httpx.get(f"{self.url}/flow_runs/{self.flow_run}").json()
            if found["state"]["type"] == kind:
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(found["state"])

    def resume(self, **said: Any) -> dict[str, Any]:
        """Answer as Prefect's form does."""
        body = {"run_input": said}
        told: dict[str, Any] = httpx.post(f"{self.url}/flow_runs/{self.flow_run}/resume", json=body).json()
        return told


@pytest.fixture
def stage(tmp_path: Path, prefect: str) -> Stage:
    return Stage(tmp_path, prefect)


async def test_the_form_of_prefect_answers_and_the_command_line_comes_too_late(stage: Stage) -> None:
    running = stage.flow(lambda: hand_over("Solve the captcha.", choices=("done", "give up")))
    handoff = await stage.waiting()
    paused = await stage.state("PAUSED")
    assert handoff.id in paused["state"]["message"]
    assert stage.resume(choice="whatever")["status"] == "REJECT"
    assert stage.resume(choice="done", note="it was a bus")["status"] == "ACCEPT"
    assert await running == Answer("done", "it was a bus", "somebody in Prefect's pages")
    await stage.state("COMPLETED")
    assert stage.desktop.told == ["hold", "release"]
    with pytest.raises(InvalidUsage, match="was answered already: ‘done’ by somebody"):
        stage.handoffs.answer(handoff.id, "done", by="ada")
    told = [event for event in events(stage.trace) if event.kind in ("handoff", "taken_back")]
    assert [event.handoff for event in told] == [handoff.id, handoff.id]  # type: ignore[union-attr]
