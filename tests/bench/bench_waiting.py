"""`make bench-waiting`: early pictures of programs that wait for a server, and the cost of waiting.

A form goes to a server that answers after a delay. The model believes its picture: it presses the button as long as the
form is shown, and answers as soon as the answer is shown. Each form must be sent once, in two calls. Then the opposite
error: programs that talk to a server all the time change a block's color at each click. The time from the click to the
picture is compared with that of the same program without the talk. Bad cells are listed at the end, and fail the
benchmark. --short runs a few cells, and judges no times.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from common import APPS, headline, table

from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.activity import PATIENCE_S
from holo_tasks.desktop import tk_python
from tests.support import waiting_programs as programs
from tests.support.background_talk import talking_servers
from tests.support.slow_pages import COUNTED, KINDS, TALKS
from tests.support.slow_server import SlowServer, certificate
from tests.support.waiting_programs import Came, TimedDesktop

DELAYS_S = (0.0, 0.3, 1.0, 2.5, 6.0)
MODEL_S = (0.05, 1.5)
AGES = ("fresh", "old")
OLD_S = 30.0
"""Age of an old process."""
PROGRAM = "program"
"""Kind of a native program, which asks its server in a thread."""
NATIVE_TALKS = ("mailbox", "database")
LATE_S, EXTRA_S = 0.1, 0.1
"""Limits of the medians: beyond the server's time, and beyond the same step without talk."""
FEWEST_CALLS = 2
THINK_S, READ_S = (0.3, 1.2), 4.0
"""Time to decide on a click, and to read a page before the first one."""


@dataclass(frozen=True)
class Row:
    """One row of the first table: a kind of form in a program, under the same conditions."""

    program: str
    kind: str
    tls: bool
    age: str
    model_s: float

    @property
    def words(self) -> tuple[str, ...]:
        return self.program, self.kind, "TLS" if self.tls else "plain", self.age, f"{self.model_s:g} s"


Found = dict[tuple[Row, float], Came]


class Grid:
    """Fills in the first table."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.found: Found = {}
        self._options = options
        self._folder = folder
        self._pem = certificate(folder)

    async def fill(self) -> None:
        for program in self._options.programs:
            if not programs.installed(program):
                print(f"{program}: not installed, its rows are omitted", flush=True)
                continue
            kinds = self._options.kinds if program in programs.BROWSERS else [PROGRAM]
            for connection in self._options.connections:
                for age in self._options.ages:
                    rows = [
                        Row(program, kind, connection == "TLS", age, model_s)
                        for kind in kinds
                        for model_s in self._options.model_seconds
                    ]
                    await (self._in_one_process(rows) if age == "old" else self._in_processes_of_their_own(rows))

    async def _in_one_process(self, rows: Sequence[Row]) -> None:
        with self._server(rows[0]) as server, self._home() as home:
            server.kind = rows[0].kind
            async with programs.started(programs.command(rows[0].program, server.url, home, server), home) as desktop:
                await programs.show_form(desktop, server)
                await asyncio.sleep(self._options.old_seconds)
                for row in rows:
                    await self._send_each(row, desktop, server)

    async def _send_each(self, row: Row, desktop: TimedDesktop, server: SlowServer) -> None:
        """Send the form with each delay. A page of another kind first gets one form, which leads to the right page."""
        if server.kind != row.kind:
            server.delay_s = 0.0
            await self._sent(row, desktop, server)
            server.kind = row.kind
        for delay_s in self._options.delays:
            await programs.show_form(desktop, server)
            server.delay_s = delay_s
            self._keep(row, delay_s, await self._sent(row, desktop, server))

    async def _in_processes_of_their_own(self, rows: Sequence[Row]) -> None:
        for row in rows:
            for delay_s in self._options.delays:
                with self._server(row) as server, self._home() as home:
                    server.kind, server.delay_s = row.kind, delay_s
                    app = programs.command(row.program, server.url, home, server)
                    async with programs.started(app, home) as desktop:
                        await programs.show_form(desktop, server)
                        self._keep(row, delay_s, await self._sent(row, desktop, server))

    async def _sent(self, row: Row, desktop: TimedDesktop, server: SlowServer) -> Came:
        return await programs.send_form(desktop, server, row.model_s)

    @contextmanager
    def _server(self, row: Row) -> Iterator[SlowServer]:
        with SlowServer(self._pem if row.tls else None) as server:
            yield server

    @contextmanager
    def _home(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as home:
            yield Path(home)

    def _keep(self, row: Row, delay_s: float, came: Came) -> None:
        self.found[row, delay_s] = came
        print(f"{', '.join(row.words)}, {delay_s:g} s: {_cell(came, delay_s)} {came.error}".rstrip(), flush=True)


def _is_right(came: Came) -> bool:
    return came.sent == 1 and came.calls == FEWEST_CALLS and not came.error


def _cell(came: Came, delay_s: float) -> str:
    """Format a cell: sent forms, calls, and milliseconds of the step beyond the server's time."""
    late = f"{1000 * (came.step_s - delay_s):+.0f}" if _is_right(came) else "!"
    return f"{came.sent} {came.calls} {late}"


