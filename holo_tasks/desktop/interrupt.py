"""What stops a gesture half-way: its deadline, the other side's wish, or its death."""

from __future__ import annotations

import math
import threading
import time

from holo_tasks.core.errors import Killed, LimitReached

EARLY_S, MOST_EARLY_S = 0.02, 0.5
"""An event that is let through is with the X server a little later: the gate closes so much before the deadline."""


class Interrupt:
    """Checked before each input event, and slept on instead of the clock.

    ``deadline`` is in seconds of `time.monotonic`, which all processes of a machine share and
    nobody can set back. ``longest_nap_s`` is how long it may sleep without looking.
    """

    def __init__(self, longest_nap_s: float = math.inf) -> None:
        self._longest_nap_s = longest_nap_s
        self._news = threading.Condition()
        self._stopped = -math.inf
        self._request = 0
        self._deadline: float | None = None
        self._early_s = EARLY_S

    def arm(self, request: int, deadline: float | None) -> None:
        """Begin a request; the numbers of requests only grow."""
        with self._news:
            self._request, self._deadline, self._early_s = request, deadline, EARLY_S

    def took(self, seconds: float) -> None:
        """Note how long events took to be carried out: for the rest of this request the deadline counts for earlier."""
        self._early_s = max(self._early_s, min(2 * seconds, MOST_EARLY_S))

    def stop(self, request: float = math.inf) -> None:
        """Stop this request and all before it, even if it was not begun (from any thread)."""
        with self._news:
            self._stopped = max(self._stopped, request)
            self._news.notify_all()

    def wake(self) -> None:
        """Have whoever sleeps look again (from any thread)."""
        with self._news:
            self._news.notify_all()

    def check(self) -> None:
        """Raise if no further input event may be sent."""
        if self._stopped >= self._request:
            raise Killed("The gesture was stopped before it was complete.")
        if self._deadline is not None and time.monotonic() >= self._deadline - self._early_s:
            raise LimitReached("The deadline passed before the gesture was complete.", limit="deadline")

    def sleep(self, seconds: float) -> None:
        """Wait, unless interrupted; then raise."""
        until = time.monotonic() + seconds
        with self._news:
            while (left := until - time.monotonic()) > 0:
                self.check()
                if self._deadline is not None:
                    left = min(left, max(self._deadline - self._early_s - time.monotonic(), 0.0))
                self._news.wait(min(left, self._longest_nap_s))
        self.check()
