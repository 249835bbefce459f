"""`make bench`: memory of one command without its program, after some steps, with a Prefect server running.

Two figures: the maximum, during a model request, and the value a moment later, after the last pictures are freed.
Memory that processes share is counted in parts (PSS): next to another X server or another Python a process has less.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from common import command, fresh_home, headline, served, starter

from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.machine.memory import QUIET_S

PARTS = {
    "holo-tasks run": "agent",
    "holo_tasks.desktop.session.host": "host of the desktop",
    "Xvfb ": "X server",
    "openbox ": "window manager",
    "dbus-daemon ": "message bus",
}


class Part(NamedTuple):
    """A process's memory in kB, in total and anonymous, and its CPU seconds since its start."""

    pss_kb: int
    of_no_file_kb: int
    cpu_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--actions", type=int, default=500, help="actions on a desktop that is checked for growth")
    options = parser.parse_args()
    headline(__file__, "memory of one command")
    with fresh_home() as home, fresh_home() as server, served(server) as access:
        at_most, waiting = _measured(home | access, options.steps)
    print(f"\nafter {options.steps} steps, PSS (anonymous part)")
    print(f"  {'':22}{'AT ITS MOST':>15}{'WAITING':>15}{'CPU':>9}")
    for name in PARTS.values():
        print(f"  {name:22}{_mb(at_most[name])}{_mb(waiting[name])}{at_most[name].cpu_s:7.2f} s")
    sums = (_mb(Part(*map(sum, zip(*parts.values(), strict=True)))) for parts in (at_most, waiting))
    print(f"  {'together':22}{''.join(sums)}   (aim ≤ 220 MB)")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_grows(options.actions, Path(folder)))


async def _grows(actions: int, home: Path) -> None:
    """Print the waiting desktop process's anonymous memory after few actions and after many."""
    from probe_counter import __file__ as counter

    from holo_tasks.desktop import tk_python

    print("\nthe host of one desktop, waiting, PSS (anonymous part)")
    async with VirtualDesktop(app=[tk_python(), counter, str(home / "state")]) as desktop:
        for action in range(1, actions + 1):
            await desktop.do(Click(Point(320 + 60 * (action % 2), 450)))
            await desktop.look()
            if action in (2, actions // 2, actions):
                await asyncio.sleep(2 * QUIET_S)
                print(f"  after {action:4} actions{_mb(_parts(os.getpid())[PARTS['holo_tasks.desktop.session.host']])}")


def _measured(environ: dict[str, str], steps: int) -> list[dict[str, Part]]:
    """Return each part's memory right after these steps, and while the next one is awaited."""
    from tests.support.scripted_model import Answer, ScriptedModel, step

    reached, measured = threading.Event(), threading.Event()

    def script(number: int, body: dict[str, Any]) -> Any:
        asked = sum(message["role"] == "assistant" for message in body["messages"])
        if asked < steps:
            return Answer(json.dumps(step("click", element="Count button", x=320 + 60 * (asked % 2), y=450)))
        reached.set()
        measured.wait()
        return Answer(json.dumps(step("answer", content="done")))

    with ScriptedModel(script) as model:
        run = starter()(command(model.base_url), env=environ, stdout=subprocess.DEVNULL)
        try:
            if not reached.wait(300):
                raise SystemExit("The run did not reach its last step.")
            found = [_parts(run.pid)]
            time.sleep(2 * QUIET_S)
            return [*found, _parts(run.pid)]
        finally:
            measured.set()
            run.wait()


def _parts(pid: int) -> dict[str, Part]:
    return dict(found for each in tree_of(pid) if (found := part_of(each)))


def tree_of(pid: int) -> list[int]:
    children = [
        int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()
    ]
    return [pid, *(below for child in children for below in tree_of(child))]


def part_of(pid: int) -> tuple[str, Part] | None:
    """Return a process's name and its memory and CPU; None for the program and its children."""
    line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    name = next((name for part, name in PARTS.items() if part in line), None)
    told = dict(entry.split()[:2] for entry in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    seconds = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return name and (name, Part(int(told["Pss:"]), int(told["Anonymous:"]), seconds))


def _mb(part: Part) -> str:
    return f"{part.pss_kb / 1024:5.0f} MB ({part.of_no_file_kb / 1024:4.0f})"


if __name__ == "__main__":
    main()