def tell_grid(found: Found, delays: Sequence[float], *, judge_times: bool) -> list[str]:
    """Print the first table and the medians of its kinds; return the bad cells."""
    rows = list(dict.fromkeys(row for row, _ in found))
    heads = ["program", "form", "connection", "process", "model", *(f"D = {delay_s:g} s" for delay_s in delays)]
    cells = [(*row.words, *(_cell(found[row, delay_s], delay_s) for delay_s in delays)) for row in rows]
    table(
        "a form: how often it was sent (1), calls (2), ms beyond the server's time; ! marks a bad cell",
        heads,
        cells,
        words=5,
    )
    bad = [
        f"{', '.join(row.words)}, {delay_s:g} s: sent {came.sent}, calls {came.calls}"
        for (row, delay_s), came in found.items()
        if not _is_right(came)
    ]
    medians = []
    for program, kind in dict.fromkeys((row.program, row.kind) for row in rows):
        cells_of = {key: came for key, came in found.items() if (key[0].program, key[0].kind) == (program, kind)}
        late_s = [came.step_s - delay_s for (_, delay_s), came in cells_of.items() if _is_right(came)]
        right = f"{len(late_s)} of {len(cells_of)}"
        median, longest = (f"{1000 * value:.0f}" if late_s else "-" for value in _median_and_most(late_s))
        quiet_s = [came.quiet_s for came in cells_of.values() if _is_right(came)]
        quiet = f"{1000 * statistics.median(quiet_s):.0f}" if quiet_s else "-"
        medians.append((program, kind, right, median, quiet, longest))
        if judge_times and late_s and statistics.median(late_s) > LATE_S:
            bad.append(f"{program}, {kind}: {median} ms beyond the server's time in the median")
    heads = ["program", "form", "right", "median ms", "of that since the last repaint", "longest ms"]
    table("time of a step beyond its server's time (aim: 100 ms in the median)", heads, medians, words=2)
    return bad


def _median_and_most(values: Sequence[float]) -> tuple[float, float]:
    return (statistics.median(values), max(values)) if values else (0.0, 0.0)


@dataclass(frozen=True)
class Steps:
    """Durations of some clicks in seconds, and the number of pictures taken before their effect was visible.

    ``start_s`` is the start time of the desktop and its program.
    """

    took_s: list[float]
    early: int
    start_s: float = 0.0


async def clicked(desktop: TimedDesktop, clicks: int, seed: str) -> Steps:
    """Click on a counter repeatedly; look after each click."""
    chance, early = random.Random(seed), 0
    at = await programs.until_shown(desktop, *COUNTED)
    await asyncio.sleep(READ_S)
    await desktop.look()
    desktop.forget_times()
    for number in range(1, clicks + 1):
        await asyncio.sleep(chance.uniform(*THINK_S))
        await desktop.do(Click(at))
        frame = await desktop.look(after_action=True)
        shown = programs.blocks(programs.image_of(frame), COUNTED)
        early += COUNTED[number % 2] not in shown
    return Steps(list(desktop.steps_s), early)


async def talk_pair(talk: str, clicks: int, folder: Path) -> tuple[Steps, Steps]:
    """Return the results of clicks without a talk, and with it."""
    found = []
    for said in ("", talk):
        with (
            tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as home,
            SlowServer() as server,
            talking_servers(Path(home)) as servers,
        ):
            server.talk = said
            if talk in NATIVE_TALKS:
                app = [tk_python(), str(APPS / "talkative_tk.py"), *([said, servers[said]] if said else ["nothing"])]
            else:
                app = programs.command("Chromium", f"{server.url}counter", Path(home), server)
            began = time.monotonic()
            async with programs.started(app, Path(home)) as desktop:
                start_s = time.monotonic() - began
                found.append(replace(await clicked(desktop, clicks, talk), start_s=start_s))
    return found[0], found[1]


