"""`make bench-look`: twelve combinations of scale and monitors, the error in pixels before and after a calibration.

Everything but the model is real: X server, monitors by RandR, `Xft.dpi`, pointer and clicks. The models are scripts:
one that answers in the pixels of a picture which was made smaller on its way (by the scale), one that is off by 1.5 %
to the right and down, and one that only scatters.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Sequence

from common import headline

from holo_tasks.core.calibration import Pair, model_bias, path_error
from holo_tasks.core.frame import Shot
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.core.gestures import Click
from holo_tasks.core.scaling import to_pixel
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.scripts.script_view import exactly
from tests.support.monitors import set_monitors, set_resources

SCREEN = Size(2560, 1080)
SCALES = (1.0, 1.25, 1.5, 2.0)
LAYOUTS = {
    "one": ({"ONE": Box(0, 0, 2560, 1080)}, 1),
    "right of 2": ({"LEFT": Box(0, 0, 1280, 1080), "RIGHT": Box(1280, 0, 1280, 1080)}, 2),
    "askew": ({"UPPER": Box(0, 0, 1600, 480), "LOWER": Box(667, 480, 1366, 600)}, 2),
}
PLACES = ((0.5, 0.5), (0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9))
GRID = [(x, y) for y in (120.0, 500.0, 880.0) for x in (120.0, 500.0, 880.0)]
TRIED = [(x, y) for y in (60.0, 333.0, 777.0) for x in (80.0, 420.0, 910.0)]
"""Where the corrected model is tried: not where it was calibrated."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scales", type=float, nargs="+", default=SCALES)
    options = parser.parse_args()
    headline(__file__, "where clicks land, and where a model's coordinates do, before and after a calibration")
    print(f"{'scale':>6} {'monitors':>11} {'bound to':>18} {'path':>7} {'took':>8}"
          f"{'smaller picture':>22}{'off by 1.5 %':>20}{'scatters':>20}")  # fmt: skip
    print(f"{'':>6} {'':>11} {'':>18} {'px':>7} {'':>8}{'px before → after':>22}{'px before → after':>20}"
          f"{'px before → after':>20}")  # fmt: skip
    asyncio.run(_all(options.scales))


async def _all(scales: Sequence[float]) -> None:
    async with VirtualDesktop(size=SCREEN) as display:
        for name, (boxes, number) in LAYOUTS.items():
            set_monitors(display, boxes)
            for scale in scales:
                set_resources(display, f"Xft.dpi:\t{96 * scale:g}\n")
                await _one(display, name, number, scale)


async def _one(display: VirtualDesktop, layout: str, number: int, scale: float) -> None:
    env = {"XAUTHORITY": str(display.authority)}
    async with AttachedDesktop(display.display, env=env, monitor=number) as desktop:
        began = time.monotonic()
        area = Box(*(await desktop.setting()).area)
        path = await _path(desktop, area)
        took = time.monotonic() - began
    small = _model(area, lambda x, chance: x / scale)
    beside = _model(area, lambda x, chance: x + 15)
    wild = _model(area, lambda x, chance: x + chance.gauss(0, 12))
    print(
        f"{scale:6g} {layout:>11} {area!s:>18} {path:7.1f} {took:6.2f} s{small:>22}{beside:>20}{wild:>20}", flush=True
    )


async def _path(desktop: AttachedDesktop, area: Box) -> float:
    """Return how far clicks land from where a model's thousandths send them, at worst."""
    points = [Point(area.left + int(area.width * x), area.top + int(area.height * y)) for x, y in PLACES]
    shot = _shot(area)
    await desktop.open_target(points)
    landed, read = [], []
    for point in points:
        thousandths = exactly(Point(point.x - area.left, point.y - area.top), Size(area.width, area.height))
        await desktop.do(Click(to_pixel(*thousandths, shot)))
        told = await desktop.target()
        landed.append((told.presses[0].x, told.presses[0].y))
        read.append((told.pointer.x, told.pointer.y))
    await desktop.close_target()
    found = path_error([(point.x, point.y) for point in points], landed, read)
    assert found is not None
    return max(found.worst_px, found.pointer_px)


def _shot(area: Box) -> Shot:
    return Shot(b"", "image/png", "", Size(area.width, area.height), SCREEN, "", region=area)


def _model(area: Box, says: object) -> str:
    """Calibrate a scripted model on nine marks; return its median error elsewhere, before and after."""
    assert callable(says)
    chance = random.Random(7)
    across: list[Pair] = [(x, float(round(says(x, chance)))) for x, _ in GRID]
    down: list[Pair] = [(y, float(round(says(y, chance)))) for _, y in GRID]
    found = model_bias(across, down, (area.width, area.height))
    assert found is not None
    before, after = [], []
    for x, y in TRIED:
        said = min(1000, max(0, round(says(x, chance)))), min(1000, max(0, round(says(y, chance))))
        real = to_pixel(x, y, _shot(area))
        before.append(_off(real, to_pixel(*said, _shot(area))))
        correction = found.correction
        if correction is not None:
            said_x, said_y = correction.x.corrected(said[0]), correction.y.corrected(said[1])
            after.append(_off(real, to_pixel(min(1000, max(0, said_x)), min(1000, max(0, said_y)), _shot(area))))
        else:
            after.append(before[-1])
    return f"{statistics.median(before):.0f} → {statistics.median(after):.0f}{'' if found.correction else ' (left)'}"


def _off(one: Point, other: Point) -> float:
    return float(((one.x - other.x) ** 2 + (one.y - other.y) ** 2) ** 0.5)


if __name__ == "__main__":
    main()
