"""Cost of a picture at each quality tier, and legibility of a dense screen.

Real screens of real programs. Every request pays for the pictures that it contains, so dollars are for 1000 steps of a
conversation with the profile's number of pictures. Reading is by OCR on the picture as sent, a stand-in for a vision
model that is the same for all tiers.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import io
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import APPS, PASSWORD, headline, ledger, ms, scratch_home, table, walk_on

if TYPE_CHECKING:
    from holo_tasks.core.screen.frame import Frame, RedactedFrame, Shot
    from holo_tasks.core.screen.geometry import Box, Size
    from holo_tasks.vision.ocr_reader import Reader

MODEL = "holo3-1-35b-a3b"
REPEATS = 7
LOOKS = 15
STEPS = 1000
LEDGERS, TABLES = ("1280x800", "1920x1080"), ("1280x800", "1600x1000", "3840x2160")
"""Screen sizes for the legacy program, and for the dense table."""
# The cells that OCR has to read: columns and rows of the dense table, near its top left corner.
KNOWN_COLUMNS, KNOWN_ROWS, FIRST_ROW = range(1, 7), 25, 4
QUIET = ("--slow", "0,0", "--tip-after", "0", "--session-actions", "0", "--position", "60,40")
COLUMNS = ("screen", "sent as", "size", "bytes", "tokens", "encode CPU ms", f"$ {STEPS} steps", "ratio", "read")


@dataclass(frozen=True)
class Screen:
    """A real screen, the smallest sufficient region for the task, and whether it is the dense table."""

    name: str
    frame: Frame
    region: Box
    dense: bool = False


@dataclass(frozen=True)
class Png:
    """The lossless counterpart of the default tier: the same size, as PNG."""

    max_width: int = 1280

    def encode(self, frame: RedactedFrame) -> Shot:
        from PIL import Image

        from holo_tasks.core.screen.frame import Shot
        from holo_tasks.models.encoding import fit_width

        source = frame.frame
        image = Image.frombuffer("RGB", (source.size.width, source.size.height), source.rgb, "raw", "RGB", 0, 1)
        sent = fit_width(source.size, self.max_width)
        if sent != source.size:
            image = image.resize((sent.width, sent.height), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        image.save(buffer, format="PNG")
        data = buffer.getvalue()
        return Shot(data, "image/png", hashlib.sha256(data).hexdigest(), sent, source.size, source.digest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="a folder for the pictures")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="of each encoding (%(default)s)")
    parser.add_argument("--looks", type=int, default=LOOKS, help="at each screen (%(default)s)")
    parser.add_argument("--sizes", nargs="+", choices=sorted({*LEDGERS, *TABLES}), default=[*LEDGERS, *TABLES])
    parser.add_argument("--rows", type=int, default=KNOWN_ROWS, help="rows of the dense table to read (%(default)s)")
    options = parser.parse_args()
    headline(__file__, "pictures by quality tier")
    with scratch_home() as home:
        asyncio.run(_bench(home, options))


async def _bench(home: Path, options: argparse.Namespace) -> None:
    screens: list[Screen] = []
    for size in _wanted(LEDGERS, options):
        screens += await _ledger_screens(home, size)
    screens.append(await _browser_screen(home))
    looks = []
    for size in _wanted(TABLES, options):
        async with _dense_table(size) as desktop:
            looks.append(await _unchanged(desktop, size, options.looks))
            if size.width > 1280:
                screens.append(_dense_screen(await desktop.look(), options.rows))
    kept = _pictures_kept()
    title = f"a picture on its way to {MODEL}, {kept:.2f} pictures a request; ratio of dollars to the default tier"
    table(title, COLUMNS, [row for screen in screens for row in _rows(screen, kept, options)], words=2)
    known = len(KNOWN_COLUMNS) * options.rows
    print(f"  read: right OCR results among {known} numbers of the dense table, 12 pixels high on the screen")
    title = f"a second look at the same screen, default tier, medians of {options.looks}"
    table(title, ("screen", "encoded again, ms", "recognized, ms", "saved, ms", "times as fast"), looks)


def _wanted(sizes: Sequence[str], options: argparse.Namespace) -> list[Size]:
    from holo_tasks.core.screen.geometry import Size

    return [Size(*map(int, size.split("x"))) for size in sizes if size in options.sizes]


def _rows(screen: Screen, kept: float, options: argparse.Namespace) -> list[list[str]]:
    from holo_tasks.core.limits.money import image_tokens
    from holo_tasks.core.screen.frame import RedactedFrame
    from holo_tasks.models.encoding import ENCODERS
    from holo_tasks.models.profile import profile_for

    price = profile_for(MODEL).price
    assert price is not None
    whole = RedactedFrame(screen.frame)
    sent: list[tuple[str, RedactedFrame, Any]] = [(tier, whole, encoder) for tier, encoder in ENCODERS.items()]
    sent += [("png 1280", whole, Png()), (f"region {screen.region}", whole.crop(screen.region), ENCODERS["default"])]
    rows: list[list[str]] = []
    known: dict[str, list[str]] = {}
    base = 0.0
    for name, frame, encoder in sent:
        shot, encode_s = _encoded(encoder, frame, options.repeats)
        if shot.sha256 in known:  # two tiers with the same picture of this screen
            known[shot.sha256][1] += f", {name}"
            continue
        tokens = image_tokens(shot.sent_size.width, shot.sent_size.height)
        dollars = float(tokens * price.input) / 1e6 * kept * STEPS
        base = base or dollars
        share = _share_read(shot, options.rows) if screen.dense else ""
        figures = [str(shot.sent_size), f"{len(shot.data):,}", f"{tokens:,}", ms(encode_s), f"{dollars:.2f}"]
        rows.append([screen.name, name, *figures, f"{dollars / base:.2f}", share])
        known[shot.sha256] = rows[-1]
        if keep := options.keep:
            keep.mkdir(parents=True, exist_ok=True)
            suffix = shot.media_type.removeprefix("image/")
            (keep / f"{screen.name} {name}.{suffix}".replace(" ", "-")).write_bytes(shot.data)
    return rows


def _encoded(encoder: Any, frame: RedactedFrame, repeats: int) -> tuple[Shot, list[float]]:
    """Encode a picture a few times; return it and its CPU seconds, which other processes do not change."""
    times = []
    for _ in range(repeats):
        started = time.thread_time()
        shot = encoder.encode(frame)
        times.append(time.thread_time() - started)
    return shot, times


def _pictures_kept() -> float:
    """Return the average number of pictures in a request of a long conversation."""
    from holo_tasks.core.prompts.transcript import evicted
    from holo_tasks.models.profile import profile_for

    profile = profile_for(MODEL)
    images = range(7, 7 + 60)
    return statistics.mean(n - evicted(n, budget=profile.image_budget, batch=profile.evict_batch) for n in images)


async def _ledger_screens(home: Path, size: Size) -> list[Screen]:
    """Go through the legacy program by its keys, and capture its screens."""
    from holo_tasks.core.input.gestures import Gesture, Hotkey, Write

    way: list[tuple[str, list[Gesture]]] = [
        ("menu", [Write("auditor"), Hotkey(("tab",)), Write(PASSWORD, press_enter=True)]),
        ("search", [Hotkey(("f2",))]),
        ("detail", [Write("TX-10482", press_enter=True)]),
    ]
    screens = []
    async with ledger(home, size, *QUIET) as desktop:
        for name, gestures in way:
            for gesture in gestures:
                await desktop.do(gesture)
                frame = await desktop.look(after_action=True)
            (window,) = await desktop.windows()
            screens.append(Screen(f"ledger {name} {size}", frame, window.box))
    return screens


async def _browser_screen(home: Path) -> Screen:
    """Show a long page of text, a table and pictures in Chromium."""
    from holo_tasks.core.screen.geometry import Box, Size
    from holo_tasks.desktop import VirtualDesktop

    page = home / "page.html"
    words = "The auditor compares each receipt with the ledger and notes what differs, by amount, date and merchant. "
    cells = "".join(
        f"<tr><td>TX-{10300 + n}</td><td>Merchant {n}</td><td>{n * 37.13:,.2f} EUR</td></tr>" for n in range(60)
    )
    page.write_text(
        "<!doctype html><meta charset=utf-8><title>Report</title><body style='font:15px DejaVu Sans;margin:24px'>"
        "<h1>Quarterly expense report</h1>"
        "<div style='height:150px;background:conic-gradient(from 40deg,#124,#d84,#3a7,#eee,#124)'></div>"
        + "".join(f"<h2>Section {n}</h2><p>{words * 5}</p>" for n in range(1, 4))
        + f"<table border=1 cellpadding=4>{cells}</table>"
        + f"<p>{words * 400}</p>"
    )
    flags = "no-sandbox test-type disable-gpu no-first-run disable-background-networking disable-component-update"
    flags += " disable-sync window-position=0,0 window-size=1280,800"
    profile = f"--user-data-dir={home / 'chromium'}"
    command = ["chromium", *(f"--{flag}" for flag in flags.split()), profile, f"--app={page.as_uri()}"]
    async with VirtualDesktop(size=Size(1280, 800), app=command, env={"HOME": str(home)}, app_timeout_s=60) as desktop:
        await asyncio.sleep(2)
        frame = await desktop.look()
    return Screen(f"web page {frame.size}", frame, Box(0, 300, 1280, 480))


@asynccontextmanager
async def _dense_table(size: Size) -> AsyncIterator[Any]:
    from holo_tasks.desktop import VirtualDesktop, tk_python

    command = [tk_python(), str(APPS / "probe_table.py")]
    async with VirtualDesktop(size=size, app=command, app_timeout_s=60) as desktop:
        await desktop.look()
        yield desktop


def _dense_screen(frame: Frame, rows: int) -> Screen:
    return Screen(f"table {frame.size}", frame, _known_area(rows), dense=True)


def _known_area(rows: int) -> Box:
    """Return the box of the known numbers in the dense table, with a margin of one cell."""
    from probe_table import cell

    from holo_tasks.core.screen.geometry import Box

    left, top, _, _ = cell(KNOWN_COLUMNS[0] - 1, FIRST_ROW - 1)
    right, bottom, _, _ = cell(KNOWN_COLUMNS[-1] + 2, FIRST_ROW + rows + 1)
    return Box(left, top, right - left, bottom - top)


def _share_read(shot: Shot, rows: int) -> str:
    """Return the share of the known numbers that OCR reads from the picture as sent."""
    if find_spec("rapidocr") is None:
        return "no OCR"
    from PIL import Image
    from probe_table import number

    known, area = _known_area(rows), shot.area
    with Image.open(io.BytesIO(shot.data)) as picture:
        scale_x, scale_y = picture.width / area.width, picture.height / area.height
        left, top = (known.left - area.left) * scale_x, (known.top - area.top) * scale_y
        corners = (left, top, left + known.width * scale_x, top + known.height * scale_y)
        part = picture.convert("RGB").crop(tuple(round(edge) for edge in corners))
    lines = _reader().read(part).sight.lines
    said = "|".join("".join(line.text.split()) for line in lines)
    wanted = [number(column, row) for column in KNOWN_COLUMNS for row in range(FIRST_ROW, FIRST_ROW + rows)]
    return f"{sum(text in said for text in wanted) / len(wanted):.0%}"


@cache
def _reader() -> Reader:
    from holo_tasks.vision.ocr_reader import Reader

    return Reader()


async def _unchanged(desktop: Any, size: Size, looks: int) -> list[str]:
    """Look at an unchanged screen, with and without the cache of the last look."""
    from holo_tasks.models.build_model import model_at
    from holo_tasks.models.client import ModelEndpoint
    from holo_tasks.models.profile import profile_for

    model = model_at(ModelEndpoint("http://127.0.0.1:9/v1", None), profile_for(MODEL))
    walk = walk_on(desktop, model, "Look.")
    again = await _timed(walk.look, looks, before=lambda: setattr(walk, "seen", None))
    known = await _timed(walk.look, looks)
    one, other = statistics.median(again), statistics.median(known)
    return [f"table {size}", ms(again), ms(known), f"{(one - other) * 1000:.1f}", f"{one / other:.1f}"]


async def _timed(look: Callable[[], Any], looks: int, before: Callable[[], None] | None = None) -> list[float]:
    times = []
    for _ in range(looks):
        if before is not None:
            before()
        started = time.monotonic()
        await look()
        times.append(time.monotonic() - started)
    return times


if __name__ == "__main__":
    sys.exit(main())
