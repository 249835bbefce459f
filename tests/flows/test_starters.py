"""Restrictions on a user who starts a flow run and chooses the goal, the blocks and the file names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.states import State

from holo_blocks import AuditBucket, HoloDesktop, HoloModel
from holo_tasks.audit.pages.page import is_page
from holo_tasks.safety.policy import Rules
from run_goal import run_goal
from tests.support.agents import events
from tests.support.scripted_model import ScriptedModel, step

pytestmark = [pytest.mark.slow, pytest.mark.desktop]


async def blocks(model: ScriptedModel, folder: Path, rules: Rules | None = None) -> dict[str, str]:
    for block in (
        HoloModel(base_url=model.base_url, model="holo3-1-35b-a3b"),
        HoloDesktop(app="xterm", rules=rules),
        AuditBucket(local_folder=str(folder)),
    ):
        await block.asave("starters", overwrite=True)
    return dict.fromkeys(("model", "desktop", "audit"), "starters")


async def test_a_goal_becomes_one_line_of_a_page_in_the_deployments_folder(
    prefect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLO_REPORTS", str(tmp_path / "reports"))
    goal = "Answer ok.\nimport os;os.system('id')\n." + "x" * 3000
    with ScriptedModel([step("answer", content="ok")]) as model:
        names = await blocks(model, tmp_path / "runs")
        state: State[Any] = await run_goal(goal=goal, report="a.html", **names, return_state=True)
    assert state.is_completed()
    (page,) = (tmp_path / "reports").iterdir()
    assert page.name == "a.html"
    assert is_page(page)
    assert state.state_details.flow_run_id is not None
    async with get_client() as client:
        shown = (await client.read_flow_run(state.state_details.flow_run_id)).name
    assert len(shown) <= 200
    assert "\n" not in shown
    (trace,) = (tmp_path / "runs").iterdir()
    (opened,) = [event for event in events(str(trace)) if event.kind == "subgoal_opened"]
    assert len(opened.title) <= 200
    assert "\n" not in opened.title
    assert opened.goal == goal


async def test_a_read_only_desktop_block_stays_read_only_whatever_the_run_parameters(
    prefect: str, tmp_path: Path
) -> None:
    with ScriptedModel([step("write", content="rm -rf /tmp/x"), step("answer", content="done")]) as model:
        names = await blocks(model, tmp_path / "runs", Rules.read({"trust": "read"}))
        state: State[Any] = await run_goal(goal="Type it.", allow="act", **names, return_state=True)
    assert state.is_failed()
    assert state.message is not None
    assert "read-only" in state.message
