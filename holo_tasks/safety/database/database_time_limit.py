"""Bound the time that a transaction waits for a database server that does not answer.

The machine of a hung server still acknowledges TCP packets, so no TCP time-out ends the wait. `TransactionDeadline`
therefore shuts the connection's socket down from a thread, and the waiting driver reports a lost connection.
`safety.database.store` uses one `TransactionDeadline` for each transaction.

A healthy server may also wait for the locks of another transaction. Its time-outs are set to end before this deadline.
Otherwise the server would count as silent, and the next transactions would hardly wait for it.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import threading
import time
from types import TracebackType

BRIEF_S, SILENT_S = 2.0, 30.0
"""Seconds to wait for a database that was silent a moment ago, and seconds for which that counts. The end of a run asks
the database several times, and each would wait in full.
"""
CONNECT_S = 10.0
"""Longest time for a connection attempt, in seconds."""
LOCKED, SLOW = 0.75, 0.9
"""Parts of the patience after which the server gives up waiting for a lock, and ends any statement."""

_silent: dict[str, float] = {}
"""Monotonic times until which databases count as silent, by URL."""


class TransactionDeadline:
    """The deadline of one transaction, used as a context manager by the thread that waits.

    The time starts with the first use of a connection. ``fired`` is true if the deadline passed. A caller that learns
    of a time-out in another way sets it.
    """

    def __init__(self, url: str, patience_s: float) -> None:
        silent = time.monotonic() < _silent.get(url, 0.0)
        self.patience_s = min(patience_s, BRIEF_S) if silent else patience_s
        self.fired = False
        self._url = url
        self._began_s: float | None = None
        self._known_s = 0.0
        self._file = -1
        self._over = False
        self._lock = threading.Lock()

    def __enter__(self) -> TransactionDeadline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._began_s is not None:
            _alarm.clear(self)
        with self._lock:
            self._over = True
            self._replace_file(-1)
        if self.fired:
            _silent[self._url] = time.monotonic() + SILENT_S
        elif error is None:
            _silent.pop(self._url, None)

    @property
    def waited_s(self) -> float:
        """Seconds since the start of the wait, or 0 before it."""
        return 0.0 if self._began_s is None else time.monotonic() - self._began_s

    @property
    def connect_s(self) -> int:
        """Whole seconds that the driver may take to connect. Reading this starts the wait."""
        self._begin()
        return max(1, math.ceil(min(CONNECT_S, self.patience_s - self.waited_s)))

    def watch_connection(self, file: int) -> None:
        """Watch a connection, given by its file descriptor, instead of the previous one."""
        self._begin()
        with self._lock:
            # Duplicate the descriptor: the driver may close its own, and another file may get the number.
            self._replace_file(os.dup(file))
            if self.fired:
                self._shut()

    def transaction_begun(self) -> None:
        """Note the start of a transaction, in which the server has no time limits yet."""
        self._known_s = math.inf

    def limits(self) -> tuple[str, str] | None:
        """Return the server's lock and statement time-outs, or ``None`` if the current ones are still close enough."""
        left_s = max(0.0, self.patience_s - self.waited_s)
        # The server restarts its time-outs with each statement, and most statements take no time.
        if left_s >= 0.8 * self._known_s:
            return None
        self._known_s = left_s
        return f"{left_s * LOCKED * 1000 + 1:.0f}ms", f"{left_s * SLOW * 1000 + 1:.0f}ms"

    def _begin(self) -> None:
        # The wait does not start earlier: waiting for a free connection of the pool says nothing about the server.
        if self._began_s is None:
            self._began_s = time.monotonic()
            _alarm.set(self, self._began_s + self.patience_s)

    def expire(self) -> None:
        """End the wait, because its deadline has passed."""
        with self._lock:
            if not self._over:
                self.fired = True
                self._shut()

    def _shut(self) -> None:
        if self._file >= 0:
            # The server may have closed the connection first.
            with socket.socket(fileno=os.dup(self._file)) as held, contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def _replace_file(self, file: int) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = file


class _Alarm:
    """One thread that ends all overdue waits of this process.

    A thread for each wait would take longer than most transactions. The thread ends when it wakes up and no waits are
    left. It is not woken up when a wait ends.
    """

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._due: dict[TransactionDeadline, float] = {}
        self._looks_s = math.inf
        self._running = False

    def set(self, watch: TransactionDeadline, at_s: float) -> None:
        with self._turn:
            self._due[watch] = at_s
            if not self._running:
                threading.Thread(target=self._run, name="silent databases", daemon=True).start()
                self._running = True
            elif at_s < self._looks_s:
                self._turn.notify()

    def clear(self, watch: TransactionDeadline) -> None:
        with self._turn:
            self._due.pop(watch, None)

    def _run(self) -> None:
        while (overdue := self._overdue()) is not None:
            for watch in overdue:
                watch.expire()

    def _overdue(self) -> list[TransactionDeadline] | None:
        """Wait for overdue waits and return them; return ``None`` once no waits are left."""
        with self._turn:
            while self._due:
                now_s = time.monotonic()
                if overdue := [watch for watch, at_s in self._due.items() if at_s <= now_s]:
                    for watch in overdue:
                        del self._due[watch]
                    return overdue
                self._looks_s = min(self._due.values())
                self._turn.wait(self._looks_s - now_s)
            self._running = False
            return None


_alarm = _Alarm()


def _reset_after_fork() -> None:
    global _alarm
    _alarm = _Alarm()  # threads do not survive a fork


os.register_at_fork(after_in_child=_reset_after_fork)
