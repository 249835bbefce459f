"""`make benchmark SUITE=field`: programs that others wrote, run by an oracle, compiled, and replayed without a model.

python flows/benchmarks/field [--programs homebank gnumeric] [--drifts none tip] [--items 3]
python flows/benchmarks/field --table     only print the table, in Markdown
python flows/benchmarks/field --also FOLDER --programs mine    a program of your own: a subclass of ``Program`` there

Each result is a line of ``field.jsonl``. A second start continues after the last one. Exit code 1 if any replay is
silently wrong or harmful.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[3]

if TYPE_CHECKING:
    from benchmarks.field.program import Program
    from benchmarks.field.results import Result, Shelf


def main() -> int:
    options = _options()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if not options.table:
        _run(options, out)
    from benchmarks.field.programs import with_folder
    from benchmarks.field.results import Shelf, markdown

    results = list(Shelf(out).read().values())
    for line in markdown(results, {name: each.title for name, each in with_folder(options.also).items()}):
        print(line)
    return 1 if any(one.verdict in ("silently wrong", "harm") for one in results) else 0


def _run(options: argparse.Namespace, out: Path) -> None:
    """Do the runs that are missing, with a Prefect server of their own."""
    # Before the import of Prefect, which reads these variables.
    os.environ.update(
        PREFECT_HOME=str(out / "prefect"),
        PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="CRITICAL",
        PREFECT_LOGGING_TO_API_ENABLED="0",
        PREFECT_SERVER_ANALYTICS_ENABLED="0",
        DO_NOT_TRACK="1",
    )
    from holo_tasks.prefect_server.temporary import TemporaryServer, reach_directly

    reach_directly(os.environ)
    server = TemporaryServer(os.environ, blocks=False)
    server.enter(os.environ)
    try:
        server.wait()
        asyncio.run(_all(options, out))
    finally:
        server.stop()


async def _all(options: argparse.Namespace, out: Path) -> None:
    from benchmarks.field.programs import with_folder
    from benchmarks.field.results import Shelf

    shelf, programs = Shelf(out), with_folder(options.also)
    for name in options.programs or programs:
        program = programs[name]()
        if why := program.missing():
            print(f"left out: {program.title}: {why}", flush=True)
            continue
        await _program(program, shelf, out / name, options)


async def _program(program: Program, shelf: Shelf, folder: Path, options: argparse.Namespace) -> None:
    """Do the runs of one program that are missing."""
    from benchmarks.field.results import Result
    from benchmarks.field.work import compiled, replayed, run_by_model

    done, known = shelf.read(), folder / "trace"
    folder.mkdir(exist_ok=True)
    ran, made = done.get((program.name, "model", "none", 0)), done.get((program.name, "compile", "none", 0))
    if ran is None or ran.verdict != "right" or not known.exists():
        made = None
        result, trace = await run_by_model(program, folder)
        known.write_text(trace)
        _keep(shelf, result)
        if result.verdict != "right":
            return
    playbook = folder / "made.yaml"
    if made is None or made.verdict != "right" or not playbook.exists():
        result = await asyncio.to_thread(compiled, program, folder, known.read_text())
        _keep(shelf, result)
        if result.verdict != "right":
            return
    if options.by_hand:
        await _by_hand(program, shelf, folder)
    wanted = [("none", number) for number in range(1, 1 + options.items)]
    wanted += [(drift, 1 + n % 3) for n, drift in enumerate(program.drifts)]
    for drift, number in wanted:
        if options.drifts and drift not in options.drifts:
            continue
        if (program.name, "replay", drift, number) in done:
            continue
        try:
            result = await replayed(program, folder, playbook, drift, number)
        except (TimeoutError, OSError) as error:  # the program did not start
            why = f"{type(error).__name__}: {error}"
            result = Result(program=program.name, kind="replay", drift=drift, item=number, verdict="failed", why=why)
        _keep(shelf, result)
    if options.heal:
        await _healed(program, shelf, folder, options)


async def _healed(program: Program, shelf: Shelf, folder: Path, options: argparse.Namespace) -> None:
    """Heal the playbook after each drift that was handed over, and replay the next item, where that was not done."""
    from benchmarks.field.healing import healed, needs_healing, replayed_healed

    done = shelf.read()
    for drift, number in needs_healing(done, program.name):
        made = done.get((program.name, "heal", drift, number))
        if made is not None or (options.drifts and drift not in options.drifts):
            continue
        try:
            made = await healed(program, folder, (folder / "trace").read_text(), drift, number)
            _keep(shelf, made)
            if made.changes:
                for one in await replayed_healed(program, folder, drift, number):
                    _keep(shelf, one)
        except (TimeoutError, OSError) as error:
            print(f"{program.name}: not healed after {drift}: {type(error).__name__}: {error}", flush=True)


async def _by_hand(program: Program, shelf: Shelf, folder: Path) -> None:
    """Record the first item by hand, and replay the second one from that, where that was not done."""
    from benchmarks.field.by_hand import recorded
    from benchmarks.field.results import Result
    from benchmarks.field.work import replayed

    done, playbook = shelf.read(), folder / "by-hand.yaml"
    made = done.get((program.name, "by hand", "none", 0))
    if made is None or (made.verdict == "right" and not playbook.exists()):
        try:
            made = await recorded(program, folder)
        except (TimeoutError, OSError) as error:
            why = f"{type(error).__name__}: {error}"
            made = Result(program=program.name, kind="by hand", verdict="failed", why=why)
        _keep(shelf, made)
    if made.verdict == "right" and (program.name, "replay by hand", "none", 1) not in done:
        _keep(shelf, await replayed(program, folder, playbook, "none", 1, "replay by hand"))


def _keep(shelf: Shelf, result: Result) -> None:
    shelf.keep(result)
    where = f"{result.program:<12} {result.kind:<8} {result.drift:<16} {result.item}"
    print(
        f"{where} {result.verdict:<15} {result.steps:>3} steps {result.seconds:>6.1f} s  {result.why[:400]}", flush=True
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=[], metavar="NAME", help="only these programs")
    parser.add_argument(
        "--drifts", nargs="+", default=[], metavar="NAME", help="only these drifts; none means unchanged"
    )
    parser.add_argument(
        "--items", type=int, default=3, metavar="N", help="replayed items of each program (%(default)s)"
    )
    parser.add_argument("--by-hand", action="store_true", help="record the first item by hand, too (needs xdotool)")
    parser.add_argument("--heal", action="store_true", help="heal the playbook after drifts that were handed over")
    parser.add_argument("--also", type=Path, metavar="FOLDER", help="a folder of modules with more programs")
    parser.add_argument("--out", type=Path, default=ROOT / "field-output")
    parser.add_argument("--table", action="store_true", help="only print the table of finished runs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.path[:1] = [str(ROOT / "flows" / "demo"), str(ROOT / "flows")]  # this folder is a package in the last one
    sys.exit(main())
