"""Work that was done before starts nothing, and is reported by one log line, one record and one table."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterParentFlowRunId
from prefect.runtime import flow_run

from holo_tasks import progress, pursue, subgoal
from holo_tasks.audit.pages.report import write_report
from holo_tasks.core.errors import StoreLost, TokenConflict
from holo_tasks.core.events import RunClosed, Skipped, SubgoalOpened
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.items import Items
from tests.support.agents import agent, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")


@subgoal(title="Read {item}", key="{item}")
async def read(item: str, hint: str = "") -> str:
    return str(await pursue(f"Read {item}. {hint}"))


def answers(number: int) -> list[dict[str, Any]]:
    return [step("answer", content=f"answer {n}") for n in range(number)]


async def audit(folder: Path, model: ScriptedModel, *items: str) -> tuple[list[str], str, str]:
    """Work on a list in a flow; return the answers, the trace and the flow run's id."""

    @flow(name="audit", persist_result=False)
    async def around() -> tuple[list[str], str, str]:
        async with agent(model, PaintedDesktop(), folder) as run:
            with progress(len(items)):
                return [await read(item) for item in items], run.trace, str(flow_run.id)

    return await around()


async def children(flow_run_id: str) -> list[str]:
    among = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[flow_run_id]))
    async with get_client() as client:
        return sorted(run.name for run in await client.read_flow_runs(flow_run_filter=among))


async def test_finished_work_starts_nothing_and_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, prefect_url: str
) -> None:
    with ScriptedModel(answers(4)) as model:
        first, before, _ = await audit(tmp_path, model, "R-1", "R-2", "R-3")
        with caplog.at_level(logging.INFO):
            caplog.clear()
            second, trace, parent = await audit(tmp_path, model, "R-1", "R-2", "R-new", "R-3")
    assert second == [*first[:2], "answer 3", first[2]]
    assert await children(parent) == ["Read R-new"]
    told = [event for event in events(trace) if isinstance(event, Skipped | SubgoalOpened | RunClosed)]
    assert [event.kind for event in told] == ["skipped", "subgoal_opened", "skipped", "run_closed"]
    assert isinstance(told[0], Skipped)
    assert [(one.token, one.goal, one.title, one.trace) for one in told[0].items] == [
        (item, "read", f"Read {item}", before) for item in ("R-1", "R-2")
    ]
    assert isinstance(told[1], SubgoalOpened)
    assert (told[1].subgoal, told[1].progress) == (1, "step 3 of 4: Read R-new"), "skipped work counts as steps"
    said = [record.message for record in caplog.records if record.message.startswith("Already done")]
    assert said == [
        "Already done and not repeated: 2 items, the last one R-2.",
        f"Already done for R-3; evidence: {before}",
    ]
    run_id = Path(trace).name
    (table,) = PrefectAPI(prefect_url).post(
        "/artifacts/filter", {"artifacts": {"key": {"any_": [f"done-before-{run_id}"]}}}
    )
    assert table["flow_run_id"] == parent
    assert [row["item"] for row in json.loads(table["data"])] == ["R-1", "R-2", "R-3"]
    page = write_report(Path(trace), tmp_path / "page.html").read_text(encoding="utf-8")
    assert "3 items that earlier runs had finished" in page


async def test_skipped_work_is_removed_from_the_dead_letter_list(tmp_path: Path) -> None:
    items = Items(store_at(tmp_path / "holo"))
    with ScriptedModel(answers(1)) as model:
        await audit(tmp_path, model, "R-1")
        for goal in ("read", "other"):
            items.file("R-1", goal, status="killed", reason="?", trace="", flow_run_id="", how={})
        await audit(tmp_path, model, "R-1")
    assert [item.goal for item in items.all()] == ["other"], "the finished work is removed, other work stays"


async def test_a_token_with_other_inputs_is_not_skipped(tmp_path: Path) -> None:
    with ScriptedModel(answers(1)) as model:
        await audit(tmp_path, model, "R-1")

        @flow(name="other", persist_result=False)
        async def other() -> str:
            async with agent(model, PaintedDesktop(), tmp_path):
                with pytest.raises(TokenConflict):
                    await read("R-1", "another question")
                return str(flow_run.id)

        assert await children(await other()) == ["Read R-1"], "Prefect has a run for the conflict"


async def test_a_skipped_call_returns_a_state_on_request(tmp_path: Path) -> None:
    with ScriptedModel(answers(1)) as model:
        await audit(tmp_path, model, "R-1")

        @flow(name="state", persist_result=False)
        async def around() -> Any:
            async with agent(model, PaintedDesktop(), tmp_path):
                call: Any = read
                return await (await call("R-1", return_state=True)).aresult()

        assert await around() == "answer 0"


async def test_many_skips_are_recorded_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.run.items.skipping.AT_ONCE", 2)
    names = [f"R-{n}" for n in range(5)]
    with ScriptedModel(answers(5)) as model:
        await audit(tmp_path, model, *names)
        _, trace, _ = await audit(tmp_path, model, *names)
    parts = [event.items for event in events(trace) if isinstance(event, Skipped)]
    assert [[one.token for one in part] for part in parts] == [names[:2], names[2:4], names[4:]]


@pytest.mark.parametrize("killed", [False, True])
async def test_a_lost_database_prevents_neither_the_record_nor_the_end_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    def lost(self: Items, works: object) -> None:
        raise StoreLost("The database is away.")

    @flow(name="lost", persist_result=False)
    async def around() -> str:
        async with agent(model, PaintedDesktop(), tmp_path) as run:
            traces.append(run.trace)
            monkeypatch.setattr(Items, "settle_all", lost)
            found = await read("R-1")
            if killed:
                run.switch.trip("test", "enough")
                await asyncio.sleep(60)
            return found

    traces: list[str] = []
    with ScriptedModel(answers(1)) as model:
        await audit(tmp_path, model, "R-1")
        if killed:
            with pytest.raises(asyncio.CancelledError, match="enough"):
                await around()
        else:
            assert await around() == "answer 0"
    told = [event.kind for event in events(traces[0])]
    assert told[-1] == "run_closed"
    assert "skipped" in told
