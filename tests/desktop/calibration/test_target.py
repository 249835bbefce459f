"""Where clicks land on our own test window, and the conditions under which a calibration of a real desktop is valid."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.desktop.calibration.click_window import dpi_of, scale_of
from tests.support.monitors import set_monitors, set_resources


async def test_a_click_is_measured_on_the_target_window_and_reaches_no_program(probe: Any, tmp_path: Any) -> None:
    log, points = tmp_path / "log", [Point(5, 5), Point(320, 240), Point(639, 479)]
    async with VirtualDesktop(size=Size(640, 480), app=probe("events", log)) as desktop:
        before = await desktop.look()
        told = log.read_text() if log.exists() else ""
        await desktop.open_target(points)
        assert (await desktop.look()).digest != before.digest
        for point in points:
            await desktop.do(Click(point))
            found = await desktop.target()
            assert (found.presses, found.pointer, found.box) == ((point,), point, Box(0, 0, 640, 480))
        await desktop.close_target()
        assert (await desktop.look(after_action=True)).digest == before.digest
        assert [line for line in log.read_text().removeprefix(told).splitlines() if '"press"' in line] == []
        with pytest.raises(InvalidUsage, match="No target window"):
            await desktop.target()
        setting = await desktop.setting()
        assert (setting.display, setting.window_manager, setting.scale) == ("virtual", "Openbox", "")
        assert (setting.area, setting.screen) == ((0, 0, 640, 480), (640, 480))


@pytest.mark.parametrize(
    ("resources", "dpi", "scale"),
    [
        ("", None, 1.0),
        ("Xft.dpi:\t120", 120.0, 1.25),
        ("Xcursor.size: 24\nXft.dpi: 100.8\n", 100.8, 1.05),
        ("Xft.dpi: lots", None, 1.0),
        ("Xft.dpi: nan", None, 1.0),
        ("Xft.dpi: 1e300", None, 1.0),
        ("Xft.dpi: -96", None, 1.0),
    ],
)
def test_a_fractional_scale_is_parsed_and_an_invalid_one_is_none(
    resources: str, dpi: float | None, scale: float
) -> None:
    assert (dpi_of(resources), scale_of(resources)) == (dpi, scale)


SCALES = (1.0, 1.25, 1.5, 2.0)
LAYOUTS = (
    ({"ONE": Box(0, 0, 1280, 720)}, 1, SCALES[2:3]),
    ({"LEFT": Box(0, 0, 640, 720), "RIGHT": Box(640, 0, 640, 720)}, 2, SCALES[1:2]),
    ({"UPPER": Box(0, 0, 800, 320), "LOWER": Box(333, 320, 647, 400)}, 2, SCALES),
)


async def test_clicks_land_under_any_scale_on_any_monitor() -> None:
    """Tries all scales, with monitors at odd positions."""
    async with VirtualDesktop(size=Size(1280, 720)) as display:
        for boxes, number, scale in [(boxes, number, scale) for boxes, number, scales in LAYOUTS for scale in scales]:
            set_monitors(display, boxes)
            set_resources(display, f"Xft.dpi:\t{96 * scale:g}\n")
            env = {"XAUTHORITY": str(display.authority)}
            async with AttachedDesktop(display.display, env=env, monitor=number) as desktop:
                setting = await desktop.setting()
                area = Box(*setting.area)
                assert area == list(boxes.values())[number - 1]
                assert (desktop.scale, setting.scale) == (scale, f"Xft.dpi={96 * scale:g}")
                points = [Point(area.left, area.top), area.center, Point(area.right - 1, area.bottom - 1)]
                await desktop.open_target(points)
                for point in points:
                    await desktop.do(Click(point))
                    assert (await desktop.target()).presses == (point,)
