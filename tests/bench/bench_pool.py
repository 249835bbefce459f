"""Items per hour with a growing number of desktops in one flow process, a desktop's memory, and its start time.

All parts except the model are real. The model takes 1.5 s for each answer under any load. Each item is a sub-goal with
a key that presses a button of a Tk program six times and answers. With ``--playbook`` each item is a report that the
fleet's playbook files, by text and without the model. Prefect's server has SQLite, or with ``--postgres`` Debian's
Postgres. Memory that processes share is counted in parts (PSS). CPU time is that of all processes of this benchmark,
with Prefect's server and the programs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench_concurrency import CountingServer
from bench_memory import PARTS, part_of, tree_of
from common import headline, prefect_server, scratch_home, table

FLEET = Path(__file__).parent / "fleet"
SPENDERS = {
    **PARTS,
    "at-spi": "message bus",
    "dbus-broker": "message bus",
    "holo_tasks.prefect_server": "Prefect's server",
    "postgres": "Postgres",
    "fleet/program.py": "the programs",
    "probe_counter": "the programs",
}
"""Parts that spend CPU time, by words of their command lines."""


@dataclass
class Round:
    """The result of one list on a number of desktops."""

    desktops: int
    items: int
    wall_s: float = 0.0
    cpu_s: float = 0.0
    failed: int = 0
    started_s: list[float] = field(default_factory=list)
    spare_s: list[float] = field(default_factory=list)
    parts: Counter[str] = field(default_factory=Counter)
    spent_s: Counter[str] = field(default_factory=Counter)
    own_kb: int = 0

    @property
    def an_hour(self) -> float:
        return 3600 * (self.items - self.failed) / self.wall_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--desktops", type=int, nargs="+", default=[1, 2, 5, 10])
    parser.add_argument("--items", type=int, default=3, help="for each desktop (%(default)s)")
    parser.add_argument("--steps", type=int, default=7, help="of an item (%(default)s)")
    parser.add_argument("--model-seconds", type=float, default=1.5, help="latency of the model (%(default)s)")
    parser.add_argument("--playbook", action="store_true", help="do the items by a playbook, without the model")
    parser.add_argument(
        "--postgres", action="store_true", help="Prefect's server on Postgres, as recommended for a fleet"
    )
    options = parser.parse_args()
    where = "Postgres" if options.postgres else "SQLite"
    by = "a playbook" if options.playbook else f"the model, {options.steps} steps an item"
    headline(__file__, f"items on one to many desktops, by {by}, Prefect on {where}")
    served = CountingServer(options.model_seconds, options.steps)
    with scratch_home() as home, _database(postgres=options.postgres), prefect_server(), served as model:
        asyncio.run(
            _round(home, model.base_url, Round(1, 1), by_playbook=options.playbook)
        )  # one-time imports happen now
        rounds = []
        for desktops in options.desktops:
            rounds.append(Round(desktops, desktops * options.items))
            asyncio.run(_round(home, model.base_url, rounds[-1], by_playbook=options.playbook))
    _tell(rounds, options.steps * options.model_seconds)


def _tell(rounds: list[Round], model_s: float) -> None:
    first, rows = rounds[0], []
    alone = first.an_hour / first.desktops
    for one in rounds:
        pss = sum(one.parts.values()) / 1024 / one.desktops
        own = one.own_kb / 1024
        rows.append(
            [
                str(one.desktops),
                str(one.items),
                f"{one.an_hour:.0f}",
                f"{one.an_hour / alone:.1f}",
                f"{3600 / model_s * one.desktops:.0f}",
                f"{one.cpu_s / one.items:.2f}",
                f"{100 * one.cpu_s / one.wall_s:.0f} %",
                f"{pss:.0f}",
                f"{own:.0f}",
                f"{max(one.started_s):.2f}",
                str(one.failed),
            ]
        )
    columns = (
        "desktops",
        "items",
        "an hour",
        "ratio",
        "model alone",
        "CPU s an item",
        "CPU",
        "MB each",
        "MB flow",
        "start s",
        "failed",
    )
    table("a list on several desktops in one process", columns, rows)
    print("  ratio: to one desktop; model alone: as if only the model took time; CPU: of all processes, of one CPU")
    print("  MB each: PSS of a desktop without its program; MB flow: of the flow's process; start: of the slowest")
    names = sorted({name for one in rounds for name in one.spent_s})
    parts = [[name, *(f"{one.spent_s[name] / one.items:.2f}" for one in rounds)] for name in names]
    table("CPU seconds an item", ["", *(str(one.desktops) for one in rounds)], parts)
    more = [one for one in rounds if one.desktops > first.desktops]
    if more:
        last = more[-1]
        each = (last.own_kb - first.own_kb) / 1024 / (last.desktops - first.desktops)
        print(f"  one more desktop adds to the flow's process {each:.0f} MB")
    alone_s = [seconds for one in rounds for seconds in one.started_s if one.desktops == 1]
    if alone_s:
        print(f"  a desktop that starts while no other does: {statistics.median(alone_s):.2f} s   (aim ≤ 1.5 s)")


async def _round(home: Path, base_url: str, measured: Round, *, by_playbook: bool) -> None:
    from prefect import flow
    from probe_counter import __file__ as counter

    from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agents
    from holo_tasks import Script, pursue, subgoal
    from holo_tasks.desktop import tk_python

    run = f"{measured.desktops}-{time.monotonic_ns()}"
    model = HoloModel(base_url=base_url, model="holo3-1-35b-a3b")
    app = [str(FLEET / "program.py"), str(home / "filed.jsonl")] if by_playbook else [counter]
    desktop = _Timed(HoloDesktop(app=shlex.join([tk_python(), *app])), measured)
    audit = AuditBucket(local_folder=str(home / "runs"))
    first = 1000 * measured.desktops + measured.items  # no report has the name of another round's
    names = [f"R-{10 * first + n}" if by_playbook else f"{run}-{n}" for n in range(measured.items)]

    @subgoal(title="Press for {item}", key="{item}", effect=None)
    async def press(item: str) -> str:
        return str(await pursue("Press the button until it is enough."))

    def filing(item: str) -> Script:
        return Script(FLEET / "filing.playbook.yaml", "file", report=item)

    @subgoal(title="File {item}", key="{item}", data=["item"], effect=None, layers=[filing])
    async def file(item: str) -> str:
        return str(await pursue("File the report that is named, and answer with the receipt's number."))

    @flow(name="pressing", persist_result=False)
    async def pressing() -> None:
        opening = holo_agents(
            "pressing", desktops=measured.desktops, model=model, desktop=desktop.block, audit=audit, allow="act"
        )
        async with opening as agents:
            began, busy, items = time.monotonic(), _busy_s(), [*names]
            async for one in agents.map(file if by_playbook else press, items):
                measured.failed += one.error is not None
            measured.wall_s, spent = time.monotonic() - began, _busy_s()
            measured.spent_s, measured.cpu_s = spent - busy, spent.total() - busy.total()
            _weigh(measured)

    with desktop.timing():
        await pressing()


class _Timed:
    """Measures the start time of a block's desktops."""

    def __init__(self, block: Any, measured: Round) -> None:
        self.block, self._measured = block, measured

    @contextmanager
    def timing(self) -> Iterator[None]:
        kind = type(self.block)
        usual = kind.start

        async def start(*given: Any, **named: Any) -> Any:
            began = time.monotonic()
            desktop = await usual(*given, **named)
            self._measured.started_s.append(time.monotonic() - began)
            return desktop

        kind.start = start
        try:
            yield
        finally:
            kind.start = usual


