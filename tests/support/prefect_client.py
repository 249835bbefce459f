"""What Prefect does in a test's own process for the server that tests share, less of what no test looks at.

Where another server is spoken to, it is asked and told as ever.
"""

from __future__ import annotations

import logging
from pathlib import Path
from uuid import UUID


def ask_once(url: str) -> None:
    """Have the server with this URL asked once where results go, not by each flow run with a client of its own.

    It is the server of the settings, and no test tells it anything of the kind.
    """
    from prefect import results
    from prefect.settings import PREFECT_API_URL

    ask = results._read_server_default_result_storage_block_id
    ask_async = results._aread_server_default_result_storage_block_id
    told = ask()

    def answered() -> UUID | None:
        return told if PREFECT_API_URL.value() == url else ask()

    async def answered_async() -> UUID | None:
        return told if PREFECT_API_URL.value() == url else await ask_async()

    results._read_server_default_result_storage_block_id = answered
    results._aread_server_default_result_storage_block_id = answered_async


def tell_what_is_kept(url: str, recording: Path) -> None:
    """Tell the server with this URL of events only while a file is there, as it keeps them (`prefect_process`).

    To make and send an event, and to drop it there, takes both longer than much of what tests are about.
    """
    from prefect import task_engine
    from prefect.events import utilities
    from prefect.settings import PREFECT_API_URL

    should_emit, emit_change = utilities.should_emit_events, task_engine.emit_task_run_state_change_event

    def is_kept() -> bool:
        return PREFECT_API_URL.value() != url or recording.exists()

    utilities.should_emit_events = lambda: is_kept() and should_emit()
    task_engine.emit_task_run_state_change_event = lambda *told, **named: (
        emit_change(*told, **named) if is_kept() else None
    )


def log_as_set() -> None:
    """Have Prefect's innermost loggers ask the settings for their level once, not each time they have a word to say."""
    from prefect._internal._logging import SafeLogger
    from prefect.settings import PREFECT_LOGGING_INTERNAL_LEVEL

    level = logging.getLevelNamesMapping()[PREFECT_LOGGING_INTERNAL_LEVEL.value()]
    SafeLogger.isEnabledFor = lambda _, asked: asked >= level  # type: ignore[method-assign]
