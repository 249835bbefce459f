"""`make faults`: kill −9 the expense audit at every durable write and at 300 random moments. Takes an hour or two.

Each outcome is a line of ``outcomes.jsonl``. Started again, it continues after the last outcome. Every third moment
keeps its evidence in an S3 bucket, to include spooling and uploading. Most audits have two receipts, which is enough
for every kind of durable write. Every fifth moment has four receipts. The exit code is 1 if any promise was broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / below) for below in ("tests/apps", "flows", "flows/demo"))]

EVERY: dict[str, int] = defaultdict(lambda: 1, key=20, event=20, frame=5, hold=5, pay=5, count=5)
"""Of a very frequent point, only each n-th call is killed."""
SHORT = ("wrong_amount", "unreadable")
IDLE = ("EVENT_PERSISTER", "TASK_RUN_RECORDER", "TRIGGERS", "SCHEDULER", "LATE_RUNS", "DB_VACUUM", "FOREMAN")
"""Services of the Prefect server that no promise depends on. They would use half a core."""
WHO = {"down": ("both", "flow", "desktop"), "up": ("both", "flow", "desktop"), "key": ("both",)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "faults-output")
    parser.add_argument("--moments", type=int, default=300, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--points", type=int, default=10_000, metavar="N", help="maximal number of points, spread evenly (all)"
    )
    told = "kill at these points only; fails if one is not reached, or leaves an item to a person"
    parser.add_argument("--only", nargs="+", default=[], metavar="POINT", help=told)
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="(%(default)s)")
    parser.add_argument("--receipts", nargs="+", default=SHORT, help="receipts of most audits (%(default)s)")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    os.environ.update(
        PREFECT_HOME=str(out / "prefect"),
        PYTHON_HOLO_READ=os.environ.get("PYTHON_HOLO_READ", str(out / "read")),
        PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="WARNING",
        PREFECT_LOGGING_TO_API_ENABLED="0",
        PREFECT_SERVER_ANALYTICS_ENABLED="0",
        DO_NOT_TRACK="1",
        **{f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "0" for service in IDLE},
    )
    from s3_server import S3Server

    from holo_tasks.prefect_server.temporary import reach_directly
    from tests.bench.common import prefect_server
    from tests.support import warm

    reach_directly(os.environ)
    warm.in_tests = warm.beside is not None  # if a test run forked this process, it forks its runners too
    with ExitStack() as stack:
        stack.enter_context(prefect_server(blocks=True))
        s3 = stack.enter_context(S3Server(out / "s3"))
        bucket = {"bucket": s3.bucket, "prefix": "faults", "endpoint_url": s3.endpoint, "region": "us-east-1"}
        bucket |= {"access_key_id": s3.access_key, "secret_access_key": s3.secret_key}
        return _all(options, out, bucket)


def _all(options: argparse.Namespace, out: Path, bucket: dict[str, str]) -> int:
    from tests.faults.harness import OUTCOMES, Audit, Runner, run

    journal = out / "outcomes.jsonl"
    known = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    work = Path(tempfile.mkdtemp(prefix="holo-faults-"))
    runners: list[Runner] = []
    idle: list[Runner] = []
    lock = threading.Lock()
    began, ended_here = time.monotonic(), 0

    def one(name: str, faults: Sequence[str]) -> dict[str, Any]:
        nonlocal ended_here
        with lock:
            if not idle:
                runners.append(Runner({}))
                idle.append(runners[-1])
            runner = idle.pop()
        folder = work / name.replace(":", "-").replace("+", "_")
        seed = int(name.split()[1]) if name.startswith("moment") else None
        receipts = OUTCOMES if seed is not None and seed % 5 == 0 else options.receipts
        in_bucket = seed is not None and seed % 3 == 0
        with Audit(folder, receipts, bucket if in_bucket else None) as audit:
            outcome = run(runner, audit, faults=faults)
            points = audit.points()
        found = {"name": name, **asdict(outcome), "problems": outcome.problems}
        with lock, journal.open("a") as file:
            file.write(json.dumps({**found, "points": [] if faults else points}) + "\n")
            ended_here += 1
            idle.append(runner)
            rate = (time.monotonic() - began) / ended_here
            said = f"{outcome.seconds:5.0f} s  {'; '.join(outcome.problems) or 'ok'}"
            print(f"{name:<28} runs {outcome.runs!s:<16} {said}  ({rate:.0f} s each)", flush=True)
        if outcome.problems:
            shutil.move(folder, out / f"broken-{folder.name}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        return {**found, "points": points}

    try:
        wanted = [(name, [name]) for name in options.only]
        if options.moments or not wanted:
            # A run without a fault gives the number of points. It also gives the duration of a run with known OCR
            # results, from which the random moments are drawn.
            dry = next((entry for entry in known if entry["name"] == "no fault"), None)
            if dry is None:
                if options.moments:
                    one("first reading", ())
                dry = one("no fault", ())
            wanted = (wanted or points_of(dry["points"], options.points)) + _moments(options.moments, dry["seconds"])
        done = {entry["name"] for entry in known}
        left = [(name, faults) for name, faults in wanted if name not in done]
        print(f"{len(wanted)} audits to kill, {len(wanted) - len(left)} done before", flush=True)
        with ThreadPoolExecutor(options.workers) as pool:
            list(pool.map(lambda each: one(*each), left))
    finally:
        for runner in runners:
            runner.close()
        shutil.rmtree(work, ignore_errors=True)
    outcomes = [json.loads(line) for line in journal.read_text().splitlines()]
    clean = {entry["name"] for entry in outcomes if entry["killed"] and not entry["handed_over"]}
    return _table(outcomes) or int(not clean.issuperset(options.only))


def points_of(lines: Sequence[str], most: int) -> list[tuple[str, list[str]]]:
    """Return up to ``most`` of the points in a run's log, each with its kill: when, and which process."""
    from tests.faults.injection.kill_points import IN_DATABASE

    found = []
    for line in lines:
        point, number, *_ = line.split()
        if int(number) % EVERY[point]:
            continue
        for when in ("before", "inside", "after") if point in IN_DATABASE else ("before", "after"):
            found += [f"{point}:{when}:{number}:{who}" for who in WHO.get(point, ("flow",))]
    every = max(1, -(-len(found) // max(most, 1)))
    return [(fault, [fault]) for fault in found[::every]] if most else []


def _moments(count: int, longest_s: float) -> list[tuple[str, list[str]]]:
    """One to three kills in a row, of the flow, of its desktop or of both."""
    found = []
    for seed in range(count):
        rolls = random.Random(seed)
        most_s = longest_s * (2.5 if seed % 5 == 0 else 1.0)
        faults = [
            f"moment:{rolls.uniform(0.5, most_s):.2f}:{rolls.choice(('flow', 'flow', 'both', 'desktop'))}"
            for _ in range(rolls.choice((1, 1, 2, 3)))
        ]
        found.append((f"moment {seed}", faults))
    return found


def _table(outcomes: Sequence[dict[str, Any]]) -> int:
    """Print the results of all audits by kind of fault; return the exit code."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for outcome in outcomes:
        name = str(outcome["name"])
        rows[" ".join(name.split(":")[:2]) if ":" in name else name.split()[0]].append(outcome)
    heads = ("AUDITS", "RUNS", "KILLS", "DOUBLE", "HANDED", "PERSON", "BROKEN", "SECONDS")
    print(f"{'KILLED AT':<18}" + "".join(f"{head:>8}" for head in heads))
    for kind, found in sorted(rows.items()):
        sums = (
            len(found),
            sum(len(one["runs"]) for one in found),
            sum(one["runs"].count(-9) for one in found),
            sum(count > 1 for one in found for count in one["flags"].values()),
            sum(len(one["handed_over"]) for one in found),
            sum(one["person"] for one in found),
            sum(bool(one["problems"]) for one in found),
            round(sum(one["seconds"] for one in found)),
        )
        print(f"{kind:<18}" + "".join(f"{number:>8}" for number in sums))
    return int(any(outcome["problems"] for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