def _weigh(measured: Round) -> None:
    """Add up the memory of all processes of the desktops, and that of this process."""
    for pid in tree_of(os.getpid()):
        found = part_of(pid)
        if pid == os.getpid():
            told = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
            measured.own_kb = next(int(line.split()[1]) for line in told if line.startswith("Pss:"))
        elif found is not None and found[0] in PARTS.values():
            measured.parts[found[0]] += found[1][0]


def _busy_s() -> Counter[str]:
    """Return the CPU seconds of this process and all below it, by part, with those below it that have ended."""
    ticks: Counter[str] = Counter()
    for pid in tree_of(os.getpid()):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        name = next((part for key, part in SPENDERS.items() if key in words), "others")
        if pid == os.getpid():
            ticks["ended processes"] += sum(map(int, fields[13:15]))
            name = "the flow"
        ticks[name] += sum(map(int, fields[11:13]))
    return Counter({name: count / os.sysconf("SC_CLK_TCK") for name, count in ticks.items()})


@contextmanager
def _database(*, postgres: bool) -> Iterator[None]:
    if not postgres:
        yield
        return
    from tests.support.postgres import DEBIANS, Postgres

    found = sorted(DEBIANS.glob("*/bin/initdb"))
    if not found:
        raise SystemExit("Prefect needs an extension that only Debian's Postgres has: apt-get install postgresql")
    server = Postgres(found[-1].parent)
    try:
        url = server.new_database().replace("postgresql://", "postgresql+asyncpg://")
        os.environ["PREFECT_API_DATABASE_CONNECTION_URL"] = url
        yield
    finally:
        os.environ.pop("PREFECT_API_DATABASE_CONNECTION_URL", None)
        server.stop()


if __name__ == "__main__":
    main()
