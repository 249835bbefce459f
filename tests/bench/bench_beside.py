"""Rates of refused clicks next to a moving element, and of presses that must be refused.

`python tests/bench/bench_beside.py [--clicks 500] [--tree FOLDER]` first clicks in Chromium next to each kind of moving
element, on the neighboring sheet. Then it sets traps in a Tk window or in Chromium: the target changes after the look.
It fails if more clicks were refused than allowed (none), or if a trap was missed. A trap that fired before the ticking
element was learned tests nothing; their number is printed.

Runs of five clicks follow (`--runs`), each in a new process on one borrowed display, as a person starts one command
after another. Some traps test the knowledge that one such process passes to the next.

--tree tests the package in another folder, for example an older version.
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
"""Thinking time before each click, and the longest time to learn the ticking element before a trap."""
FLAGS = (
    "no-sandbox test-type disable-gpu no-first-run disable-background-networking disable-component-update disable-sync "
    "window-position=0,0 window-size=1280,800"
)
BUTTONS = [(60, 22 + 33 * number) for number in range(8)]
"""Positions of the page's buttons, from its corner."""
OPEN = (235, 140)
ROW, NAMED = "its row looks different", "it looks different there"
WINDOW = "its window looks different"
CLOCK, LABEL, NEXT = (570, 140), (100, 140), (495, 140)
"""In the window of traps: a clock's position, and those of the target's name on its own and on the next sheet."""
TRAPS = {  # the trap, the reason of the refusal, and the position of an element that must have been learned as ticking
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
    "scrolled": ("another text in the clock's place", ROW, CLOCK),
    "question": ("another question in a window that flickers", WINDOW, OPEN),
    "beside": ("rows over two sheets: all names tick", ROW, NEXT),
    "own": ("rows over two sheets: one name ticks", ROW, NEXT),
    "edge": ("rows over two sheets: a name at the far edge", ROW, (680, 140)),
    "lines": ("rows of two lines over two sheets", ROW, NEXT),
    "third": ("rows over three sheets", ROW, (570, 140)),
    "few": ("rows over two sheets, few with a name", ROW, NEXT),
    "queue": ("an amount behind names that stay the same", ROW, (510, 140)),
    "grows": ("rows over two sheets: a list that grows", ROW, NEXT),
    "trees": ("rows over two tables of Tk", ROW, (500, 140)),
    "rows": ("rows over two sheets of a page: all names tick", ROW, (190, 121)),
    "row": ("the same: one name ticks, at the far edge", ROW, (325, 121)),
}
HANDED_OVER = {  # the same after an earlier process learned a ticking clock at this position; None: it learned none
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
"""Traps with a second valid reason: that button's letters shimmer as well, and may have their other color."""
PAGES = ("rows", "row")
"""Traps in Chromium."""
WATCHED_S = {"silence": 27.0, "slow": 36.0}
"""Minimum times of observation before a trap, in seconds."""


async def act(desktop: Any, gesture: Any, number: int) -> str:
    """Perform a gesture on a frame; return the reason of a refusal."""
    from holo_tasks.core.errors import ScreenChanged
    from holo_tasks.core.input.input_permit import InputPermit, gesture_digest

    input_permit = InputPermit(gesture_digest(gesture), time.monotonic() + 60, frame=number)
    try:
        await desktop.do(gesture, input_permit=input_permit)
    except ScreenChanged as error:
        return str(error).partition(": ")[2].removesuffix(". Nothing was done.")
    return ""


@asynccontextmanager
async def page(kind: str) -> AsyncIterator[Any]:
    """Show elements of a kind in Chromium."""
    from holo_tasks.core.screen.geometry import Size
    from holo_tasks.desktop import VirtualDesktop

    with tempfile.TemporaryDirectory(prefix="holo-bench-", ignore_cleanup_errors=True) as home:
        url = f"{(APPS / 'beside.html').as_uri()}#{kind}"
        flags = [f"--{flag}" for flag in FLAGS.split()]
        command = ["chromium", *flags, f"--user-data-dir={home}", f"--app={url}"]
        async with VirtualDesktop(size=Size(1280, 800), app=command, env={"HOME": home}, app_timeout_s=60) as desktop:
            yield desktop


def corner(frame: Any) -> tuple[int, int]:
    """Return the position of the page's first sheet: the corner of its white next to the background."""
    size, white, ground = frame.size, b"\xff\xff\xff", b"\x55\x55\x55"
    pixels = memoryview(frame.rgb)
    for y in range(size.height):
        line = bytes(pixels[3 * y * size.width : 3 * (y + 1) * size.width])
        if (x := line.find(white * 150)) >= 0 and (white * 5 + ground * 5 + white * 5) in line:
            return x // 3, y
    raise SystemExit("The page was not shown.")


async def shown(desktop: Any) -> Any:
    """Return the first picture with the page: its window may appear earlier."""
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
    """Wait until the page's title shows this number of clicks."""
    end = time.monotonic() + 15
    while str(clicks) not in (titles := [window.title for window in await desktop.windows()]):
        if time.monotonic() > end:
            raise SystemExit(f"The page got {titles} of {clicks} clicks.")
        await asyncio.sleep(0.05)


async def beside(kind: str, clicks: int, read_s: float) -> tuple[Counter[str], list[float]]:
    """Look, think, and click, repeatedly; return the reasons of refusals, and the time of each click."""
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
    """Reasons of refused clicks, and seconds of each first look, click and whole run."""

    refused: Counter[str]
    first_s: list[float]
    click_s: list[float]
    whole_s: list[float]


def borrowed(desktop: Any) -> Any:
    """Attach to a desktop's display from another process, as a command with a given display does."""
    from holo_tasks.desktop import AttachedDesktop

    return AttachedDesktop(desktop.display, env={"XAUTHORITY": str(desktop.authority)})


async def one_after_another(kind: str, runs: int) -> Runs:
    """Click five times in each of several processes, on one display."""
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
    """The reason of a refused press.

    ``tried`` is whether the ticking element was learned before, so the trap was a test.
    """

    why: str
    tried: bool


class Program:
    """The program on a desktop, and its output."""

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
    """Look, change the target during the thinking time, and return the reason of the refused press."""
    from holo_tasks.core.input.gestures import Click, Hotkey
    from holo_tasks.core.screen.geometry import Point

    left, top = corner_
    x, y = TRAPS[trap][2]

    async def learned() -> bool:
        boxes = await desktop.repainting_areas() if hasattr(desktop, "stirring") else ()
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
    """Let one process learn a clock, and spring the trap on the next one."""
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
            boxes = await desktop.repainting_areas()
            x, y = left + where[0], top + where[1]
            knows = any(box.left <= x < box.right and box.top <= y < box.bottom for box in boxes)
    await program.change()
    async with borrowed(screen) as desktop:
        frame = await desktop.look()
        # A clock that stops becomes a name at the time of its next tick, so that the rhythm alone gives no hint.
        await asyncio.sleep(1.9 if trap == "halts" else 1.2)
        await program.change()
        await asyncio.sleep(0.1)
        return Sprung(await act(desktop, Click(Point(left + OPEN[0], top + OPEN[1])), frame.number), knows)


async def trapped(trap: str) -> Sprung:
    """Show a trap's scene, and spring it."""
    from holo_tasks.desktop import VirtualDesktop, tk_python

    if trap in PAGES:
        async with page(trap) as desktop:

            async def nothing() -> None:
                """Do not change the page: it ticks by itself."""

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
    """Print the refused clicks of runs next to each kind of element; return whether the number is allowed.

    The first process on a display cannot learn from an earlier one, so one more refusal per kind is allowed.
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
    """Run the selected kinds and traps, and print the results; return whether all are within the limits."""
    rows, each = [], -(-clicks // max(1, len(kinds)))
    for kind in kinds:
        refused, took_s = await beside(kind, each, read_s)
        why = ", ".join(f"{count} {reason}" for reason, count in refused.items())
        rows.append((kind, why, each, refused.total(), ms(took_s)))
        print(f"{kind}: {refused.total()} of {each} refused", flush=True)
    columns = ["beside", "because", "clicks", "refused", "ms each"]
    table("clicks next to moving elements, in Chromium", columns, rows, words=2)
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
    headline(__file__, "clicks refused next to moving elements, and traps")
    with scratch_home():
        few = asyncio.run(run_tables(options.runs, options.run_kinds, options.allowed))
        done = main(options.clicks, options.kinds, options.traps, options.allowed, options.read_seconds)
        sys.exit(not (asyncio.run(done) and few))
