"""Report SIGTERM and SIGINT at once from a thread, even while the main thread is blocked.

Python runs signal handlers in the main thread, and only between bytecodes, so not while a library call blocks. The
C-level handler writes the signal number to a wakeup file descriptor without waiting. `SignalTap` sets that descriptor
to a pipe of its own. It forwards every byte to the previous descriptor, usually an event loop's. Installed handlers
stay in place. SIGHUP counts as a stop only after `SignalTap.obey`.
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
    """Calls listeners when a stopping signal arrives. There is one instance per process, `TAP`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self._write_fd = self._previous_fd = -1
        self._obeyed: tuple[signal.Signals, ...] = STOPPING

    def obey(self, number: signal.Signals) -> None:
        """Treat one more signal as a stop. Elsewhere, a program's own handler may give the signal another meaning."""
        if number not in self._obeyed:
            self._obeyed = (*self._obeyed, number)

    def listen(self, listener: Listener) -> None:
        """Call a listener for each stopping signal from now on.

        The wakeup descriptor can only be set in the main thread. Nothing is reported until a listener is added there.
        """
        with self._lock:
            self._listeners.append(listener)
            if self._write_fd < 0 and threading.current_thread() is threading.main_thread():
                self._open()

    def leave(self, listener: Listener) -> None:
        """Stop calling a listener."""
        with self._lock:
            self._listeners.remove(listener)
            if not self._listeners and self._write_fd >= 0 and threading.current_thread() is threading.main_thread():
                self._close()

    def _open(self) -> None:
        read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._write_fd, False)
        self._previous_fd = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        threading.Thread(target=self._forward, args=(read_fd, self._previous_fd), name="signals", daemon=True).start()

    def _close(self) -> None:
        current_fd = signal.set_wakeup_fd(-1)
        if current_fd != self._write_fd:  # another library has replaced the descriptor
            signal.set_wakeup_fd(current_fd, warn_on_full_buffer=False)
        elif self._previous_fd >= 0:
            with contextlib.suppress(OSError, ValueError):  # the descriptor was closed with its event loop
                signal.set_wakeup_fd(self._previous_fd, warn_on_full_buffer=False)
        os.close(self._write_fd)
        self._write_fd = self._previous_fd = -1

    def _forward(self, read_fd: int, previous_fd: int) -> None:
        with open(read_fd, "rb", buffering=0) as numbers:
            while received := numbers.read(64):
                if previous_fd >= 0:
                    with contextlib.suppress(OSError):
                        os.write(previous_fd, received)
                for number in self._obeyed:
                    if number in received:
                        for listener in list(self._listeners):
                            listener(number)


TAP = SignalTap()
