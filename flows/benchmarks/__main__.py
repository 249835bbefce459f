"""Command of `make benchmark`: run the benchmark flow on this machine, with a temporary Prefect server.

python flows/benchmarks [--suite miniwob] [--tasks click-test login-user] [--seeds 3] [--scale 1 1.25 2]

Without a key (HAI_API_KEY, or HOLO_BASE_URL) an oracle decides. It knows the positions of all controls, so the
benchmark measures everything except the model. Started again with the same options, it resumes after the last finished
item.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
NOTHING_OF_STEPS = {
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "0",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_ENABLED": "0",
}
"""The server does not record each step as a task run with its events. The evidence holds all steps, and a server that
writes thousands of rows has no time for flow runs that begin."""

if TYPE_CHECKING:
    from benchmarks.results import Kept, Shelf


def main() -> int:
    """Run a benchmark on this machine; return 1 if anything in it did not succeed."""
    options = parser().parse_args()
    from holo_tasks.machine.private import make_private
    from holo_tasks.machine.umask import narrow_umask

    narrow_umask()
    out: Path = options.out.resolve()
    make_private(out)
    # Prefect reads its settings at import, so they are set before it.
    os.environ.update(
        PREFECT_HOME=str(out / "prefect"),
        HOLO_HOME=str(out / "holo"),
        HOLO_REPORTS=str(out),
        PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="WARNING",
        PREFECT_SERVER_ANALYTICS_ENABLED="0",
        DO_NOT_TRACK="1",
        **NOTHING_OF_STEPS,
    )
    os.environ.pop("PREFECT_PROFILE", None)
    from holo_tasks.core.errors import HoloError
    from holo_tasks.prefect_server.temporary import TemporaryServer, reach_directly

    reach_directly(os.environ)
    try:
        with ExitStack() as stack:
            server = TemporaryServer(os.environ, blocks=False)  # no block is saved here
            stack.callback(server.stop)
            server.enter(os.environ)
            server.wait()
            return run_and_print(options)
    except HoloError as error:
        print(f"benchmark: {error.status}: {' '.join(str(error).split())}", file=sys.stderr)
        return error.exit_code


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--suite", nargs="+", default=["miniwob"], help="which suites")
    read.add_argument("--tasks", nargs="+", default=[], help="only these of their tasks")
    read.add_argument("--seeds", type=int, default=1, metavar="N", help="number of seeds of each task (%(default)s)")
    read.add_argument("--first-seed", type=int, default=0, metavar="N", help="the first seed (%(default)s)")
    read.add_argument(
        "--scale", type=float, nargs="+", default=[1.0], help="scales of the display, for example 1 1.25 2"
    )
    read.add_argument(
        "--desktops", type=int, default=1, metavar="N", help="number of concurrent desktops (%(default)s)"
    )
    read.add_argument(
        "--replay", action="store_true", help="let playbooks act first, and ask the model only where none fits"
    )
    read.add_argument("--compare", metavar="NAME", help="compare with this earlier benchmark")
    read.add_argument("--tree", action="store_true", help="let programs offer their accessibility elements")
    read.add_argument("--name", default="", help="name of this benchmark; by default the time")
    read.add_argument("--out", type=Path, default=ROOT / "benchmark-output", help="where everything goes")
    return read


def run_and_print(options: argparse.Namespace) -> int:
    """Run the flow with the options of the command line, and print its results."""
    from benchmark import benchmark
    from benchmarks.results import Shelf
    from holo_tasks.run.prefect_edge.artifacts import flush_logs

    asked: dict[str, Any] = {
        "suites": tuple(options.suite),
        "tasks": tuple(options.tasks),
        "seeds": options.seeds,
        "first_seed": options.first_seed,
        "scales": tuple(options.scale),
        "desktops": options.desktops,
        "compare": options.compare or "",
        "tree": options.tree,
        "replay": options.replay,
        "name": options.name,
    }

    async def run() -> str:
        name: str = await benchmark(**asked)
        await flush_logs()  # before the server stops
        return name

    name = asyncio.run(run())
    shelf = Shelf(options.out.resolve())
    kept = shelf.read(name)
    for line in in_words(kept, shelf):
        print(line)
    print(f"page      {shelf.place(name) / 'index.html'}\ntable     {shelf.place(name) / 'results.csv'}")
    return 0 if all(result.outcome.good for result in kept.results) else 1


def in_words(kept: Kept, shelf: Shelf) -> Iterator[str]:
    """Yield the lines of a benchmark's summary on the terminal."""
    from benchmarks.figures import row, rows_by

    fewest = shelf.fewest()
    rows = [*rows_by(lambda one: f"{one.outcome.suite} at {one.outcome.scale:g}", kept.results, fewest)]
    rows.append(row("all", kept.results, fewest))
    cells = [each.cells for each in rows]
    yield f"\nDecided by {kept.plan.conditions}."
    wide = {name: max(len(name), *(len(each[name]) for each in cells)) for name in cells[0]}
    yield "  ".join(name.ljust(wide[name]) for name in cells[0])
    for each in cells:
        yield "  ".join(text.ljust(wide[name]) for name, text in each.items())
    for result in kept.results:
        if not result.outcome.good:
            outcome = result.outcome
            yield f"{outcome.word}: {outcome.item.name}: {outcome.reason or outcome.judged.why}"


if __name__ == "__main__":
    sys.path[:1] = [str(ROOT / "flows" / "demo"), str(ROOT / "flows")]  # this folder is a package in the last one
    sys.exit(main())
