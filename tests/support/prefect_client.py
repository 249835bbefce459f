"""Reduce Prefect's client work in a test's own process, for the shared server only.

For other servers Prefect works as usual.
"""

from __future__ import annotations

import logging
from pathlib import Path
from uuid import UUID


def ask_once(url: str) -> None:
    """Ask the server at this URL only once for its default result storage, instead of once per flow run with a new
    client.

    Valid because it is the configured server, and no test changes this setting.
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
    """Send events to the server at this URL only while a file exists, because it drops events otherwise
    (`prefect_process`).

    Making, sending and dropping an event takes longer than much of the tested work.
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
    """Let Prefect's internal loggers read their level from the settings once, instead of at every message."""
    from prefect._internal._logging import SafeLogger
    from prefect.settings import PREFECT_LOGGING_INTERNAL_LEVEL

    level = logging.getLevelNamesMapping()[PREFECT_LOGGING_INTERNAL_LEVEL.value()]
    SafeLogger.isEnabledFor = lambda _, asked: asked >= level  # type: ignore[method-assign]
