"""Handlers for SIGINT, SIGTERM and SIGHUP: the command stops its work, closes the trace and reports the reason."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from holo_tasks.kill.signal_listener import STOPPING, TAP

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


def interrupt_at_signals() -> None:
    """Make SIGTERM and SIGHUP raise `KeyboardInterrupt`, like SIGINT. For the time without an event loop."""
    for number in _stopping():
        signal.signal(number, signal.default_int_handler)


def cancel_at_signals(task: asyncio.Task[Any] | None) -> None:
    """Make these signals cancel ``task`` of the running loop, once."""
    import asyncio

    assert task is not None
    loop = asyncio.get_running_loop()
    for number in _stopping():
        loop.add_signal_handler(number, lambda: task.cancelling() or task.cancel())


def call_at_termination(end: Callable[[], object]) -> None:
    """Make SIGTERM and SIGHUP call ``end`` in the running loop. SIGINT, which a person sends by Ctrl+C, stays as it is.

    Call it after `cancel_at_signals`.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    for number in _stopping():
        if number != signal.SIGINT:
            loop.add_signal_handler(number, end)


def _stopping() -> tuple[signal.Signals, ...]:
    """Return the signals that stop this process. SIGHUP is left out if it is ignored, as under `nohup`."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        return STOPPING
    TAP.obey(signal.SIGHUP)
    return (*STOPPING, signal.SIGHUP)
