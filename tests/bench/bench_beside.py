"""How often a click is refused for a thing that moves by itself beside it, and whether what should be refused is.

`python tests/bench/bench_beside.py [--clicks 500] [--tree FOLDER]`: clicks in Chromium beside each kind of thing, on
the sheet next to it, then traps in a Tk window; it fails if more were refused than are allowed (none), or a trap was
missed. --tree tries the package of another folder, an older one, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from common import APPS, headline, ms, table

KINDS = ("clock", "ticker", "spinner", "caret", "banner", "video")
THINK_S, LEARN_S = (0.3, 1.5), 9.0
"""Each click is thought about for so long, and a trap is sprung beside a clock that has been watched for this long."""
FLAGS = (
    "no-sandbox test-type disable-gpu no-first-run disable-background-networking disable-component-update disable-sync "
    "window-position=0,0 window-size=1280,800"
)
BUTTONS = [(60, 22 + 33 * number) for number in range(8)]
"""Where the buttons of the page are, from its corner."""
OPEN = (235, 140)
ROW, NAMED = "its row looks different", "it looks different there"
WINDOW = "its window looks different"
TRAPS = {  # what it is, and why it is refused
    "insert": ("a row put on top of the list", ROW),
    "list": ("a list that grows every second", ROW),
    "label": ("a label that ticks", ROW),
    "labels": ("labels that all tick", ROW),
    "right": ("a label that ticks right of its button", ROW),
    "thick": ("labels that tick behind a thick line", ROW),
    "grid": ("a label that ticks behind a grid line", ROW),
    "words": ("a label that ticks behind fixed words", ROW),
    "photo": ("a label that ticks on a photo", ROW),
    "shimmer": ("a label that shimmers and is another", ROW),
    "blink": ("a label that blinks and is another", ROW),
    "silence": ("a label that changes after silence", ROW),
    "slow": ("a label that is read anew every three seconds", ROW),
    "word": ("a button with another word", NAMED),
    "large": ("large words that tick in a button", NAMED),
    "scrolled": ("what is where the clock was", ROW),
    "question": ("another question in a window that flickers", WINDOW),
}
WATCHED_S = {"silence": 3 * LEARN_S, "slow": 4 * LEARN_S}


async def act(desktop: Any, gesture: Any, number: int) -> str:
    """Do what was decided on by a frame; say why not, if it was refused."""
    from holo_tasks.core.errors import ScreenChanged
    from holo_tasks.core.slip import Slip, gesture_digest

    slip = Slip(gesture_digest(gesture), time.monotonic() + 60, frame=number)
    try:
        await desktop.do(gesture, slip=slip)
    except ScreenChanged as error:
        return str(error).partition(": ")[2].removesuffix(". Nothing was done.")
    return ""


@asynccontextmanager
async def page(kind: str) -> AsyncIterator[Any]:
    """Show things of a kind in Chromium."""
    from holo_tasks.core.geometry import Size
    from holo_tasks.desktop import VirtualDesktop

    with tempfile.TemporaryDirectory(prefix="holo-bench-", ignore_cleanup_errors=True) as home:
        url = f"{(APPS / 'beside.html').as_uri()}#{kind}"
        flags = [f"--{flag}" for flag in FLAGS.split()]
        command = ["chromium", *flags, f"--user-data-dir={home}", f"--app={url}"]
        async with VirtualDesktop(size=Size(1280, 800), app=command, env={"HOME": home}, app_timeout_s=60) as desktop:
            yield desktop


def corner(frame: Any) -> tuple[int, int]:
    """Return where the first sheet of the page begins: its white beside the ground."""
    size, white, ground = frame.size, b"\xff\xff\xff", b"\x55\x55\x55"
    pixels = memoryview(frame.rgb)
    for y in range(size.height):
        line = bytes(pixels[3 * y * size.width : 3 * (y + 1) * size.width])
        if (x := line.find(white * 150)) >= 0 and (white * 5 + ground * 5 + white * 5) in line:
            return x // 3, y
    raise SystemExit("The page was not shown.")


async def counted(desktop: Any, clicks: int) -> None:
    """Wait until the page says in its title that it got so many clicks."""
    end = time.monotonic() + 15
    while str(clicks) not in (titles := [window.title for window in await desktop.windows()]):
        if time.monotonic() > end:
            raise SystemExit(f"The page got {titles} of {clicks} clicks.")
        await asyncio.sleep(0.05)


async def beside(kind: str, clicks: int, read_s: float) -> tuple[Counter[str], list[float]]:
    """Look, think for a while, and click, over and over; return why not, and how long it took each time."""
    from holo_tasks.core.geometry import Point
    from holo_tasks.core.gestures import Click

    chance, refused, took_s = random.Random(kind), Counter[str](), []
    async with page(kind) as desktop:
        await desktop.look()
        await asyncio.sleep(read_s)
        frame = await desktop.look()
        left, top = corner(frame)
        for _ in range(clicks):
            await asyncio.sleep(chance.uniform(*THINK_S))
            x, y = chance.choice(BUTTONS)
            started = time.monotonic()
            if why := await act(desktop, Click(Point(left + x, top + y)), frame.number):
                refused[why] += 1
            took_s.append(time.monotonic() - started)
            frame = await desktop.look(after_action=not why)
        await counted(desktop, clicks - refused.total())
    return refused, took_s


class Program:
    """The program on a desktop, and what it says."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    async def said(self, kind: str) -> Any:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            lines = self._log.read_text().splitlines() if self._log.exists() else []
            if found := [said for line in lines if (said := json.loads(line))[0] == kind]:
                return found[-1]
            await asyncio.sleep(0.02)
        raise SystemExit(f"The program did not say {kind!r}.")

    async def change(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("change\n")
        self._process.stdin.flush()
        await self.said("told")


async def trapped(trap: str) -> str:
    """Say why a press was refused on what became another thing while it was thought about."""
    from tk_python import tk_python

    from holo_tasks.core.geometry import Point
    from holo_tasks.core.gestures import Click, Hotkey
    from holo_tasks.desktop import VirtualDesktop

    with tempfile.TemporaryDirectory(prefix="holo-bench-") as folder:
        log = Path(folder) / "log"
        async with VirtualDesktop() as desktop:
            env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
            command = [tk_python(), str(APPS / "probe_beside.py"), str(log), trap]
            with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, text=True) as process:
                program = Program(process, log)
                _, left, top = await program.said("mapped")
                await desktop.look()
                await asyncio.sleep(WATCHED_S.get(trap, LEARN_S))
                frame = await desktop.look()
                await asyncio.sleep(3.2 if trap == "slow" else 1.2)
                await program.change()
                await asyncio.sleep(0.1)
                gesture = Hotkey(("enter",)) if trap == "question" else Click(Point(left + OPEN[0], top + OPEN[1]))
                why = await act(desktop, gesture, frame.number)
                process.kill()
                return why


