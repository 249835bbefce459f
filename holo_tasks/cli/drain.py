"""`holo-tasks drain`: take no more items of work lists on this machine, and wait until its runs have ended."""

from __future__ import annotations

import time
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.kill import draining
from holo_tasks.kill.run_registry import running
from holo_tasks.machine.output import say

LOOK_S = 0.5
AT_WORK = 15
"""Exit code if a run is still at work after the wait."""


def drain(home: Path, wait_s: float, *, off: bool) -> tuple[str, int]:
    """Drain this machine, or end that with ``off``. Return the text for stdout and the exit code."""
    if not 0 <= wait_s < 7 * 24 * 3600:
        raise InvalidUsage(f"--wait takes seconds, up to a week, not {wait_s:g}.")
    try:
        if off:
            was = draining.end(home)
            return ("Items are taken again." if was else "This machine was not being drained."), 0
        draining.begin(home)
    except OSError as error:
        raise InvalidUsage(f"{home} cannot be written ({error.strerror}); set HOLO_HOME.") from None
    until_s = time.monotonic() + wait_s
    if wait_s and (left := running(home)):
        say(f"no more items are taken; {_many(len(left))} at work; waiting for the end")
    while (left := running(home)) and time.monotonic() < until_s:
        time.sleep(LOOK_S)
    lines = [f"{run.run_id}  {exact(run.title)}" for run in left]
    said = f"No more items are taken on this machine; {_many(len(left))} at work."
    return "\n".join([said, *lines]), AT_WORK if left and wait_s else 0


def _many(runs: int) -> str:
    return "no run is" if not runs else "one run is" if runs == 1 else f"{runs} runs are"
