"""`make bench`: from a command to its first request, and from the last reply to its end, in fresh homes and used ones.

Everything is real: `holo-tasks run`, X server, window manager, a Tk program, Prefect's server and database, HTTP. Only
the model is a script. Machines are shared and noisy: read medians, and the seconds of CPU beside them.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from common import headline


@dataclass(frozen=True)
class Took:
    """One command, in seconds: until the model was asked, from its reply to the end, and CPU of all processes."""

    to_request: float
    to_end: float
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5)
    options = parser.parse_args()
    headline(__file__, "how long a command takes to begin and to end")
    rows: dict[str, list[Took]] = {}
    for _ in range(options.starts):
        with _home() as home:
            rows.setdefault("no server, fresh home", []).append(_command(home))
            rows.setdefault("no server, used home", []).append(_command(home))
        with _home() as home, _home() as server, _served(server) as access:
            rows.setdefault("a server, fresh home", []).append(_command(home, access))
            rows.setdefault("a server, used home", []).append(_command(home, access))
    print(f"\n{'medians of ' + str(options.starts):24}{'to the request':>16}{'aim':>8}{'reply to end':>15}{'CPU':>10}")
    for name, times in rows.items():
        aim = "≤ 3 s" if name.startswith("a ") else "≤ 6 s"
        first, last, cpu = (statistics.median(getattr(took, part) for took in times) for part in Took.__annotations__)
        print(f"{name:24}{first:14.2f} s{aim:>8}{last:13.2f} s{cpu:8.2f} s")
    for module in ("prefect", "openai", "holo_tasks.oneshot"):
        print(f"{'loading ' + module:24}{_loading(module):14.2f} s")


@contextmanager
def _home() -> Iterator[dict[str, str]]:
    """Give the environment of a person who has used neither Prefect nor this library yet."""
    with tempfile.TemporaryDirectory(prefix="holo-bench-", ignore_cleanup_errors=True) as folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "HOLO_"))}
        yield {**kept, "HOME": folder}


@contextmanager
def _served(environ: dict[str, str]) -> Iterator[dict[str, str]]:
    from holo_tasks.prefect_server import TemporaryServer

    server, access = TemporaryServer({**environ, "PREFECT_HOME": f"{environ['HOME']}/.prefect"}), {}
    with ExitStack() as ending:
        ending.callback(server.stop)
        server.enter(access)
        server.wait()
        yield access


def _command(environ: dict[str, str], access: dict[str, str] | None = None) -> Took:
    from probe_counter import __file__ as counter
    from tk_python import tk_python

    from tests.support.scripted_model import ScriptedModel, step

    command = [str(Path(sys.executable).with_name("holo-tasks")), "run", "Answer", "--json"]
    app = shlex.join([tk_python(), counter])
    with ScriptedModel([step("answer", content="done")]) as model:
        before, started = _cpu(), time.monotonic()
        subprocess.run(
            [*command, "--base-url", model.base_url, "--app", app],
            env=environ | (access or {}),
            check=True,
            capture_output=True,
        )
        return Took(model.arrived_s[0] - started, time.monotonic() - model.replied_s[-1], _cpu() - before)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _loading(module: str) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return time.monotonic() - started


if __name__ == "__main__":
    main()
