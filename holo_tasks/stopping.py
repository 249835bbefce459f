"""SIGINT and SIGTERM as what they ask for: that work stops, is closed in good order, and says why."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


def interrupt_at_signals() -> None:
    """Have SIGTERM do what Ctrl+C does, until an event loop takes over."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def cancel_at_signals(task: asyncio.Task[Any] | None) -> None:
    """Have both signals cancel this task of the running loop, once, instead of what they did before."""
    import asyncio

    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: task.cancelling() or task.cancel())
