"""Stops a gesture before it is complete: at its deadline, or when the other process requests it or ends."""

from __future__ import annotations

import math
import threading
import time

from holo_tasks.core.errors import Killed, LimitReached

EARLY_S, MOST_EARLY_S = 0.02, 0.5
"""Seconds before the deadline from which on events are refused, because an event reaches the X server a little
later.
"""


class Interrupt:
    """Checked before each input event, and used for each sleep.

    ``deadline`` is in seconds of `time.monotonic`, which all processes of a machine share and which cannot be set back.
    ``longest_nap_s`` is the longest sleep between two checks.
    """

    def __init__(self, longest_nap_s: float = math.inf) -> None:
        self._longest_nap_s = longest_nap_s
        self._news = threading.Condition()
        self._stopped = -math.inf
        self._request = 0
        self._deadline: float | None = None
        self._early_s = EARLY_S

    def arm(self, request: int, deadline: float | None) -> None:
        """Begin a request. The numbers of requests only increase."""
        with self._news:
            self._request, self._deadline, self._early_s = request, deadline, EARLY_S

    def took(self, seconds: float) -> None:
        """Record how long events took. For the rest of this request the deadline counts as that much earlier."""
        self._early_s = max(self._early_s, min(2 * seconds, MOST_EARLY_S))

    def stop(self, request: float = math.inf) -> None:
        """Stop this request and all earlier ones, even if they have not begun. May be called from any thread."""
        with self._news:
            self._stopped = max(self._stopped, request)
            self._news.notify_all()

    def wake(self) -> None:
        """Wake sleeping threads, so that they check again. May be called from any thread."""
        with self._news:
            self._news.notify_all()

    def check(self) -> None:
        """Raise if no further input event may be sent."""
        if self._stopped >= self._request:
            raise Killed("The gesture was stopped before it was complete.")
        if self._deadline is not None and time.monotonic() >= self._deadline - self._early_s:
            raise LimitReached("The deadline passed before the gesture was complete.", limit="deadline")

    def sleep(self, seconds: float) -> None:
        """Wait for some seconds. Raises the error of `check` as soon as there is one."""
        until = time.monotonic() + seconds
        with self._news:
            while (left := until - time.monotonic()) > 0:
                self.check()
                if self._deadline is not None:
                    left = min(left, max(self._deadline - self._early_s - time.monotonic(), 0.0))
                self._news.wait(min(left, self._longest_nap_s))
        self.check()
