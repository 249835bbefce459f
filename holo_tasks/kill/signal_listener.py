"""SIGTERM and SIGINT, noticed at once by a thread, whatever the main thread is doing; SIGHUP where it is said to.

Python runs a signal's handler in the main thread, when that comes to it: not while it waits inside some library. The
C handler below it writes the signal's number to a file descriptor without waiting for anybody. That descriptor is
taken here, and everything is passed on to whom it belonged, an event loop as a rule; handlers stay as they are.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable

Listener = Callable[[signal.Signals], None]
STOPPING = (signal.SIGTERM, signal.SIGINT)


class SignalTap:
    """Tells listeners of signals. There is one per process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self._entrance = self._before = -1
        self._obeyed: tuple[signal.Signals, ...] = STOPPING

    def obey(self, number: signal.Signals) -> None:
        """Take one more signal for a stop; to whoever else has a handler for it, it may mean something else."""
        if number not in self._obeyed:
            self._obeyed = (*self._obeyed, number)

    def listen(self, listener: Listener) -> None:
        """Tell somebody of each stopping signal from now on. Outside the main thread, nothing can be told."""
        with self._lock:
            self._listeners.append(listener)
            if self._entrance < 0 and threading.current_thread() is threading.main_thread():
                self._open()

    def leave(self, listener: Listener) -> None:
        """Tell somebody no more."""
        with self._lock:
            self._listeners.remove(listener)
            if not self._listeners and self._entrance >= 0 and threading.current_thread() is threading.main_thread():
                self._close()

    def _open(self) -> None:
        exit_, self._entrance = os.pipe()
        os.set_blocking(self._entrance, False)
        self._before = signal.set_wakeup_fd(self._entrance, warn_on_full_buffer=False)
        threading.Thread(target=self._pass_on, args=(exit_, self._before), name="signals", daemon=True).start()

    def _close(self) -> None:
        now = signal.set_wakeup_fd(-1)
        if now != self._entrance:  # somebody has taken it since
            signal.set_wakeup_fd(now, warn_on_full_buffer=False)
        elif self._before >= 0:
            with contextlib.suppress(OSError, ValueError):  # closed by now, with its event loop
                signal.set_wakeup_fd(self._before, warn_on_full_buffer=False)
        os.close(self._entrance)
        self._entrance = self._before = -1

    def _pass_on(self, exit_: int, before: int) -> None:
        with open(exit_, "rb", buffering=0) as numbers:  # a file descriptor
            while got := numbers.read(64):
                if before >= 0:
                    with contextlib.suppress(OSError):
                        os.write(before, got)
                for number in self._obeyed:
                    if number in got:
                        for listener in list(self._listeners):
                            listener(number)


TAP = SignalTap()
