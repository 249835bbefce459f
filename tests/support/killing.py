"""Use the kill command, and compute when the last input event may follow it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.support.command_line import CommandLine, Ended, until

WITHIN_S = 1.0
STARTED_S = 0.5
"""Allowance for a slow start of the command. If it takes longer on a busy machine, the second is counted from its
request.
"""


def kill(cli: CommandLine, *arguments: str) -> tuple[Ended, float]:
    """Run the command to its end. Return its result, and the latest permitted time of an input event."""
    folder = Path(cli.env["HOLO_HOME"]) / "kill"
    begin = last_moment(folder)
    command = cli.start("kill", *arguments)
    last_s = begin(lambda: command.process.poll() is not None)
    return command.end(), last_s


def last_moment(folder: Path) -> Callable[[Callable[[], bool]], float]:
    """Call before starting a kill command. The returned function waits for its request, and returns the latest
    permitted time.
    """
    asked_s, before = time.monotonic(), requests(folder)

    def then(over: Callable[[], bool]) -> float:
        until(lambda: requests(folder) - before or over())
        return max(asked_s, time.monotonic() - STARTED_S) + WITHIN_S

    return then


def requests(folder: Path) -> set[str]:
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    return {name for name in names if not name.startswith(".") and not name.endswith(".stopped")}
