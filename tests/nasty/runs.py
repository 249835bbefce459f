"""`make nasty`: run each nasty program 20 times with the library's guards and 20 times without, and print a table.

Each outcome is a line of ``outcomes.jsonl``; a second start resumes there. The exit code is 1 if a guarded run has an
unexpected outcome, or if no unguarded run did harm in a program where harm is expected.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "flows"), str(ROOT / "flows" / "demo")]
LATENCY_S = 1.5
"""About the time that a model takes to answer. Popups of this time appear between its screenshot and its click."""


def main() -> int:
    from benchmarks.nasty.programs.seeds import KINDS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "nasty-output")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(20)), metavar="N")
    parser.add_argument("--mode", choices=("careful", "careless", "both"), default="both")
    parser.add_argument("--latency", type=float, default=LATENCY_S, metavar="S", help="of the model (%(default)s)")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    os.environ.update(
        PREFECT_HOME=str(out / "prefect"),
        PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="CRITICAL",
        PREFECT_LOGGING_TO_API_ENABLED="0",
        PREFECT_SERVER_ANALYTICS_ENABLED="0",
        DO_NOT_TRACK="1",
    )
    from holo_tasks.prefect_server.temporary import reach_directly
    from tests.bench.common import prefect_server

    reach_directly(os.environ)
    with prefect_server():
        modes = {"careful": [True], "careless": [False], "both": [True, False]}[options.mode]
        wanted = [(kind, seed, careful) for seed in options.seeds for kind in options.kinds for careful in modes]
        return asyncio.run(_all(wanted, out, options.latency))


async def _all(wanted: Sequence[tuple[str, int, bool]], out: Path, latency_s: float) -> int:
    from benchmarks.nasty.expected import as_expected, failures, table
    from tests.nasty.filing import Outcome, careless_model, file_one

    journal = out / "outcomes.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    done = {(line["kind"], line["seed"], line["careful"]): Outcome(**line) for line in lines}
    work = Path(tempfile.mkdtemp(prefix="holo-nasty-"))
    with careless_model(latency_s) as model:
        for kind, seed, careful in wanted:
            if (kind, seed, careful) in done:
                continue
            folder = work / f"{kind}-{seed}-{careful}"
            outcome = await file_one(kind, seed, model, folder, careful=careful)
            done[kind, seed, careful] = outcome
            with journal.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
            how = "careful " if careful else "careless"
            told = f"{kind:<10}{outcome.variant:<22}{seed:>3} {how} {outcome.seconds:>4.0f} s {outcome.steps:>3} steps"
            fine = as_expected(outcome)
            why = "" if fine else f": not as expected. {outcome.wrong or outcome.reason} {outcome.trace}"
            print(f"{told}  {outcome.word}{why}", flush=True)
            if fine:
                shutil.rmtree(folder)
    outcomes = [done[key] for key in wanted]
    wrong = failures(outcomes)
    print("", *table(outcomes), *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
