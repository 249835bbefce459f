"""The network access of a program, set by the desktop's block or overridden by the agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agent
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.run.run import current_run
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step


async def test_the_agents_network_overrides_the_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    async def start(**options: Any) -> PaintedDesktop:
        asked.append((options["network"], options["folders"]))
        return PaintedDesktop()

    monkeypatch.setattr("holo_blocks.desktop.VirtualDesktop.start", start)
    desktop = HoloDesktop(app="portal", network="none", folders={"/data": "read"})
    with ScriptedModel([step("answer", content="done")]) as served:
        model, audit = HoloModel(base_url=served.base_url), AuditBucket(local_folder=str(tmp_path))
        for network in (None, ["portal.example:443"]):
            async with holo_agent("look", model=model, desktop=desktop, audit=audit, network=network):
                await current_run().desktop.look()
        with pytest.raises(InvalidUsage, match="hosts with their ports"):
            async with holo_agent("look", model=model, desktop=desktop, audit=audit, network="portal.example"):
                pytest.fail("it began")
        seen = HoloDesktop(app="portal", network="none", folders={str(tmp_path): "read"})
        with pytest.raises(InvalidUsage, match="the evidence of this run"):
            async with holo_agent("look", model=model, desktop=seen, audit=audit):
                pytest.fail("it began")
    assert asked == [("none", {"/data": "read"}), ("portal.example:443", {"/data": "read"})]
    assert HoloDesktop(app="portal").network == "host"


async def test_a_borrowed_display_cannot_isolate_programs() -> None:
    with pytest.raises(InvalidUsage, match="on which it starts no program"):
        await HoloDesktop(display=":99", network="none").start({})
