"""`make bench`: times from a command to its first request, and from the last reply to its end, in fresh and used homes.

All parts are real: `holo-tasks run`, X server, window manager, a Tk program, Prefect's server and database, HTTP. Only
the model is a script. Machines are shared and noisy: read medians, and the CPU seconds next to them.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass

from common import command, fresh_home, headline, script_starter, served, starter

HOMES = ("fresh", "used")
"""The second command in a home finds it used."""
UNSEEN = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
LOADED = ("prefect", "openai", "holo_tasks.cli.run_command.flow")


@dataclass(frozen=True)
class Took:
    """Times of one command in seconds: until the model request, from its reply to the end, and CPU of all processes."""

    to_request: float
    to_end: float
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--homes", nargs="+", choices=HOMES, default=HOMES)
    parser.add_argument("--loaded", nargs="+", choices=LOADED, default=LOADED)
    options = parser.parse_args()
    headline(__file__, "times of a command's begin and end")
    rows: dict[str, list[Took]] = {}
    for _ in range(options.starts):
        with fresh_home() as home:
            for how in options.homes:
                rows.setdefault(f"no server, {how} home", []).append(_command(home))
    with fresh_home() as server, served(server) as access:
        for _ in range(options.starts):
            with fresh_home() as home:
                for how in options.homes:
                    rows.setdefault(f"a server, {how} home", []).append(_command(home, access))
        with fresh_home() as home:
            together = _at_once(options.at_once, home | access)
    print(f"\n{'medians of ' + str(options.starts):24}{'to the request':>16}{'aim':>8}{'reply to end':>15}{'CPU':>10}")
    for name, times in rows.items():
        aim = "≤ 3 s" if name.startswith("a ") else "≤ 6 s"
        first, last, cpu = (statistics.median(getattr(took, part) for took in times) for part in Took.__annotations__)
        print(f"{name:24}{first:14.2f} s{aim:>8}{last:13.2f} s{cpu:8.2f} s")
    print(f"{options.at_once} at once on one server: {together}")
    for module in options.loaded:
        print(f"{'loading ' + module:24}{_loading(module):14.2f} s")


def _command(environ: dict[str, str], access: dict[str, str] | None = None) -> Took:
    from tests.support.scripted_model import ScriptedModel, step

    with ScriptedModel([step("answer", content="done")]) as model:
        before, started = _cpu(), time.monotonic()
        with starter()(command(model.base_url), env=environ | (access or {}), **UNSEEN) as run:
            assert run.wait() == 0
        return Took(model.arrived_s[0] - started, time.monotonic() - model.replied_s[-1], _cpu() - before)


def _at_once(count: int, environ: dict[str, str]) -> str:
    """Run several commands side by side in one home, and return their results as text."""
    from tests.support.scripted_model import ScriptedModel, step

    with ScriptedModel([step("answer", content="done")] * count) as model:
        started = time.monotonic()
        some = [starter()(command(model.base_url), env=environ, **UNSEEN) for _ in range(count)]
        codes = Counter(run.wait() for run in some)
        ended = ", ".join(f"{number} with exit code {code}" for code, number in sorted(codes.items()))
        return f"{ended}, in {time.monotonic() - started:.0f} s"


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _loading(module: str) -> float:
    started = time.monotonic()
    with script_starter()([sys.executable, "-c", f"import {module}"]) as loads:
        assert loads.wait() == 0
    return time.monotonic() - started


if __name__ == "__main__":
    main()
