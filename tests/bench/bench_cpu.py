"""CPU time of a replayed step, by process: by elements (GTK 3) and by text (Tk), on the program of orders.

The rehearsal model records runs, which are compiled once a toolkit. The playbook alone then does several orders, as a
flow with evidence and a Prefect server. The CPU time of each process is from the kernel's counters, so it is nearly
independent of other work on the machine. The program is printed and does not count; Prefect's server is left out. The
first replay of a toolkit loads modules and engines, and is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

from bench_memory import tree_of
from common import headline, prefect_server, scratch_home, table
from records import ORDERS
from replaying import GOAL, compiled, desk, rehearsal_model

AIMS_MS = {"gtk3": 40, "tk": 100}
WAYS = {"gtk3": "by elements", "tk": "by text"}
PROGRAM = "the program"
PARTS = {
    "holo_tasks.desktop.session.host": "host of the desktop",
    "Xvfb ": "X server",
    "openbox ": "window manager",
    "dbus-daemon ": "message bus",
    "dbus-broker": "message bus",
    "at-spi": "message bus",
    "/records_": PROGRAM,
}
AGENT = "the flow"
STARTED_S = 1.0
"""Seconds for the loading after a desktop's start, which does not belong to a step."""
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolkits", nargs="+", choices=AIMS_MS, default=[*AIMS_MS])
    parser.add_argument("--keep", type=Path, help="folder whose playbooks are used, or made if they are missing")
    parser.add_argument("--items", type=int, default=6, help="measured orders for each toolkit (%(default)s)")
    options = parser.parse_args()
    headline(__file__, "CPU time of a replayed step, by process")
    with scratch_home() as home, prefect_server():
        return asyncio.run(_measured(home, options.toolkits, options.items, options.keep))


async def _measured(home: Path, toolkits: Sequence[str], items: int, keep: Path | None) -> int:
    spent: dict[str, dict[str, list[float]]] = {}
    folder = keep or home / "playbooks"
    folder.mkdir(exist_ok=True)
    for kit in toolkits:
        if not (folder / f"{kit}.playbook.yaml").exists():
            with rehearsal_model() as base_url:
                await compiled(kit, folder, base_url)
        every = zip(range(items + 1), cycle(ORDERS), strict=False)
        found = [await _replayed(kit, folder, order, f"note {number} for the gate") for number, order in every]
        names = {name for one in found for name in one}
        spent[kit] = {name: [one.get(name, 0.0) for one in found[1:]] for name in names}
    _tell(spent)
    return 0


async def _replayed(kit: str, folder: Path, order: str, note: str) -> dict[str, float]:
    """Replay one order in a fresh program; return the milliseconds of CPU a step of each process."""
    from prefect import flow

    from holo_tasks import Script, pursue, subgoal
    from holo_tasks.agent.open_agent import open_agent
    from holo_tasks.audit import Destination, open_trace
    from holo_tasks.core.events import SubgoalClosed
    from holo_tasks.models.client import ModelEndpoint
    from holo_tasks.models.profile import profile_for
    from holo_tasks.run.run_options import RunOptions

    given = {"order": order, "note": note}

    @subgoal(layers=[Script(folder / f"{kit}.playbook.yaml", "put-a-note", **given)], effect=None)
    async def put() -> str:
        return str(await pursue(GOAL, data=given))

    @flow(name="replay", persist_result=False)
    async def replay() -> dict[str, float]:
        endpoint = ModelEndpoint("http://127.0.0.1:9/v1", None)
        opening = open_agent(
            title="bench",
            desktop=desktop,
            endpoint=endpoint,
            profile=profile_for("rehearsal"),
            destination=Destination.parse(str(folder / "traces")),
            options=RunOptions(allow="act", max_steps=60),
        )
        spent: defaultdict[str, float] = defaultdict(float)
        async with opening as run:
            with _counting(spent, desktop.pid):
                await put()
            trace = run.trace
        await endpoint.close()
        steps = sum(one.event.steps for one in open_trace(trace).records() if isinstance(one.event, SubgoalClosed))
        return {name: 1000 * seconds / steps for name, seconds in spent.items()}

    state = Path(tempfile.mkdtemp(dir=folder)) / "state.jsonl"
    async with desk(kit, state) as desktop:
        await desktop.elements()
        await asyncio.sleep(STARTED_S)
        found: dict[str, float] = await replay()
    assert f'"saved": "{order}"' in state.read_text(), state.read_text()
    return found


@contextmanager
def _counting(spent: defaultdict[str, float], host: int) -> Iterator[None]:
    """Count the CPU seconds of each part of a replay, with those of children that have ended."""
    before = _parts(host)
    yield
    for name, seconds in _parts(host).items():
        spent[name] += seconds - before.get(name, 0.0)


def _parts(host: int) -> dict[str, float]:
    parts: defaultdict[str, float] = defaultdict(float)
    for pid in (os.getpid(), *tree_of(host)):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        name = AGENT if pid == os.getpid() else next((part for key, part in PARTS.items() if key in words), "others")
        # Its ended children count only for the host. Prefect's server and the desktops are children of this process.
        counted = fields[11:15] if pid == host else fields[11:13]
        parts[name] += sum(map(int, counted)) / TICKS_A_SECOND
    return parts


def _tell(spent: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    kits = list(spent)
    names = sorted({name for kit in kits for name in spent[kit]} - {PROGRAM})
    rows = [[name, *(f"{statistics.mean(spent[kit].get(name, [0.0])):.1f}" for kit in kits)] for name in names]
    total = {kit: sum(statistics.mean(spent[kit].get(name, [0.0])) for name in names) for kit in kits}
    rows.append(["together", *(f"{total[kit]:.1f}" for kit in kits)])
    rows.append(["aim", *(f"≤ {AIMS_MS[kit]}" for kit in kits)])
    rows.append(["of the aim", *(f"{total[kit] / AIMS_MS[kit]:.1f} times" for kit in kits)])
    rows.append([f"({PROGRAM})", *(f"{statistics.mean(spent[kit].get(PROGRAM, [0.0])):.1f}" for kit in kits)])
    table("CPU milliseconds a replayed step, mean", ["", *(WAYS[kit] for kit in kits)], rows)


if __name__ == "__main__":
    sys.exit(main())