async def main(clicks: int, kinds: list[str], traps: list[str], allowed: int, read_s: float) -> bool:
    """Try what is asked for, and print what came of it; say whether all of it was as it should be."""
    rows, each = [], -(-clicks // max(1, len(kinds)))
    for kind in kinds:
        refused, took_s = await beside(kind, each, read_s)
        why = ", ".join(f"{count} {reason}" for reason, count in refused.items())
        rows.append((kind, why, each, refused.total(), ms(took_s)))
        print(f"{kind}: {refused.total()} of {each} refused", flush=True)
    columns = ["beside", "because", "clicks", "refused", "ms each"]
    table("clicks beside what moves by itself, in Chromium", columns, rows, words=2)
    found = {trap: await trapped(trap) for trap in traps}
    caught = {trap: why == TRAPS[trap][1] for trap, why in found.items()}
    told = [(TRAPS[trap][0], "caught" if caught[trap] else "MISSED", why) for trap, why in found.items()]
    table(f"traps beside a clock: {sum(caught.values())} of {len(traps)} caught", ["trap", "", "why"], told, words=3)
    return all(caught.values()) and sum(row[3] for row in rows) <= allowed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=500)
    parser.add_argument("--allowed", type=int, default=0)
    parser.add_argument("--read-seconds", type=float, default=8.0, help="how long a page is looked at before a click")
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--traps", nargs="*", choices=TRAPS, default=list(TRAPS))
    options = parser.parse_args()
    if options.tree is not None:
        sys.path.insert(0, str(options.tree.resolve()))
    headline(__file__, "clicks refused beside what moves by itself, and traps")
    done = main(options.clicks, options.kinds, options.traps, options.allowed, options.read_seconds)
    sys.exit(not asyncio.run(done))
