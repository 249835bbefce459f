"""Errors in Prefect's log and at the end of a script: one line that says what to do, instead of a traceback."""

from __future__ import annotations

import logging
import sys
from types import TracebackType

from holo_tasks.core.errors import HoloError, Killed
from holo_tasks.machine.output import say
from holo_tasks.run.killed import RunKilled

LOGGERS = ("prefect.flow_runs", "prefect.task_runs")


class OneLineErrors(logging.Filter):
    """Takes the traceback off a record about a `HoloError`; its message already says what to do."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, HoloError):
            record.exc_info = None
            record.exc_text = None
            record.msg, record.args = f"{error.status}: {error}", ()
        return True


def one_line_errors() -> None:
    """Install the filter, once per process, and the same for what ends a script of one's own that was killed."""
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
