"""SIGINT, SIGTERM and SIGHUP as what they ask for: that work stops, is closed in good order, and says why."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from holo_tasks.kill.signal_listener import STOPPING, TAP

if TYPE_CHECKING:
    import asyncio


def interrupt_at_signals() -> None:
    """Have SIGTERM, and the end of the terminal, do what Ctrl+C does, until an event loop takes over."""
    for number in _stopping():
        signal.signal(number, signal.default_int_handler)


def cancel_at_signals(task: asyncio.Task[Any] | None) -> None:
    """Have all of them cancel this task of the running loop, once, instead of what they did before."""
    import asyncio

    assert task is not None
    loop = asyncio.get_running_loop()
    for number in _stopping():
        loop.add_signal_handler(number, lambda: task.cancelling() or task.cancel())


def _stopping() -> tuple[signal.Signals, ...]:
    """Return what is to stop this process: not the end of its terminal, if it is to outlive that (`nohup`)."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        return STOPPING
    TAP.obey(signal.SIGHUP)
    return (*STOPPING, signal.SIGHUP)
