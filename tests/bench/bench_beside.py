"""How often a click is refused for a thing that moves by itself beside it, and whether what should be refused is.

`python tests/bench/bench_beside.py [--clicks 500] [--tree FOLDER]`: clicks in Chromium beside each kind of thing, on
the sheet next to it, then traps in a Tk window or in Chromium; it fails if more were refused than are allowed (none),
or a trap was missed. One sprung before what ticks was learned has put nothing to the test: how many were is said.
Runs of five clicks follow (`--runs`), each in a new process on one borrowed display, as a person starts one after
another; some traps are for what one such process tells the next.
--tree tries the package of another folder, an older one, too.
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
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from common import APPS, headline, ms, scratch_home, table

KINDS = ("clock", "ticker", "spinner", "caret", "banner", "video")
SHOWN_WITHIN_S = 30.0
RUN_KINDS, STEPS = ("clock", "ticker", "spinner", "caret"), 5
THINK_S, LEARN_S = (0.3, 1.5), 18.0
"""Each click is thought about for so long, and a trap is sprung when what ticks was learned, or after so long."""
FLAGS = (
    "no-sandbox test-type disable-gpu no-first-run disable-background-networking disable-component-update disable-sync "
    "window-position=0,0 window-size=1280,800"
)
BUTTONS = [(60, 22 + 33 * number) for number in range(8)]
"""Where the buttons of the page are, from its corner."""
OPEN = (235, 140)
ROW, NAMED = "its row looks different", "it looks different there"
WINDOW = "its window looks different"
CLOCK, LABEL, NEXT = (570, 140), (100, 140), (495, 140)
"""Where on the window of traps a clock ticks, or the name of the target's row on its sheet or on the next one."""
TRAPS = {  # what it is, why it is refused, and where something ticks that must have been learned
    "insert": ("a row put on top of the list", ROW, CLOCK),
    "list": ("a list that grows every second", ROW, LABEL),
    "label": ("a label that ticks", ROW, LABEL),
    "labels": ("labels that all tick", ROW, LABEL),
    "right": ("a label that ticks right of its button", ROW, (370, 140)),
    "thick": ("labels that tick behind a thick line", ROW, (370, 140)),
    "grid": ("a label that ticks behind a grid line", ROW, LABEL),
    "words": ("a label that ticks behind fixed words", ROW, LABEL),
    "photo": ("a label that ticks on a photo", ROW, LABEL),
    "shimmer": ("a label that shimmers and is another", ROW, CLOCK),
    "blink": ("a label that blinks and is another", ROW, CLOCK),
    "swift": ("labels that are others ten times a second", ROW, LABEL),
    "silence": ("a label that changes after silence", ROW, CLOCK),
    "slow": ("a label that is read anew every three seconds", ROW, CLOCK),
    "word": ("a button with another word", NAMED, CLOCK),
    "large": ("large words that tick in a button", NAMED, (225, 140)),
    "scrolled": ("what is where the clock was", ROW, CLOCK),
    "question": ("another question in a window that flickers", WINDOW, OPEN),
    "beside": ("rows over two sheets: all names tick", ROW, NEXT),
    "own": ("rows over two sheets: one name ticks", ROW, NEXT),
    "edge": ("rows over two sheets: a name at the far edge", ROW, (680, 140)),
    "lines": ("rows of two lines over two sheets", ROW, NEXT),
    "third": ("rows over three sheets", ROW, (570, 140)),
    "few": ("rows over two sheets of which few have a name", ROW, NEXT),
    "queue": ("an amount behind names that stay the same", ROW, (510, 140)),
    "grows": ("rows over two sheets: a list that grows", ROW, NEXT),
    "trees": ("rows over two tables of Tk", ROW, (500, 140)),
    "rows": ("rows over two sheets of a page: all names tick", ROW, (190, 121)),
    "row": ("the same: one name ticks, at the far edge", ROW, (325, 121)),
}
HANDED_OVER = {  # the same, where an earlier process on the display saw a clock tick; None if it saw nothing
    "handed": ("names where an earlier process saw a clock", ROW, CLOCK),
    "one": ("a name alone where it saw a clock", ROW, CLOCK),
    "parts": ("the same, drawn twice within a moment", ROW, CLOCK),
    "stopped": ("a clock that stopped, and then is a name", ROW, CLOCK),
    "halts": ("a clock that stops and is a name after the look", ROW, CLOCK),
    "begins": ("a name alone that begins to tick after the look", ROW, None),
    "resumes": ("the same, where it saw a clock", ROW, CLOCK),
    "returns": ("a clock again where a name was at the look", ROW, CLOCK),
}
TRAPS |= HANDED_OVER
OR_ELSE = {"shimmer": (NAMED,)}
"""Where another reason is as good: the words of that button shimmer, too, and may be in their other color."""
PAGES = ("rows", "row")
"""These traps are in Chromium."""
WATCHED_S = {"silence": 27.0, "slow": 36.0}
"""These are watched for so long at least, to be known as what they are."""


