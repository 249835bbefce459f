"""`make bench-look`: pixel errors before and after a calibration, in twelve combinations of scale and monitors.

All parts except the models are real: X server, monitors by RandR, `Xft.dpi`, pointer and clicks. The models are
scripts: one answers in pixels of a picture that was scaled down on its way, one is 1.5 % off to the right and down, and
one only scatters.

Then programs of three toolkits are drawn at these scales: the distance between the center of a green button on the
picture and its center in the tree, as reported and as corrected here.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from common import APPS, headline
from PIL import Image, ImageChops, ImageDraw

from holo_tasks.core.input.gestures import Click
from holo_tasks.core.prompts.call_to_gesture import to_pixel
from holo_tasks.core.screen.calibration import Pair, model_bias, path_error
from holo_tasks.core.screen.frame import Frame, Shot
from holo_tasks.core.screen.geometry import Box, Point, Size
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
TOOLKITS = ("GTK 3", "Qt", "Chromium")
GREEN = (0, 200, 0)
CHROMIUM = (
    "chromium --no-sandbox --test-type --disable-gpu --disable-quic --no-first-run --disable-background-networking "
)
CHROMIUM += "--disable-component-update --disable-sync --window-size=700,450"
PAGE = """<!doctype html><meta charset=utf-8><title>Form</title><p>Total 12.00</p><button style="background:#00c800;
border:0;padding:12px 40px;margin:60px">Save</button>"""
PLACES = ((0.5, 0.5), (0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9))
GRID = [(x, y) for y in (120.0, 500.0, 880.0) for x in (120.0, 500.0, 880.0)]
TRIED = [(x, y) for y in (60.0, 333.0, 777.0) for x in (80.0, 420.0, 910.0)]
"""Points for the corrected model, other than the calibration points."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scales", type=float, nargs="+", default=SCALES)
    parser.add_argument("--toolkits", nargs="*", choices=TOOLKITS, default=TOOLKITS)
    options = parser.parse_args()
    headline(__file__, "errors of clicks and of a model's coordinates, before and after a calibration")
    print(f"{'scale':>6} {'monitors':>11} {'bound to':>18} {'path':>7} {'took':>8}"
          f"{'smaller picture':>22}{'off by 1.5 %':>20}{'scatters':>20}")  # fmt: skip
    print(f"{'':>6} {'':>11} {'':>18} {'px':>7} {'':>8}{'px before → after':>22}{'px before → after':>20}"
          f"{'px before → after':>20}")  # fmt: skip
    asyncio.run(_all(options.scales))
    if options.toolkits:
        asyncio.run(_drawn_larger(options.toolkits, options.scales))


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
    """Return the largest distance between a click and its target in a model's thousandths."""
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
    """Calibrate a scripted model on nine marks; return its median error at other points, before and after."""
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


async def _drawn_larger(toolkits: Sequence[str], scales: Sequence[float]) -> None:
    """Print the distance between drawn and reported buttons, for each toolkit and scale."""
    print(f"\n{'toolkit':>10} {'scale':>6} {'told as':>8} {'as told → here, px off':>24}")
    for toolkit in toolkits:
        for scale in scales:
            if toolkit == "GTK 3" and scale != int(scale):
                continue  # GTK 3 has whole scales only
            with tempfile.TemporaryDirectory(prefix="holo-bench-", ignore_cleanup_errors=True) as folder:
                command, env = _green(toolkit, scale, Path(folder))
                async with VirtualDesktop(size=Size(1900, 1300), app=command, env=env, app_timeout_s=60) as desktop:
                    told, before, after = await _button(desktop)
            print(f"{toolkit:>10} {scale:6g} {told:8g} {f'{before:.0f} → {after:.0f}':>24}", flush=True)


def _green(toolkit: str, scale: float, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command of a program with a green button *Save*, and the environment that sets its scale."""
    style = "background: #00c800; border: none; padding: 12px 40px;"
    match toolkit:
        case "GTK 3":
            (folder / "gtk-3.0").mkdir()
            (folder / "gtk-3.0" / "gtk.css").write_text(f"button {{ background-image: none; {style} }}")
            env = {"GDK_SCALE": f"{scale:g}", "XDG_CONFIG_HOME": str(folder)}
            return ["/usr/bin/python3", str(APPS / "form_gtk3.py")], env
        case "Qt":
            (folder / "green.qss").write_text(f"QPushButton {{ {style} }}")
            words = [sys.executable, str(APPS / "form_qt.py"), "", "-stylesheet", str(folder / "green.qss")]
            return words, {"QT_SCALE_FACTOR": f"{scale:g}"}
        case _:
            (folder / "page.html").write_text(PAGE)
            words = f"{CHROMIUM} --force-device-scale-factor={scale:g} --user-data-dir={folder}/profile"
            return shlex.split(f"{words} --app=file://{folder}/page.html"), {"HOME": str(folder)}


async def _button(desktop: VirtualDesktop) -> tuple[float, float, float]:
    """Return the detected scale, and the button's distance from its reported and its corrected position."""
    while not (found := (tree := await desktop.elements()).find("button", "Save")):
        await asyncio.sleep(0.05)
    at, scale = found[0].box.center, tree.applications[0].scale
    real = _green_at(await desktop.look(), at)
    return scale, _off(Point(round(at.x / scale), round(at.y / scale)), real), _off(at, real)


def _green_at(frame: Frame, at: Point) -> Point:
    """Return the center of the green area nearest to a point."""
    picture = Image.frombuffer("RGB", (frame.size.width, frame.size.height), frame.rgb, "raw", "RGB", 0, 1)
    off = ImageChops.difference(picture, Image.new("RGB", picture.size, GREEN)).convert("L")
    green = off.point(lambda value: 255 if value < 8 else 0)
    places = [(x, y) for y in range(0, green.height, 4) for x in range(0, green.width, 4) if green.getpixel((x, y))]
    ImageDraw.floodfill(green, min(places, key=lambda place: _off(Point(*place), at)), 128)
    seen = green.point(lambda value: 255 if value == 128 else 0).getbbox()
    assert seen is not None
    return Box.of_corners(*seen).center


def _off(one: Point, other: Point) -> float:
    return float(((one.x - other.x) ** 2 + (one.y - other.y) ** 2) ** 0.5)


if __name__ == "__main__":
    main()
