"""Test hand-offs while Prefect's server is unreachable: the wait continues, and one answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from holo_tasks import Answer, NeedsPerson, hand_over
from holo_tasks.cli.kill import kill
from holo_tasks.handoff import pause as pausing
from holo_tasks.handoff.suspend import Suspending
from tests.handoff.test_handoff import Stage
from tests.support.long import few
from tests.support.outage import How, Outage

HOWS: list[How] = ["refused", "hangs"]


@pytest.fixture(scope="module")
def way(prefect_url: str) -> Outage:
    return Outage(prefect_url)


@pytest.fixture
def outage(way: Outage, prefect: str) -> Iterator[Outage]:
    """The connection to Prefect of all but the test itself."""
    with temporary_settings({PREFECT_API_URL: way.url}):
        yield way
        way.mend()


@pytest.fixture
def stage(outage: Outage, prefect: str, tmp_path: Path) -> Stage:
    return Stage(tmp_path, prefect)


async def test_the_form_can_be_answered_when_prefect_is_back(stage: Stage, outage: Outage) -> None:
    running = stage.flow(lambda: hand_over("Solve the captcha."))
    await stage.waiting()
    await stage.state("PAUSED")
    for how in HOWS:
        outage.cut(how)
        await asyncio.sleep(2)  # the form is polled each second
        assert stage.desktop.held
        outage.mend()
    assert stage.resume(choice="done", note="a bus")["status"] == "ACCEPT"
    assert await running == Answer("done", "a bus", "somebody in Prefect's pages")
    assert stage.desktop.told == ["hold", "release"]
    await stage.state("COMPLETED")


@pytest.mark.parametrize("how", few(HOWS))
async def test_an_answer_from_a_shell_ends_the_pause_when_prefect_is_back(
    stage: Stage, outage: Outage, how: How
) -> None:
    async def work() -> Answer:
        answer = await hand_over("Solve the captcha.")
        assert stage.prefect.flow_run(stage.flow_run)["state"]["type"] == "PAUSED", "it was away"
        outage.mend()
        await stage.state("RUNNING")
        assert stage.resume(choice="give up")["status"] == "ABORT", "an answer in the form would be ignored"
        return answer

    running = stage.flow(work)
    handoff = await stage.waiting()
    await stage.state("PAUSED")
    outage.cut(how)
    stage.handoffs.answer(handoff.id, "done", by="ada")
    assert await running == Answer("done", "", "ada")


@pytest.mark.parametrize("how", few(HOWS))
async def test_no_answer_during_an_outage_raises_needs_person(stage: Stage, outage: Outage, how: How) -> None:
    async def work() -> None:
        try:
            await hand_over("Solve it.", timeout_seconds=3)
        finally:
            assert stage.desktop.told == ["hold", "release"]
            outage.mend()

    running = stage.flow(work)
    handoff = await stage.waiting()
    await stage.state("PAUSED")
    outage.cut(how)
    with pytest.raises(NeedsPerson, match="was not answered within"):
        await running
    assert stage.handoffs.find(handoff.id).state == "expired"
    await stage.state("FAILED")


@pytest.mark.parametrize("how", few(HOWS))
async def test_the_run_is_paused_when_prefect_is_back(
    stage: Stage, outage: Outage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: How
) -> None:
    monkeypatch.setattr(pausing, "PATIENCE_S", 1.0)

    async def work() -> Answer:
        outage.cut(how)
        return await hand_over("Solve the captcha.")

    running = stage.flow(work)
    for _ in range(400):
        if "does not pause the run yet" in caplog.text:
            break
        await asyncio.sleep(0.05)
    outage.mend()
    await stage.state("PAUSED")
    assert stage.resume(choice="done")["status"] == "ACCEPT"
    assert (await running).choice == "done"


async def test_a_late_answer_in_the_form_is_logged_as_ignored(
    stage: Stage, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    running = stage.flow(lambda: hand_over("Solve the captcha."))
    handoff = await stage.waiting()
    await stage.state("PAUSED")
    outage.cut("refused")
    assert stage.resume(choice="give up")["status"] == "ACCEPT"
    stage.handoffs.answer(handoff.id, "done", by="ada")
    await asyncio.sleep(1)
    outage.mend()
    assert (await running).choice == "done"
    assert "The answer ‘give up’, given in Prefect's pages, does not count." in caplog.text
    assert "was answered already: ‘done’ by ada" in caplog.text


@pytest.mark.parametrize("how", few(HOWS))
async def test_a_waiting_run_can_be_killed_during_an_outage(stage: Stage, outage: Outage, how: How) -> None:
    running = stage.flow(lambda: hand_over("Solve it."))
    handoff = await stage.waiting()
    await stage.state("PAUSED")
    outage.cut(how)
    said = await asyncio.to_thread(kill, stage.folder / "holo", stage.flow_run, "enough")
    assert [line.split()[1] for line in said.lines] == ["stopped"]
    assert stage.handoffs.find(handoff.id).state == "killed"
    assert stage.desktop.told == ["hold"], "neither the agent nor the person has the input"
    outage.mend()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_suspending_run_can_be_killed_during_an_outage(
    stage: Stage, outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing_said(self: Suspending) -> None:
        outage.cut("refused")

    monkeypatch.setattr(Suspending, "hindrance", lambda self: "")  # pretend that it is a run of a deployment
    monkeypatch.setattr(Suspending, "answer", nothing_said)
    running = stage.flow(lambda: hand_over("May it be filed?", suspend=True))
    handoff = await stage.waiting()
    said = await asyncio.to_thread(kill, stage.folder / "holo", stage.flow_run, "enough")
    assert [line.split()[1] for line in said.lines] == ["stopped"]
    outage.mend()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stage.handoffs.find(handoff.id).state == "killed"