async def act(desktop: Any, gesture: Any, number: int) -> str:
    """Do what was decided on by a frame; say why not, if it was refused."""
    from holo_tasks.core.errors import ScreenChanged
    from holo_tasks.core.input.input_permit import Slip, gesture_digest

    slip = Slip(gesture_digest(gesture), time.monotonic() + 60, frame=number)
    try:
        await desktop.do(gesture, slip=slip)
    except ScreenChanged as error:
        return str(error).partition(": ")[2].removesuffix(". Nothing was done.")
    return ""


@asynccontextmanager
async def page(kind: str) -> AsyncIterator[Any]:
    """Show things of a kind in Chromium."""
    from holo_tasks.core.screen.geometry import Size
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


async def shown(desktop: Any) -> Any:
    """Return the first picture that the page is on: its window may come before it."""
    end = time.monotonic() + SHOWN_WITHIN_S
    while True:
        frame = await desktop.look()
        try:
            corner(frame)
            return frame
        except SystemExit:
            if time.monotonic() > end:
                raise


async def counted(desktop: Any, clicks: int) -> None:
    """Wait until the page says in its title that it got so many clicks."""
    end = time.monotonic() + 15
    while str(clicks) not in (titles := [window.title for window in await desktop.windows()]):
        if time.monotonic() > end:
            raise SystemExit(f"The page got {titles} of {clicks} clicks.")
        await asyncio.sleep(0.05)


async def beside(kind: str, clicks: int, read_s: float) -> tuple[Counter[str], list[float]]:
    """Look, think for a while, and click, over and over; return why not, and how long it took each time."""
    from holo_tasks.core.input.gestures import Click
    from holo_tasks.core.screen.geometry import Point

    chance, refused, took_s = random.Random(kind), Counter[str](), []
    async with page(kind) as desktop:
        await desktop.look()
        await asyncio.sleep(read_s)
        frame = await shown(desktop)
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


class Runs(NamedTuple):
    """Why clicks were refused, and how many seconds each first look, each click and each whole run took."""

    refused: Counter[str]
    first_s: list[float]
    click_s: list[float]
    whole_s: list[float]


def borrowed(desktop: Any) -> Any:
    """Use a desktop's display from another process, as a command does that is given a display."""
    from holo_tasks.desktop import AttachedDesktop

    return AttachedDesktop(desktop.display, env={"XAUTHORITY": str(desktop.authority)})


async def one_after_another(kind: str, runs: int) -> Runs:
    """Click five times in each of so many processes, on one display."""
    from holo_tasks.core.input.gestures import Click
    from holo_tasks.core.screen.geometry import Point

    chance, found = random.Random(kind), Runs(Counter(), [], [], [])
    async with page(kind) as screen:
        left, top = corner(await shown(screen))
        for run in range(1, runs + 1):
            began = time.monotonic()
            async with borrowed(screen) as desktop:
                started = time.monotonic()
                frame = await desktop.look()
                found.first_s.append(time.monotonic() - started)
                for step in range(1, STEPS + 1):
                    await asyncio.sleep(chance.uniform(*THINK_S))
                    x, y = chance.choice(BUTTONS)
                    started = time.monotonic()
                    if why := await act(desktop, Click(Point(left + x, top + y)), frame.number):
                        found.refused[why] += 1
                        print(f"  {kind}, run {run}, click {step}: {why}", flush=True)
                    found.click_s.append(time.monotonic() - started)
                    frame = await desktop.look(after_action=not why)
            found.whole_s.append(time.monotonic() - began)
        await counted(screen, runs * STEPS - found.refused.total())
    return found


class Sprung(NamedTuple):
    """Why a press was refused, and whether what ticks was learned before, so that it put the rule to the test."""

    why: str
    tried: bool


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


async def sprung(desktop: Any, trap: str, corner_: tuple[int, int], change: Callable[[], Awaitable[None]]) -> Sprung:
    """Look, have the thing become another while it is thought about, and say why a press on it was refused."""
    from holo_tasks.core.input.gestures import Click, Hotkey
    from holo_tasks.core.screen.geometry import Point

    left, top = corner_
    x, y = TRAPS[trap][2]

    async def learned() -> bool:
        boxes = await desktop.stirring() if hasattr(desktop, "stirring") else ()
        return any(box.left <= left + x < box.right and box.top <= top + y < box.bottom for box in boxes)

    await asyncio.sleep(WATCHED_S.get(trap, 0))
    end = time.monotonic() + LEARN_S
    frame = await desktop.look()
    while not await learned() and time.monotonic() < end:
        await asyncio.sleep(0.5)
        frame = await desktop.look()
    await asyncio.sleep(3.2 if trap == "slow" else 1.2)
    tried = await learned()
    await change()
    press = Point(left + BUTTONS[3][0], top + BUTTONS[3][1]) if trap in PAGES else Point(left + OPEN[0], top + OPEN[1])
    why = await act(desktop, Hotkey(("enter",)) if trap == "question" else Click(press), frame.number)
    return Sprung(why, tried)


