"""Run a script that serves flows, and fork the processes of its runs from this preloaded process.

Without this, Prefect starts a new Python for each run, and loading takes three seconds of a core.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import forkserver, get_context, resource_tracker
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from tests.support import warm_process


def main() -> None:
    """Run the script of the first argument with the remaining arguments."""
    import prefect.flow_engine

    import holo_blocks  # noqa: F401
    import holo_tasks.cli.run_command.flow  # noqa: F401

    resource_tracker.ensure_running()
    # Fork here rather than later: this process has no threads yet.
    with mock.patch.object(forkserver.util, "spawnv_passfds", _forked):
        forkserver.ensure_running()
    forked = SimpleNamespace(get_context=lambda how: get_context("forkserver"))
    prefect.flow_engine.multiprocessing = forked  # type: ignore[attr-defined]
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


def _forked(python: bytes, arguments: Sequence[str], passed: Sequence[int]) -> int:
    """Fork a child that acts as a Python started with these arguments. The last argument holds its code."""
    if pid := os.fork():
        return pid
    try:
        # It ends when the other end of its pipe closes, so it must not hold that end itself.
        pipes = {_what(one) for one in passed} - {""}
        for other in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
            if other not in passed and _what(other) in pipes:
                os.close(other)
        serve_one = forkserver._serve_one  # type: ignore[attr-defined]

        def with_others(*arguments: object) -> object:
            warm_process.have_others_forked({})
            return serve_one(*arguments)

        forkserver._serve_one = with_others  # type: ignore[attr-defined]
        exec(arguments[-1])
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _what(descriptor: int) -> str:
    """Return the target of an open descriptor, or an empty string if it is closed."""
    with suppress(OSError):
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
    return ""


if __name__ == "__main__":
    main()
