"""Bounds how long a transaction waits for a database that does not answer.

A server that hangs still acknowledges what it is sent, as its machine does that: no time-out of TCP ends the wait. So
the connection's socket is shut from a thread, and who waits for it hears that the connection is lost.
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

_silent: dict[str, float] = {}
"""Until when databases that did not answer count as silent, by URL."""


class Watch:
    """The wait of one transaction; to be used by the thread that waits.

    ``fired`` says that its time was up; whoever finds out in another way that nothing answers says so there.
    """

    def __init__(self, url: str, patience_s: float) -> None:
        silent = time.monotonic() < _silent.get(url, 0.0)
        self.patience_s = min(patience_s, BRIEF_S) if silent else patience_s
        self.fired = False
        self._url = url
        self._began_s = time.monotonic()
        self._file = -1
        self._over = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(self.patience_s, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Watch:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
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
        return time.monotonic() - self._began_s

    @property
    def connect_s(self) -> int:
        """How many seconds the driver may take to connect, as it wants to be told."""
        return max(1, math.ceil(min(CONNECT_S, self.patience_s - self.waited_s)))

    def over(self, file: int) -> None:
        """Watch over a connection by its file descriptor, in place of the one before."""
        with self._lock:
            # A descriptor of our own: the driver may close its, and another file get the number.
            self._keep(os.dup(file))
            if self.fired:
                self._shut()

    def _cut(self) -> None:
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