async def handed_over(screen: Any, program: Program, trap: str, corner_: tuple[int, int]) -> Sprung:
    """Have one process learn a clock, and spring the trap on the next one."""
    from holo_tasks.core.input.gestures import Click
    from holo_tasks.core.screen.geometry import Point

    left, top = corner_
    where = HANDED_OVER[trap][2]
    knows = where is None
    async with borrowed(screen) as desktop:
        await desktop.look()
        end = time.monotonic() + LEARN_S
        while where and not knows and time.monotonic() < end:
            await asyncio.sleep(0.5)
            await desktop.look()
            boxes = await desktop.stirring()
            x, y = left + where[0], top + where[1]
            knows = any(box.left <= x < box.right and box.top <= y < box.bottom for box in boxes)
    await program.change()
    async with borrowed(screen) as desktop:
        frame = await desktop.look()
        # A clock that halts is a name by the time of its next tick, so that its rhythm alone gives nothing away.
        await asyncio.sleep(1.9 if trap == "halts" else 1.2)
        await program.change()
        await asyncio.sleep(0.1)
        return Sprung(await act(desktop, Click(Point(left + OPEN[0], top + OPEN[1])), frame.number), knows)


async def trapped(trap: str) -> Sprung:
    """Show what a trap is about, and spring it."""
    from tk_python import tk_python

    from holo_tasks.desktop import VirtualDesktop

    if trap in PAGES:
        async with page(trap) as desktop:

            async def nothing() -> None:
                """It ticks by itself."""

            return await sprung(desktop, trap, corner(await shown(desktop)), nothing)
    with tempfile.TemporaryDirectory(prefix="holo-bench-") as folder:
        log = Path(folder) / "log"
        async with VirtualDesktop() as desktop:
            env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
            command = [tk_python(), str(APPS / "probe_beside.py"), str(log), trap]
            with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, text=True) as process:
                program = Program(process, log)
                _, left, top = await program.said("mapped")

                async def change() -> None:
                    await program.change()
                    await asyncio.sleep(0.1)

                try:
                    if trap in HANDED_OVER:
                        return await handed_over(desktop, program, trap, (left, top))
                    return await sprung(desktop, trap, (left, top), change)
                finally:
                    process.kill()


async def run_tables(runs: int, kinds: list[str], allowed: int) -> bool:
    """Print how many clicks of runs were refused beside each kind of thing; say whether that is allowed.

    The first process on a display has nobody to learn from, so one more is allowed for each kind.
    """
    if not runs:
        return True
    rows = []
    for kind in kinds:
        found = await one_after_another(kind, runs)
        why = ", ".join(f"{count} {reason}" for reason, count in found.refused.items())
        print(f"{kind}: {found.refused.total()} of {runs * STEPS} refused in {runs} runs", flush=True)
        times = (ms(found.first_s), ms(found.click_s), f"{sum(found.whole_s) / runs:.1f}")
        rows.append((kind, why, runs * STEPS, found.refused.total(), *times))
    columns = ["beside", "because", "clicks", "refused", "ms first look", "ms each", "s a run"]
    table("runs of five clicks, each in a new process on a borrowed display", columns, rows, words=2)
    return sum(row[3] for row in rows) <= allowed + len(kinds)


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
    found = {}
    for trap in traps:
        found[trap] = await trapped(trap)
        print(f"{trap}: {found[trap].why or 'done'}", flush=True)
    caught = {trap: one.why in (TRAPS[trap][1], *OR_ELSE.get(trap, ())) for trap, one in found.items()}
    told = [
        (TRAPS[trap][0], "caught" if caught[trap] else "MISSED", "yes" if one.tried else "NO", one.why)
        for trap, one in found.items()
    ]
    title = f"traps beside what ticks: {sum(caught.values())} of {len(traps)} caught"
    untried = sum(not one.tried for one in found.values())
    table(f"{title}, {untried} not put to the test", ["trap", "", "put to the test", "why"], told, words=4)
    return all(caught.values()) and sum(row[3] for row in rows) <= allowed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=500)
    parser.add_argument("--allowed", type=int, default=0)
    parser.add_argument("--read-seconds", type=float, default=8.0, help="how long a page is looked at before a click")
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--traps", nargs="*", choices=TRAPS, default=list(TRAPS))
    parser.add_argument("--runs", type=int, default=14, help="runs of five clicks, each in a new process")
    parser.add_argument("--run-kinds", nargs="*", choices=KINDS, default=list(RUN_KINDS))
    options = parser.parse_args()
    if options.tree is not None:
        sys.path.insert(0, str(options.tree.resolve()))
    headline(__file__, "clicks refused beside what moves by itself, and traps")
    with scratch_home():
        few = asyncio.run(run_tables(options.runs, options.run_kinds, options.allowed))
        done = main(options.clicks, options.kinds, options.traps, options.allowed, options.read_seconds)
        sys.exit(not (asyncio.run(done) and few))
