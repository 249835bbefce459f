"""The shipped automation calls somebody when a run waits for a person."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml
from prefect import flow
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import get_client
from prefect.events.schemas.automations import AutomationCore
from prefect.settings import PREFECT_API_URL, temporary_settings

from holo_tasks import hand_over
from holo_tasks.safety.handoffs import Handoffs
from holo_tasks.safety.store import store_at
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel

SHIPPED = Path(__file__).parents[2] / "deployments" / "call-somebody.yaml"


@pytest.mark.long  # Prefect's events take their time where three workers share two cores
async def test_a_hand_off_calls_somebody_by_the_shipped_automation(server: str, tmp_path: Path) -> None:
    handoffs = Handoffs(store_at(tmp_path / "holo"))

    @flow(name="waits for somebody", persist_result=False)
    async def waits() -> str:
        async with agent(phone, PaintedDesktop(), tmp_path):
            return (await hand_over("Solve the captcha.")).choice

    with ScriptedModel(["thanks"]) as phone, temporary_settings({PREFECT_API_URL: server}):
        block = CustomWebhookNotificationBlock(
            name="phone", url=f"{phone.base_url}/call", json_data={"said": "{{subject}}\n{{body}}"}
        )
        automations = yaml.safe_load(SHIPPED.read_text())["automations"]
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
