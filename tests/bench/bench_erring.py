"""`make bench-erring`: a model with a known error rate, in a naive loop and in this library, with the same errors.

python tests/bench/bench_erring.py [--rates 0 1 3 5 10] [--arms naive plain declared] [--tasks ledger double]
python tests/bench/bench_erring.py --steps 10000 --rates 3    the long form
python tests/bench/bench_erring.py --table                    only print the tables, in Markdown

Each outcome is a line of ``episodes.jsonl``. A second start continues after the last one. A run counts at each rate at
which the model would have made the same errors, so most seeds need one run for several rates. ``--steps`` are the calls
of each arm at each rate. Exit code 1 if an aim is missed, 2 if a task could not be judged.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "flows"), str(ROOT / "flows" / "demo")]
RATES = (0.0, 1.0, 3.0, 5.0, 10.0)

if TYPE_CHECKING:
    from benchmarks.erring.episodes import Episode, Shelf


def main() -> int:
    options = _options()
    out: Path = options.out.resolve()
    if not options.table and (failed := _run(options, out)):
        print(f"{failed} tasks could not be judged")
        return 2
    from benchmarks.erring.episodes import Shelf

    episodes = [one for one in Shelf(out).read().values() if one.arm in options.arms]
    return _told(episodes, markdown=options.table, judged=not options.short)


def _run(options: argparse.Namespace, out: Path) -> int:
    """Run the episodes on their own Prefect server; return the number of those that could not be judged."""
    out.mkdir(parents=True, exist_ok=True)
    # Before the import of Prefect, which reads these variables.
    os.environ.update(
        PREFECT_HOME=str(out / "prefect"),
        PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="CRITICAL",
        PREFECT_LOGGING_TO_API_ENABLED="0",
        PREFECT_SERVER_ANALYTICS_ENABLED="0",
        DO_NOT_TRACK="1",
    )
    from holo_tasks.prefect_server.temporary import reach_directly
    from tests.bench.common import headline, prefect_server

    reach_directly(os.environ)
    headline(__file__, "a model that errs, by a naive loop and by this library")
    with prefect_server():
        from benchmarks.erring.episodes import Shelf

        return asyncio.run(Runs(options, Shelf(out)).all())


def _told(episodes: Sequence[Episode], *, markdown: bool, judged: bool) -> int:
    """Print the tables and the aims; return 1 if one is missed."""
    from benchmarks.erring.tables import aims, tables

    for table in tables(episodes):
        print(table.markdown() if markdown else table.plain())
    found = aims(episodes)
    print(*found, sep="\n\n" if markdown else "\n")
    return 1 if judged and any(aim.met is False for aim in found) else 0


class Runs:
    """Runs episodes, some side by side."""

    def __init__(self, options: argparse.Namespace, shelf: Shelf) -> None:
        self.options, self.shelf = options, shelf
        self.done = shelf.read()
        self.failed = 0

    async def all(self) -> int:
        """Run the missing episodes; return the number of those that could not be judged."""
        from benchmarks.erring.work import missing

        for task in [*self.options.tasks]:
            if why := missing(task):
                print(f"left out: {task}: {why}", flush=True)
                self.options.tasks.remove(task)
        with tempfile.TemporaryDirectory(prefix="holo-erring-", ignore_cleanup_errors=True) as scratch:
            left = iter(self.wanted())
            await asyncio.gather(*(self._work(left, Path(scratch)) for _ in range(self.options.at_once)))
        return self.failed

    def wanted(self) -> Iterator[tuple[str, float, str, int]]:
        """Yield the episodes to run, by seed first: a run that is stopped early has the same episodes in all arms."""
        options = self.options
        for seed in count() if options.steps else range(options.seeds):
            begun = False
            for rate in options.rates:
                for task in options.tasks:
                    for arm in options.arms:
                        if options.steps and self._steps(arm, rate / 100) >= options.steps:
                            continue
                        begun = True
                        yield arm, rate / 100, task, seed
            if not begun:
                return

    def _steps(self, arm: str, rate: float) -> int:
        return sum(one.calls for one in self.done.values() if (one.arm, one.rate) == (arm, rate))

    async def _work(self, left: Iterator[tuple[str, float, str, int]], scratch: Path) -> None:
        from benchmarks.erring.episodes import same_at
        from benchmarks.erring.work import run_episode

        for key in left:
            if key in self.done:
                continue
            arm, rate, task, seed = key
            folder = scratch / f"{arm}-{rate:g}-{task}-{seed}"
            try:
                one = same_at(rate, arm, task, seed, self.done.values())
                if one is None:
                    traces = self.shelf.path.parent / "traces"
                    one = await run_episode(arm, rate, task, seed, folder, traces)  # type: ignore[arg-type]
            except Exception as error:  # for example, the program did not start
                self.failed += 1
                print(f"not judged: {arm} {rate:.0%} {task} {seed}: {type(error).__name__}: {error}"[:300], flush=True)
                continue
            self.done[key] = one
            self.shelf.keep(one)
            errors = ", ".join(f"{each.kind} {each.guard or 'done'}" for each in one.errors)
            told = f"{arm:<9}{rate:>4.0%} {task:<10}{seed:>4} {one.calls:>3} calls {one.seconds:>5.1f} s  {one.word}"
            print(f"{told}  {errors}  {'; '.join(one.wrong) or one.reason}"[:230].rstrip(), flush=True)


def _options() -> argparse.Namespace:
    from benchmarks.erring.episodes import ARMS, TASKS  # nothing that imports Prefect

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES), metavar="PERCENT", help="errors a step")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="seeds of each task at each rate")
    parser.add_argument("--steps", type=int, default=0, metavar="N", help="calls of each arm at each rate, not seeds")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="desktops side by side (%(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "erring-output")
    parser.add_argument("--table", action="store_true", help="print the tables of finished episodes in Markdown")
    parser.add_argument("--short", action="store_true", help="judge no aims: a few tasks prove nothing")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
