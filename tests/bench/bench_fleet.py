"""`make fleet`: file lists of reports by a real fleet on this machine, with kills, and check the effects.

It starts Postgres, Redis, two Prefect servers behind a front, SeaweedFS and a model over HTTP. Then it starts isolated
machines, each with a Prefect worker, that see one another as separate machines. One desktop and several work through a
list, by the model and by a compiled playbook. With ``--kills``, machines, workers and flow runs are killed at random
moments. Another list is rerun after nearly all its items were done. The effects are counted in the program's own log.
Each finished round goes to a journal; another start continues after it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from common import ROOT, SHARED, headline, scratch_home, table

from tests.bench.fleet.killing import FAULTS, KINDS
from tests.bench.fleet.parts import Parts
from tests.bench.fleet.rounds import Asked, Came, Round, deploy, median, memory_of_a_desktop

OUT = ROOT / "bench-output"
WITHIN_S, BEGUN_S = 120.0, 30.0
"""Time limits: for the items of a killed worker to be done elsewhere, and for the first item of a rerun list."""


def main() -> int:
    options = _options()
    # SIGTERM ends this process with a cleanup of its children.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A script's background jobs inherit an ignored SIGINT, and so would Prefect's workers, which then ignore
        # SIGTERM.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    headline(__file__, "lists of work on a fleet")
    journal = Journal(options.out, anew=options.anew)
    wanted = [one for one in _rounds(options) if not journal.has(one)]
    if wanted:
        with scratch_home() as home:
            os.environ["HOLO_PATIENCE"] = "120"
            parts = Parts(home / "fleet", options.model_seconds, api=os.environ.get(SHARED, ""))
            with parts:
                os.environ.update(parts.env)
                asyncio.run(_work(parts, wanted, journal))
    return _tell(options, journal)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1000, help="of a list (%(default)s)")
    parser.add_argument("--alone", type=int, default=30, help="items of the list for one desktop (%(default)s)")
    parser.add_argument("--by", nargs="+", choices=["model", "playbook"], default=["model", "playbook"])
    parser.add_argument("--desktops", type=int, nargs="+", default=[1, 10, 20])
    parser.add_argument("--workers", type=int, default=3, help="machines with a Prefect worker (%(default)s)")
    parser.add_argument("--model-seconds", type=float, default=1.5, help="latency of the model (%(default)s)")
    parser.add_argument("--kills", type=int, default=0, help="kills during one more round (%(default)s)")
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=[], help="what else befalls that round")
    parser.add_argument("--again", type=int, default=10_000, help="items of the rerun list; 0: no rerun")
    parser.add_argument("--new", type=int, default=10, help="number of new ones among those (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments of kills (%(default)s)")
    parser.add_argument("--anew", action="store_true", help="repeat rounds that the journal has")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of journal and results")
    return parser.parse_args()


def _rounds(options: argparse.Namespace) -> list[Asked]:
    found = []
    for by in options.by:
        for desktops in options.desktops:
            items = options.items if desktops > 1 else min(options.alone, options.items)
            found.append(Asked(by, desktops, min(options.workers, desktops), items, options.model_seconds))
    most = min(10, max(options.desktops))
    workers = min(options.workers, most)
    if options.kills or options.faults:
        more = {"kills": options.kills, "seed": options.seed, "faults": " ".join(options.faults)}
        found.append(Asked(options.by[0], most, workers, options.items, options.model_seconds, **more))
    if options.again:
        done = options.again - options.new
        found.append(Asked(options.by[0], most, workers, options.again, options.model_seconds, done=done))
    return found


class Journal:
    """Results of the rounds, one per line, and all results in one file at the end."""

    def __init__(self, folder: Path, *, anew: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file, self._all = folder / "fleet.jsonl", folder / "fleet.json"
        if anew:
            self._file.unlink(missing_ok=True)
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        self.rounds = {Asked(**one["asked"]): Came(**one["came"]) for one in map(json.loads, lines)}

    def has(self, asked: Asked) -> bool:
        if asked in self.rounds:
            print(f"  {asked.name}: the journal has it ({self._file})")
        return asked in self.rounds

    def keep(self, asked: Asked, came: Came) -> None:
        self.rounds[asked] = came
        with self._file.open("a") as file:
            file.write(json.dumps(_line(asked, came)) + "\n")

    def write(self, asked: Sequence[Asked]) -> Path:
        """Write the results of these rounds to one file."""
        told = [_line(one, self.rounds[one]) for one in asked]
        self._all.write_text(json.dumps(told, indent=1) + "\n")
        return self._all


def _line(asked: Asked, came: Came) -> dict[str, Any]:
    return {"asked": asdict(asked), "came": asdict(came)}


async def _work(parts: Parts, wanted: Sequence[Asked], journal: Journal) -> None:
    await deploy(parts)
    for number, asked in enumerate(wanted, start=1):
        print(f"  {asked.name}", flush=True)
        came = await Round(parts, asked, number).work()
        journal.keep(asked, came)
        print(
            f"    {came.done:,} done, {came.failed} not, {came.doubled} doubled, {came.lost} lost;"
            f" {came.an_hour:,.0f} an hour ({came.load})",
            flush=True,
        )


def _tell(options: argparse.Namespace, journal: Journal) -> int:
    asked = _rounds(options)
    plain = [one for one in asked if not one.disturbed and not one.done]
    rows = [_row(one, journal.rounds[one], _alone(plain, one, journal)) for one in plain]
    columns = ["by", "desktops", "machines", "items", "an hour", "ratio", "failed", "doubled", "lost"]
    columns += ["MB each", "MB share", "start s", "Prefect CPU", "Prefect wait", "CPU", "load"]
    table("a list on a fleet", columns, rows)
    print(
        "  an hour: from the begin of the first flow run to the last effect; ratio: to one desktop, by the same means"
    )
    print("  MB each: PSS of a desktop without its program; MB share: of the flow run's process, by its desktops")
    print("  start: median until a desktop is there; Prefect CPU: of its servers and workers, of all CPU time but the")
    print("  model's; Prefect wait: time of flow runs for its answers, in an item's time; CPU: of all, of one CPU")
    problems = [problem for one in asked for problem in _problems(one, journal.rounds[one])]
    for one in asked:
        if one.disturbed:
            _tell_kills(one, journal.rounds[one])
        elif one.done:
            came = journal.rounds[one]
            print(f"\n{one.name}: the first new one is filed after {came.first_s:.1f} s (aim ≤ {BEGUN_S:.0f} s)")
    print(f"\nall of it: {journal.write(asked)}")
    for problem in problems:
        print(f"PROBLEM: {problem}")
    return 1 if problems else 0


def _alone(plain: Sequence[Asked], one: Asked, journal: Journal) -> Came | None:
    return next((journal.rounds[other] for other in plain if other.by == one.by and other.desktops == 1), None)


def _row(asked: Asked, came: Came, alone: Came | None) -> list[str]:
    each, share = memory_of_a_desktop(came)
    busy = sum(came.cpu_s.values())
    of_prefect = came.cpu_s.get("Prefect's servers", 0.0) + came.cpu_s.get("Prefect's workers", 0.0)
    without_model = max(0.001, busy - came.cpu_s.get("model", 0.0))
    return [
        asked.by,
        str(asked.desktops),
        str(asked.workers),
        f"{asked.items:,}",
        f"{came.an_hour:,.0f}",
        f"{came.an_hour / alone.an_hour:.1f}" if alone and alone.an_hour else "",
        str(came.failed),
        str(came.doubled),
        str(came.lost),
        f"{each:.0f}",
        f"{share:.0f}",
        f"{median(came.desktop_s):.1f}",
        f"{100 * of_prefect / without_model:.0f} %",
        f"{100 * came.api_item_s / came.item_s:.0f} %" if came.item_s and math.isfinite(came.item_s) else "",
        f"{100 * busy / came.wall_s:.0f} %",
        came.load.removeprefix("load ").partition(" ")[0],
    ]


def _tell_kills(asked: Asked, came: Came) -> None:
    had = [one for one in came.kills if one["had"]]
    slowest = max((one["elsewhere_s"] or math.inf for one in had), default=0.0)
    kinds = ", ".join(
        f"{sum(one['kind'] == kind for one in came.kills)} {kind}s"
        for kind in (*KINDS, *FAULTS)
        if any(one["kind"] == kind for one in came.kills)
    )
    print(f"\n{asked.name}")
    print(f"  killed: {len(came.kills)} ({kinds}), {sum(len(one['had']) for one in had)} items under way")
    print(f"  effects doubled: {came.doubled}, lost: {came.lost}, items without a result: {came.failed}")
    print(f"  the last item of a killed one was done elsewhere after {slowest:.0f} s (aim ≤ {WITHIN_S:.0f} s)")
    print(f"  left: {', '.join(came.left) or 'no slot, no seat, no X server'}; {came.an_hour:,.0f} items an hour")


def _problems(asked: Asked, came: Came) -> list[str]:
    found = []
    if came.doubled or came.lost or came.failed:
        found.append(f"{came.doubled} doubled, {came.lost} lost, {came.failed} without a result; {came.errors}")
    if came.left:
        found.append(f"left over: {', '.join(came.left)}")
    if len(came.kills) < asked.kills + len(asked.faults.split()):
        found.append(f"only {len(came.kills)} kills and faults came before the list was done")
    if any(one["had"] and (one["elsewhere_s"] or math.inf) > WITHIN_S for one in came.kills):
        found.append("items of a killed worker took longer")
    if asked.done and came.first_s > BEGUN_S:
        found.append(f"the first new item took {came.first_s:.0f} s")
    return [f"{asked.name}: {one}" for one in found]


if __name__ == "__main__":
    sys.exit(main())
