"""Test how attempts of a suspended flow run are matched with their answers, and that the first answer counts."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import AwaitingRetry, Failed, Pending, Running, Scheduled

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.handoff.pause import Pausing
from holo_tasks.handoff.resume import begun_by, resume_suspended, said_to_suspended
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoff, Handoffs
from tests.support.outage import Outage

CHOICES = ("yes", "no")


@flow
def nothing() -> None:
    pass


@dataclass
class Suspended:
    """A deployment's flow run in an attempt that was suspended for a hand-off."""

    handoffs: Handoffs
    flow_run: str = ""

    async def begin(self) -> None:
        async with get_client() as client:
            deployment = await client.create_deployment(await client.create_flow(nothing), str(uuid.uuid4()))
            self.flow_run = str((await client.create_flow_run_from_deployment(deployment)).id)
        await self.into(Pending(), Running())

    async def into(self, *states: Any, force: bool = False) -> str:
        """Set the flow run to some states. Return the id of the last state."""
        async with get_client() as client:
            for state in states:
                told = await client.set_flow_run_state(uuid.UUID(self.flow_run), state, force=force)
                assert told.status == "ACCEPT", told
        assert told.state
        return str(told.state.id)

    async def ask(self) -> tuple[Handoff, Pausing]:
        asked = self.handoffs.open(
            "May it?", CHOICES, run_id="r", timeout_s=60, flow_run_id=self.flow_run, suspended=("attempt", "asked")
        )
        pausing = Pausing(asked.id, CHOICES, "", "May it?")
        assert await pausing.suspend(self.flow_run, 60) == ""
        return asked, pausing


@pytest.fixture
async def run(prefect: str, tmp_path: Path) -> Suspended:
    made = Suspended(Handoffs(store_at(tmp_path / "holo")))
    await made.begin()
    return made


async def test_an_answer_starts_exactly_one_attempt(run: Suspended) -> None:
    asked, _ = await run.ask()
    await resume_suspended(asked, "yes", "a note")
    assert await begun_by(run.flow_run, await run.into(Pending(), Running())) == asked.id
    said = await said_to_suspended(asked)
    assert said
    assert (said.choice, said.note) == ("yes", "a note")
    assert await begun_by(run.flow_run, await run.into(Failed(), AwaitingRetry(), Pending(), Running())) == ""


@pytest.mark.parametrize("states", [[Failed(), AwaitingRetry()], [Scheduled()]], ids=["not answered in time", "forced"])
async def test_an_attempt_without_an_answer_has_no_suspension(run: Suspended, states: list[Any]) -> None:
    first, _ = await run.ask()
    await resume_suspended(first, "yes", "")
    await run.into(Pending(), Running())
    await run.ask()  # this suspension gets no answer
    attempt = await run.into(*states, Pending(), Running(), force=True)
    assert await begun_by(run.flow_run, attempt) == ""


async def test_the_first_answer_counts_and_later_ones_are_refused(run: Suspended) -> None:
    asked, _ = await run.ask()
    await resume_suspended(asked, "no", "first")
    for choice in CHOICES:
        with pytest.raises(InvalidUsage, match="was answered already: ‘no’ by somebody in Prefect's pages"):
            await resume_suspended(asked, choice, "first")
    assert run.handoffs.find(asked.id).state == "open", "the run must find the answer that Prefect has"


async def test_a_refused_answer_has_a_reason_and_closes_nothing(run: Suspended) -> None:
    asked, _ = await run.ask()
    await run.into(Failed(), force=True)
    with pytest.raises(InvalidUsage, match=r"takes no answer: its flow run .* is Failed"):
        await resume_suspended(asked, "yes", "")
    elsewhere = run.handoffs.open(
        "May it?", CHOICES, run_id="r", timeout_s=60, flow_run_id=str(uuid.uuid4()), api_url="http://there/api",
        suspended=("attempt", "asked"),
    )  # fmt: skip
    with pytest.raises(InvalidUsage, match="PREFECT_API_URL must be http://there/api"):
        await resume_suspended(elsewhere, "yes", "")
    assert [one.state for one in map(run.handoffs.find, (asked.id, elsewhere.id))] == ["open", "open"]


async def test_an_outage_is_waited_out_but_a_refusal_is_final(
    run: Suspended, prefect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holo_tasks.handoff.pause.RETRY_S", 0.0)  # as if the retry time had passed
    away = Outage(prefect)
    away.cut("refused")
    with temporary_settings({PREFECT_API_URL: away.url, PREFECT_CLIENT_MAX_RETRIES: 0}):
        asking = asyncio.create_task(run.ask())
        await asyncio.sleep(4)
        assert not asking.done()
        away.mend()
        asked, _ = await asking
    await resume_suspended(asked, "yes", "")
    gone = Pausing("another", CHOICES, "", "May it?")
    assert "404" in await gone.suspend(str(uuid.uuid4()), 60), "the run is not suspended, so the process waits"


async def test_an_unconfirmed_suspension_is_recognized_on_retry(run: Suspended) -> None:
    asked, pausing = await run.ask()
    assert await pausing.suspend(run.flow_run, 60) == ""
    await resume_suspended(asked, "yes", "")
    assert await pausing.suspend(run.flow_run, 60) == "", "even if the suspension has ended"
    assert await Pausing("another", CHOICES, "", "").suspend(run.flow_run, 60) != ""
