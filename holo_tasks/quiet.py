"""Expected endings in Prefect's log: one line that says what to do, instead of a traceback."""

from __future__ import annotations

import logging

from holo_tasks.core.errors import HoloError

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
    """Install the filter, once per process."""
    for name in LOGGERS:
        target = logging.getLogger(name)
        if not any(isinstance(item, OneLineErrors) for item in target.filters):
            target.addFilter(OneLineErrors())
