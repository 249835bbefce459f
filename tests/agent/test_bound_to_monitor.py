"""An agent on one of several monitors: its pictures show that monitor, and coordinates go through them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agent
from holo_tasks import InvalidUsage, current_run, localize, pursue
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from tests.support.agents import agent, events
from tests.support.painted_desktop import SIZE, PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")
MONITOR = Box(SIZE.width // 2, 10, SIZE.width // 2, 100)


class Bound(PaintedDesktop):
    async def look(self, *args: Any, **kwargs: Any) -> Frame:
        return replace(await super().look(*args, **kwargs), monitor=MONITOR)


async def test_pictures_show_the_monitor_and_coordinates_go_through_them(tmp_path: Path) -> None:
    said = [step("click", element="OK", x=0, y=0), step("click", element="OK", x=1000, y=1000)]
    desktop = Bound()
    with ScriptedModel([*said, step("answer", content="done")]) as model:
        async with agent(model, desktop, tmp_path) as run:
            assert await pursue("Press OK.") == "done"
            with pytest.raises(InvalidUsage, match="is not on the agent's monitor, which is"):
                await pursue("Press OK.", region=Box(0, 0, 100, 100))
    corners = [Point(MONITOR.left, MONITOR.top), Point(MONITOR.right - 1, MONITOR.bottom - 1)]
    assert [gesture.at for gesture in desktop.gestures if isinstance(gesture, Click)] == corners
    regions = {tuple(event.region) for event in events(run.trace) if event.kind == "frame"}
    assert regions == {(MONITOR.left, MONITOR.top, MONITOR.width, MONITOR.height)}


async def test_a_region_is_a_part_of_the_monitor(tmp_path: Path) -> None:
    part = Box(MONITOR.left + 10, MONITOR.top + 10, 50, 50)
    with ScriptedModel([{"x": 0, "y": 0}]) as model:
        async with agent(model, Bound(), tmp_path):
            assert await localize("the corner", region=part) == Point(part.left, part.top)


async def test_the_agents_monitor_overrides_the_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    async def start(**options: Any) -> PaintedDesktop:
        asked.append(options["monitor"])
        return PaintedDesktop()

    monkeypatch.setattr("holo_blocks.desktop.AttachedDesktop.start", start)
    with ScriptedModel([step("answer", content="done")]) as served:
        model, audit = HoloModel(base_url=served.base_url), AuditBucket(local_folder=str(tmp_path))
        for monitor in ("", 2):
            desktop = HoloDesktop(display=":99", monitor="HDMI-1")
            async with holo_agent("look", model=model, desktop=desktop, audit=audit, monitor=monitor):
                await current_run().desktop.look()
    assert asked == ["HDMI-1", "2"]
