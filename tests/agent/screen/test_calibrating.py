"""`calibrate` measures a real desktop through all doors, is cached by its setting, and corrects a model's offset."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_tasks import InvalidUsage, SubgoalOptions, calibrate, localize, pursue
from holo_tasks.agent.screen.calibrate import GRID
from holo_tasks.cli.doctor.findings import Chain, Finding
from holo_tasks.cli.doctor.screen import check_screen
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.calibration import Axis, Calibration, Correction, PathError, ToolkitFactor
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.machine.home import holo_home
from holo_tasks.run.desktops.calibrations import read_stored, store
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.script import Script
from tests.support.agents import agent, events
from tests.support.command_fixtures import command
from tests.support.command_line import until
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

pytestmark = [pytest.mark.usefixtures("prefect"), pytest.mark.desktop]
SIZE = Size(800, 500)
APPS = Path(__file__).parent.parent.parent / "apps"


async def nothing(hands: Hands) -> str:
    return "by script"


def off_by(factor: float, offset: float) -> Callable[[int, dict[str, Any]], Any]:
    """Answer with the marks' positions, shifted horizontally."""

    def answer(number: int, body: dict[str, Any]) -> Any:
        asked = re.search(r"cross number (\d)", str(body["messages"]))
        if asked is None:
            return {"x": round(250 * factor + offset), "y": 500}
        row, column = divmod(int(asked[1]) - 1, 3)
        return {"x": round(1000 * GRID[column] * factor + offset), "y": round(1000 * GRID[row])}

    return answer


async def test_clicks_on_the_projects_own_window_are_measured_through_all_doors(tmp_path: Path) -> None:
    @flow(name="calibrating", persist_result=False)
    async def measuring(*refresh: bool) -> tuple[list[Calibration], str]:
        with ScriptedModel([]) as model:
            async with VirtualDesktop(size=SIZE) as desktop, agent(model, desktop, tmp_path) as run:
                return [await calibrate(refresh=anew) for anew in refresh], run.trace

    (found,), trace = await measuring(False)
    assert found.path is not None
    assert (found.path.samples, found.path.worst_px, found.path.pointer_px) == (5, 0, 0)
    assert (found.setting.display, found.setting.screen, found.notes) == ("virtual", (800, 500), ())
    kinds = [event.kind for event in events(trace)]
    assert kinds.count("action") == kinds.count("receipt") == 5
    assert read_stored(tmp_path / "holo", "virtual") == [found]
    assert read_stored(tmp_path / "holo", ":0") == []
    again, later = await measuring(False, True)
    assert again == [found, found]
    clicks = [event.kind for event in events(later)].count("action")
    assert clicks == 5, "the same setting is measured again only on request"


async def test_a_read_only_run_does_not_measure_clicks_and_says_so(tmp_path: Path) -> None:
    with ScriptedModel([]) as model:
        async with VirtualDesktop(size=Size(640, 400)) as desktop:
            for allow, samples in (("read", 0), ("act", 5)):
                async with agent(model, desktop, tmp_path, allow=allow):
                    found = await calibrate()
                assert (found.path.samples if found.path else 0) == samples, (
                    "a refused measurement is not cached for others"
                )
                assert ("the rules do not allow them" in str(found.notes)) == (not samples)
        async with agent(model, PaintedDesktop(), tmp_path):
            with pytest.raises(InvalidUsage, match="cannot be calibrated"):
                await calibrate()


async def test_a_models_proportional_error_is_corrected_after_the_calibration(tmp_path: Path) -> None:
    with ScriptedModel(off_by(0.5, 10)) as model:
        async with VirtualDesktop(size=Size(1000, 600)) as desktop, agent(model, desktop, tmp_path) as run:
            before = await localize("the button")
            found = await calibrate(model=True)
            after = await localize("the button")
    assert found.model is not None
    assert found.correction is not None
    assert found.model.before_px > 100 > 5 > found.model.after_px
    assert found.correction.x.factor == pytest.approx(0.5, abs=0.01)
    assert not found.correction.y.changes
    assert (before.x, after.x) == (135, pytest.approx(250, abs=2))
    corrections = [tuple(event.correction) for event in events(run.trace) if event.kind == "frame"]
    assert corrections[0] == ()
    assert len(corrections[-1]) == 4


async def test_a_models_correction_does_not_apply_to_a_script(tmp_path: Path) -> None:
    with ScriptedModel([step("click", element="OK", x=500, y=500), step("answer", content="done")]) as model:
        painted = PaintedDesktop()
        async with agent(model, painted, tmp_path) as run:
            run.outside = replace(run.outside, correction=Correction(x=Axis(offset=100)))
            await pursue("Press OK.")
            await pursue("Look.", options=SubgoalOptions(layers=[Script(nothing)]))
    size = (await painted.look()).size
    assert [gesture.at for gesture in painted.gestures if isinstance(gesture, Click)] == [
        Point(int(0.4 * size.width), int(0.5 * size.height))
    ]
    frames = [tuple(event.correction) for event in events(run.trace) if event.kind == "frame"]
    assert frames[0] == ("1", "100", "1", "0")
    assert frames[-1] == ()


@pytest.mark.parametrize("scale", ["1", "2"])
async def test_a_scaled_programs_positions_are_compared_with_the_x_server(tmp_path: Path, scale: str) -> None:
    done = tmp_path / "done"
    program = ["/usr/bin/python3", str(APPS / "form_gtk3.py"), str(done)]
    async with VirtualDesktop(size=Size(1200, 900), app=program, env={"GDK_SCALE": scale}) as desktop:
        with ScriptedModel([]) as model:
            async with agent(model, desktop, tmp_path):
                found = await calibrate()
        assert found.setting.scale == f"GDK_SCALE={scale}"
        (toolkit,) = found.toolkits
        assert (toolkit.factor, toolkit.samples) == (float(scale), 1)
        assert toolkit.after_px <= 3 * int(scale)
        assert (toolkit.before_px > 100) is (scale == "2")


async def test_doctor_reports_the_calibrations_of_this_display_only(
    tmp_path: Path, x_server: Callable[..., Any], display: str
) -> None:
    log, told = tmp_path / "events", list[Finding]()
    x_server(display, *command("events", log))
    await asyncio.to_thread(until, lambda: log.exists() and "mapped" in log.read_text())
    desktop = await AttachedDesktop.start(display, touches=False)
    try:
        setting = await desktop.setting()
    finally:
        await desktop.close()
    found = Calibration(setting, PathError(9, 1.0, 7.0, 1.0), (ToolkitFactor("Orders", 2.0, 3, 9.0, 0.0),))
    elsewhere = replace(found, setting=replace(setting, display=":1"), path=PathError(9, 1.0, 8.0, 1.0))
    await check_screen(Chain(["display", "input"], told.append), display, 30)
    assert "It has no calibration yet" in told[0].message
    part = replace(setting, area=(0, 0, 400, 600), scale="GDK_SCALE=2")
    of_a_part = replace(found, setting=part, path=PathError(9, 1.0, 9.0, 1.0), toolkits=())
    once = replace(found, setting=replace(setting, screen=(640, 480)), path=PathError(9, 1.0, 6.0, 1.0))
    for one in (found, elsewhere, of_a_part, once):
        store(holo_home(), one)
    await check_screen(Chain(["display", "input"], told.append), display, 30)
    assert "Clicks there land within 7 px. Orders counts 1 as 2 px." in told[2].message
    assert "GDK_SCALE=2: Clicks there land within 9 px." in told[2].message  # for example on one monitor
    assert "8 px" not in told[2].message
    assert "6 px" not in told[2].message  # measured on a screen of another size
