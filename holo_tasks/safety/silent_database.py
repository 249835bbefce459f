"""Bounds how long a transaction waits for a database that does not answer.

A server that hangs still acknowledges what it is sent, as its machine does that: no time-out of TCP ends the wait. So
the connection's socket is shut from a thread, and who waits for it hears that the connection is lost.

A server that is well may have to wait, too, for what another one's transaction holds. It is told to give that up, and
say so, before it would count as silent: else all that ask it next would not wait for it, either.
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
"""How long a database is waited for that was silent a moment ago, and how long that counts: what ends asks it often."""
CONNECT_S = 10.0
LOCKED, SLOW = 0.75, 0.9
"""After which part of the patience a server gives up to wait for others, and a statement whatever it waits for."""

_silent: dict[str, float] = {}
"""Until when databases that did not answer count as silent, by URL."""


class Watch:
    """The wait of one transaction for its server; to be used by the thread that waits. It begins with the connection.

    ``fired`` says that its time was up; whoever finds out in another way that nothing answers says so there.
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

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._began_s is not None:
            _alarm.clear(self)
        with self._lock:
            self._over = True
            self._keep(-1)
        if self.fired:
            _silent[self._url] = time.monotonic() + SILENT_S
        elif error is None:
            _silent.pop(self._url, None)

    @property
    def waited_s(self) -> float:
        """For how long there has been a wait."""
        return 0.0 if self._began_s is None else time.monotonic() - self._began_s

    @property
    def connect_s(self) -> int:
        """How many seconds the driver may take to connect, as it wants to be told."""
        self._begin()
        return max(1, math.ceil(min(CONNECT_S, self.patience_s - self.waited_s)))

    def over(self, file: int) -> None:
        """Watch over a connection by its file descriptor, in place of the one before."""
        self._begin()
        with self._lock:
            # A descriptor of our own: the driver may close its, and another file get the number.
            self._keep(os.dup(file))
            if self.fired:
                self._shut()

    def begun(self) -> None:
        """Take note of a new transaction, in which the server knows nothing of any patience."""
        self._known_s = math.inf

    def limits(self) -> tuple[str, str] | None:
        """Return for how long the server is to wait for others, and to work, if it has to be told by now."""
        left_s = max(0.0, self.patience_s - self.waited_s)
        # It counts anew with each statement, and most need no time.
        if left_s >= 0.8 * self._known_s:
            return None
        self._known_s = left_s
        return f"{left_s * LOCKED * 1000 + 1:.0f}ms", f"{left_s * SLOW * 1000 + 1:.0f}ms"

    def _begin(self) -> None:
        # Not before: a process whose connections are all in use says nothing of the server.
        if self._began_s is None:
            self._began_s = time.monotonic()
            _alarm.set(self, self._began_s + self.patience_s)

    def cut(self) -> None:
        """End the wait: its time is up."""
        with self._lock:
            if not self._over:
                self.fired = True
                self._shut()

    def _shut(self) -> None:
        if self._file >= 0:
            # The other side may have been first.
            with socket.socket(fileno=os.dup(self._file)) as held, contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def _keep(self, file: int) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = file


class _Alarm:
    """Ends the waits of a process in time, from one thread: to begin one takes longer than most transactions do.

    The thread ends when it looks again and nothing is waited for; it is not told of each wait that ends.
    """

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._due: dict[Watch, float] = {}
        self._looks_s = math.inf
        self._running = False

    def set(self, watch: Watch, at_s: float) -> None:
        with self._turn:
            self._due[watch] = at_s
            if not self._running:
                threading.Thread(target=self._run, name="silent databases", daemon=True).start()
                self._running = True
            elif at_s < self._looks_s:
                self._turn.notify()

    def clear(self, watch: Watch) -> None:
        with self._turn:
            self._due.pop(watch, None)

    def _run(self) -> None:
        while (late := self._late()) is not None:
            for watch in late:
                watch.cut()

    def _late(self) -> list[Watch] | None:
        """Return the waits whose time is up, once there are some; None if nothing is waited for."""
        with self._turn:
            while self._due:
                now_s = time.monotonic()
                if late := [watch for watch, at_s in self._due.items() if at_s <= now_s]:
                    for watch in late:
                        del self._due[watch]
                    return late
                self._looks_s = min(self._due.values())
                self._turn.wait(self._looks_s - now_s)
            self._running = False
            return None


_alarm = _Alarm()


def _begin_anew() -> None:
    global _alarm
    _alarm = _Alarm()  # a forked process has none of the threads


os.register_at_fork(after_in_child=_begin_anew)
