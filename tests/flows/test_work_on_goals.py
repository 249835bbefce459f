"""Goals in plain words on a list: each is pursued once, on any free desktop."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_blocks import AuditBucket, HoloDesktop, HoloModel
from holo_tasks import WorkList
from tests.support.scripted_model import ScriptedModel, step
from work_on_goals import work_on_goals

pytestmark = [pytest.mark.slow, pytest.mark.desktop]


async def test_goals_of_a_list_are_each_pursued_once(prefect: str, tmp_path: Path) -> None:
    goals = WorkList("goals")
    await goals.add({"goal": "Look at the first.", "token": "first"}, key="first")
    await goals.add({"goal": "Look at the second.", "token": "second"}, key="second", priority="high")
    await goals.add({"goal": "Look at what nobody can name."}, key="third")
    with ScriptedModel([step("answer", content="seen"), step("answer", content="seen")]) as model:
        for block in (
            HoloModel(base_url=model.base_url, model="holo3-1-35b-a3b"),
            HoloDesktop(app="xterm"),
            AuditBucket(local_folder=str(tmp_path / "runs")),
        ):
            await block.asave("goals", overwrite=True)
        names = dict.fromkeys(("model", "desktop", "audit"), "goals")
        assert await work_on_goals(desktops=1, **names) == {"done": 2, "not done": 1}
        assert await work_on_goals(desktops=1, **names) == {"done": 0, "not done": 0}
        asked = [str(request["messages"][1]["content"]) for request in model.requests]
    assert ["second" in asked[0], "first" in asked[1], len(asked)] == [True, True, 2]
    counts = await goals.counts()
    assert (counts.done, counts.failed) == (2, 1)
    third = await goals.find("third")
    assert third is not None
    assert "token" in third.reason