async def tell_talks(talks: Sequence[str], clicks: int, folder: Path, *, judge_times: bool) -> list[str]:
    """Print the table of talkative programs; return the bad cells."""
    rows, bad = [], []
    for talk in talks:
        quiet, talking = await talk_pair(talk, clicks, folder)
        extra_s = statistics.median(talking.took_s) - statistics.median(quiet.took_s)
        longest_s = max(talking.took_s)
        times = (
            f"{1000 * value:.0f}" for value in (statistics.median(quiet.took_s), extra_s, max(quiet.took_s), longest_s)
        )
        program = "Tk" if talk in NATIVE_TALKS else "Chromium"
        starts = (f"{steps.start_s:.1f}" for steps in (quiet, talking))
        rows.append((program, talk, *times, quiet.early, talking.early, *starts))
        print(
            f"{program}, {talk}: {1000 * extra_s:+.0f} ms, longest {longest_s:.2f} s, early {talking.early}", flush=True
        )
        if judge_times and extra_s > EXTRA_S:
            bad.append(f"{program}, {talk}: {1000 * extra_s:.0f} ms more a step")
        if longest_s >= PATIENCE_S:
            bad.append(f"{program}, {talk}: a step took {longest_s:.1f} s, the whole patience")
        bad += [
            f"{program}, {talk}: {early} pictures too early {how}"
            for early, how in ((quiet.early, "without the talk"), (talking.early, "with it"))
            if early
        ]
    heads = [
        "program",
        "talk",
        "quiet ms",
        "extra ms",
        "longest quiet ms",
        "longest ms",
        "early quiet",
        "early",
        "start quiet s",
        "start s",
    ]
    title = f"programs that talk all the time: {clicks} clicks each (aim: 100 ms more in the median, none too early)"
    table(title, heads, rows, words=2)
    return bad


def main() -> int:
    options = _options()
    headline(__file__, "programs that wait for their server, and programs that talk all the time")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="holo-bench-", ignore_cleanup_errors=True) as scratch:
        bad = asyncio.run(_measured(options, Path(scratch)))
    print(f"\n{time.monotonic() - began:.0f} s; {len(bad)} bad cells", *bad, sep="\n  ")
    return 1 if bad else 0


async def _measured(options: argparse.Namespace, folder: Path) -> list[str]:
    bad: list[str] = []
    if options.programs and options.delays:
        grid = Grid(options, folder)
        await grid.fill()
        bad += tell_grid(grid.found, options.delays, judge_times=not options.short)
    if options.talks:
        bad += await tell_talks(options.talks, options.clicks, folder, judge_times=not options.short)
    return bad


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    every = [*programs.BROWSERS, *programs.NATIVE]
    usual = [program for program in every if program != programs.BARE]
    parser.add_argument("--programs", nargs="*", choices=every, default=usual)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="of forms in browsers")
    parser.add_argument("--delays", nargs="+", type=float, default=list(DELAYS_S), metavar="SECONDS")
    parser.add_argument("--model-seconds", nargs="+", type=float, default=list(MODEL_S), help="what a call takes")
    parser.add_argument("--connections", nargs="+", choices=["plain", "TLS"], default=["plain", "TLS"])
    parser.add_argument("--ages", nargs="+", choices=AGES, default=list(AGES), help="of processes")
    parser.add_argument("--old-seconds", type=float, default=OLD_S, help="age of an old process in seconds")
    parser.add_argument("--talks", nargs="*", choices=[*TALKS, *NATIVE_TALKS], default=[*TALKS, *NATIVE_TALKS])
    parser.add_argument("--clicks", type=int, default=20, help="on each talkative program")
    parser.add_argument("--short", action="store_true", help="a few cells; no times are judged")
    options = parser.parse_args()
    if options.short:
        options.programs, options.kinds, options.delays = ["Chromium", "Tk"], ["form"], [0.6]
        options.model_seconds, options.connections, options.ages = [0.05], ["plain"], ["fresh"]
        options.talks, options.clicks = ["long poll"], 3
    return options


if __name__ == "__main__":
    sys.exit(main())
