"""Shorten expected errors in Prefect's log and at the end of a script to one line that says what to do.

`one_line_errors` installs it. The decorators for flows call it, and so does each function that opens an agent.
"""

from __future__ import annotations

import logging
import sys
from types import TracebackType

from holo_tasks.core.errors import HoloError, Killed
from holo_tasks.machine.output import say
from holo_tasks.run.prefect_edge.killed import RunKilled

LOGGERS = ("prefect.flow_runs", "prefect.task_runs")


class OneLineErrors(logging.Filter):
    """Replaces the traceback of a `HoloError` in a log record by its status and message."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, HoloError):
            record.exc_info = None
            record.exc_text = None
            record.msg, record.args = f"{error.status}: {error}", ()
        return True


def one_line_errors() -> None:
    """Install the log filter once per process, and an exception hook that prints `RunKilled` as one line."""
    for name in LOGGERS:
        target = logging.getLogger(name)
        if not any(isinstance(item, OneLineErrors) for item in target.filters):
            target.addFilter(OneLineErrors())
    if getattr(sys.excepthook, "tells_kills", False):
        return
    others = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, RunKilled):
            say(f"{Killed.status}: {error}")
        else:
            others(kind, error, trace)

    hook.tells_kills = True  # type: ignore[attr-defined]
    sys.excepthook = hook
