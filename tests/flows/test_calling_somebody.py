"""The shipped automations on a real server, created by Prefect's own command, and their effects."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect import flow
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import PrefectClient, get_client
from prefect.events import emit_event
from prefect.events.schemas.automations import AutomationCore
from prefect.events.worker import EventsWorker
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Failed, Running

from holo_tasks import WorkList, hand_over, step
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs
from janitor import janitor
from tests.support import warm
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.slow

SHIPPED = Path(__file__).parents[2] / "deployments"
NOBODY = "00000000-0000-0000-0000-000000000000"
SOONEST_S = 10
"""The shortest period in which Prefect can require an event."""


@step(key="{report}")
async def file(report: str) -> str:
    return report


@flow(name="is at work", persist_result=False)
async def at_work() -> None:
    """A flow that no process runs. The tests send its events."""


async def until(true: Callable[[], Any]) -> None:
    for _ in range(1200):
        if true():
            return
        await asyncio.sleep(0.1)
    pytest.fail("the condition did not hold in time")


def shipped(name: str) -> dict[str, dict[str, Any]]:
    """Return the automations of a file by name."""
    return {one["name"]: one for one in yaml.safe_load((SHIPPED / name).read_text())["automations"]}


def create(server: str, folder: Path, automations: Sequence[dict[str, Any]]) -> None:
    """Let Prefect's command create the automations on a server."""
    path = folder / "automations.yaml"
    path.write_text(yaml.safe_dump({"automations": list(automations)}))
    words = ("automation", "create", "--from-file", str(path))
    warm.run_prefect(words, {**os.environ, "PREFECT_API_URL": server})


@pytest.fixture
async def client(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PrefectClient]:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "holo"))
    with temporary_settings({PREFECT_API_URL: server}):
        await EventsWorker.drain_all(at_exit=False)  # the events client still uses the previous server
        async with get_client() as client:
            yield client
            for one in await client.read_automations():
                await client.delete_automation(one.id)
        await EventsWorker.drain_all(at_exit=False)


async def test_a_silent_run_is_marked_crashed_and_a_run_ended_by_this_library_is_not(
    client: PrefectClient, server: str, tmp_path: Path
) -> None:
    automations = shipped("automations.yaml")
    ending = automations["Holo: end runs that nobody works on any more"]
    assert ending["trigger"]["within"] > 3 * 180
    ending["trigger"]["within"] = SOONEST_S
    await asyncio.to_thread(create, server, tmp_path, list(automations.values()))
    over, gone = [await client.create_flow_run(at_work, state=Running()) for _ in range(2)]
    # The finished run is older, so the automation would mark it as crashed first if it considered it.
    for run, ago_s in ((over, 6.0), (gone, 0.0)):
        resource = {"prefect.resource.id": f"prefect.flow-run.{run.id}", "prefect.resource.name": run.name}
        at = datetime.now(UTC) - timedelta(seconds=ago_s)
        emit_event(event="prefect.flow-run.heartbeat", resource=resource, occurred=at)
    await client.set_flow_run_state(over.id, Failed(name="Needs person", message="It is on the list."))
    for _ in range(120):
        state = (await client.read_flow_run(gone.id)).state
        if state is not None and state.is_crashed():
            break
        await asyncio.sleep(1)
    else:
        pytest.fail("the silent run was not marked as crashed")
    assert "no heartbeat" in str(state.message)
    ended = (await client.read_flow_run(over.id)).state
    assert ended is not None
    assert (ended.name, ended.type.value) == ("Needs person", "FAILED")


async def test_a_person_is_called_once_an_hour_for_a_due_list(
    client: PrefectClient, server: str, tmp_path: Path
) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=20)
    with ScriptedModel(["thanks"] * 4) as phone:
        block = CustomWebhookNotificationBlock(
            name="due", url=f"{phone.base_url}/call", json_data={"said": "{{subject}}\n{{body}}"}
        )
        automations = shipped("call-somebody.yaml").values()
        assert all(one["actions"][0]["block_document_id"] == NOBODY for one in automations)
        document = str(await block.asave("due", overwrite=True))
        for one in automations:
            one["actions"][0]["block_document_id"] = document
        await asyncio.to_thread(create, server, tmp_path, list(automations))
        reports, invoices = WorkList("reports", file), WorkList("invoices", file)
        await reports.add_rows([{"report": "R-1"}, {"report": "R-2"}], deadline=soon)
        await reports.add({"report": "R-3"}, deadline=soon - timedelta(hours=2))
        await invoices.add({"report": "I-1"}, deadline=soon + timedelta(days=1))
        await janitor()
        await until(lambda: phone.requests)
        await invoices.add({"report": "I-2"}, deadline=soon)
        await janitor()
        await until(lambda: len(phone.requests) > 1)
    first, second = [call["said"] for call in phone.requests]
    assert first.startswith("3 items of reports are due within the hour\n1 of them are late.")
    assert second.startswith("1 items of invoices are due within the hour\n0 of them are late.")


@pytest.mark.long  # Prefect's events are slow if three workers share two cores
async def test_a_hand_off_calls_a_person_by_the_shipped_automation(server: str, tmp_path: Path) -> None:
    handoffs = Handoffs(store_at(tmp_path / "holo"))

    @flow(name="waits for somebody", persist_result=False)
    async def waits() -> str:
        async with agent(phone, PaintedDesktop(), tmp_path):
            return (await hand_over("Solve the captcha.")).choice

    with ScriptedModel(["thanks"]) as phone, temporary_settings({PREFECT_API_URL: server}):
        block = CustomWebhookNotificationBlock(
            name="phone", url=f"{phone.base_url}/call", json_data={"said": "{{subject}}\n{{body}}"}
        )
        automations = yaml.safe_load((SHIPPED / "call-somebody.yaml").read_text())["automations"]
        (shipped,) = (one for one in automations if one["name"] == "Holo: call somebody")
        shipped["actions"][0]["block_document_id"] = await block.asave("phone", overwrite=True)
        async with get_client() as client:
            await client.create_automation(AutomationCore.model_validate(shipped))
        running = asyncio.ensure_future(waits())
        for _ in range(1200):
            if phone.requests:
                break
            await asyncio.sleep(0.1)
        else:
            pytest.fail("nobody was called")
        (waiting,) = handoffs.waiting()
        handoffs.answer(waiting.id, "done", by="ada")
        assert await running == "done"
    (call,) = phone.requests
    assert call["said"].startswith("A person is needed by ")
    assert call["said"].endswith(
        f"\nSolve the captcha.\nPress Resume on its page in Prefect, or use "
        f"`holo-tasks handoff resume {waiting.id} --choice done`, until {waiting.expires_at}."
    )
