"""`make bench`: what one command takes of memory beside its program, after some steps, with a Prefect server running.

That is at its most, as the model is asked, and a moment later, when what the last pictures took is given back.
Memory that processes share is counted in parts (PSS): beside another X server or another Python a process has less.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from common import command, fresh_home, headline, served, starter

from holo_tasks.machine.memory import QUIET_S

PARTS = {
    "holo-tasks run": "agent",
    "holo_tasks.desktop.host": "host of the desktop",
    "Xvfb ": "X server",
    "openbox ": "window manager",
    "dbus-daemon ": "message bus",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    headline(__file__, "what one command takes of memory")
    with fresh_home() as home, fresh_home() as server, served(server) as access:
        at_most, waiting = _measured(home | access, options.steps)
    print(f"\nafter {options.steps} steps, PSS (of which no file's)")
    print(f"  {'':22}{'AT ITS MOST':>15}{'WAITING':>15}")
    for name in PARTS.values():
        print(f"  {name:22}{_mb(*at_most[name])}{_mb(*waiting[name])}")
    sums = (_mb(*map(sum, zip(*parts.values(), strict=True))) for parts in (at_most, waiting))
    print(f"  {'together':22}{''.join(sums)}   (aim ≤ 220 MB)")


def _measured(environ: dict[str, str], steps: int) -> list[dict[str, tuple[int, int]]]:
    """Return what each part has right after so many steps, and while the next one is waited for."""
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
                raise SystemExit("The run did not come to its last step.")
            found = [_parts(run.pid)]
            time.sleep(2 * QUIET_S)
            return [*found, _parts(run.pid)]
        finally:
            measured.set()
            run.wait()


def _parts(pid: int) -> dict[str, tuple[int, int]]:
    return dict(found for each in tree_of(pid) if (found := part_of(each)))


def tree_of(pid: int) -> list[int]:
    children = [
        int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()
    ]
    return [pid, *(below for child in children for below in tree_of(child))]


def part_of(pid: int) -> tuple[str, tuple[int, int]] | None:
    """Return what a process is, and what it has in kB; None for the program and what it started."""
    line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    name = next((name for part, name in PARTS.items() if part in line), None)
    told = dict(entry.split()[:2] for entry in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return name and (name, (int(told["Pss:"]), int(told["Anonymous:"])))


def _mb(kilobytes: int, of_no_file: int) -> str:
    return f"{kilobytes / 1024:5.0f} MB ({of_no_file / 1024:4.0f})"


if __name__ == "__main__":
    main()
