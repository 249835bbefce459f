"""Confirm rules by text hold without OCR as well: each press needs a person's approval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_tasks import NeedsPerson, pursue
from holo_tasks.agent import open_agent as edge
from holo_tasks.cli.run_command.run import rules_of
from holo_tasks.run.rules import screen_text_rules
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.policy import Rules
from holo_tasks.safety.records.approvals import Approvals
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")
TAB, DONE = step("hotkey", keys=["tab"]), step("answer", content="done")
CLICK = step("click", element="Refresh", x=500, y=500)


async def working(folder: Path, rules: Rules, *said: Any) -> PaintedDesktop:
    desktop = PaintedDesktop(frozen=True)

    @flow(name="test flow", persist_result=False)
    async def around() -> None:
        with ScriptedModel([*said]) as model:
            async with agent(model, desktop, folder, rules=rules):
                await pursue("Look.")
                await pursue("Refresh it.")

    with pytest.raises(NeedsPerson, match="holo-tasks approve 1"):
        await around()
    return desktop


async def test_without_ocr_each_press_needs_an_approval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (screen_text_rules, edge):
        monkeypatch.setattr(module, "can_read", lambda: False)
    file = tmp_path / "rules.toml"
    file.write_text('[[confirm]]\ntext = "submit"\n')
    rules = rules_of(file)
    assert rules is not None
    desktop = await working(tmp_path, rules, TAB, DONE, CLICK, DONE)
    assert len(desktop.gestures) == 1, "Tab is not a press"
    (waiting,) = Approvals(store_at(tmp_path / "holo")).waiting()
    assert "click ‘Refresh’" in waiting.words
    assert "confirm: text submit" in waiting.words
    (said,) = [record.getMessage() for record in caplog.records if "no OCR is installed to read" in record.getMessage()]
    assert "prefect-holo[rehearsal]" in said
