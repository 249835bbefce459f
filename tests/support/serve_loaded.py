"""Runs a script that serves flows, whose runs' processes are forked from this one, which has all loaded that they load.

Prefect starts Python anew for each, as a script that is run without this does: loading takes three seconds of a core.
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
    """Run the script that is the first argument, with those after it."""
    import prefect.flow_engine

    import holo_blocks  # noqa: F401
    import holo_tasks.cli.run_command.flow  # noqa: F401

    resource_tracker.ensure_running()
    # Here rather than later: this process has no threads yet.
    with mock.patch.object(forkserver.util, "spawnv_passfds", _forked):
        forkserver.ensure_running()
    forked = SimpleNamespace(get_context=lambda how: get_context("forkserver"))
    prefect.flow_engine.multiprocessing = forked  # type: ignore[attr-defined]
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


def _forked(python: bytes, arguments: Sequence[str], passed: Sequence[int]) -> int:
    """Be what Python would be that is started with these arguments, of which the last are its lines."""
    if pid := os.fork():
        return pid
    try:
        # It ends when nobody has the other end of a pipe any more, which it would have itself.
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
    """Return what a descriptor is open at; nothing if it is none any more."""
    with suppress(OSError):
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
    return ""


if __name__ == "__main__":
    main()
