"""Circuit breaker of an endpoint, shared by all conversations of this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from holo_tasks.core.errors import TransientModelFault

FAILURES = 5
"""Consecutive failures that open the breaker."""
REST_S = 5.0
"""Seconds that the breaker first stays open."""
LONGEST_REST_S = 60.0
"""Longest time that the breaker stays open, in seconds."""
POLL_S = 0.2
"""Shortest pause between two looks at the breaker, in seconds."""


@dataclass
class Breaker:
    """Circuit breaker. `FAILURES` consecutive failures open it for a time that doubles with each opening.

    After that, it is half-open: one probe call at a time is admitted until one succeeds. A server's Retry-After applies
    to all conversations.
    """

    endpoint: str
    now_s: Callable[[], float] = time.monotonic
    failures: int = 0
    open_until_s: float = 0.0
    asked_until_s: float = 0.0
    probing: bool = False
    _rest_s: float = REST_S

    async def admit(self, patience_s: float) -> bool:
        """Wait until a call is allowed; return whether it is a probe call.

        Raises `TransientModelFault` if the wait would exceed ``patience_s``.
        """
        end = self.now_s() + patience_s
        while (left := max(self.open_until_s, self.asked_until_s) - self.now_s()) > 0 or self._has_probe():
            pause = max(left, POLL_S)
            if self.now_s() + pause > end:
                raise TransientModelFault(
                    f"{self.endpoint} failed {self.failures} times or asked clients to wait, so no calls are made for "
                    "a while; check that the server is up and not overloaded.",
                    retry_after_s=pause,
                )
            await asyncio.sleep(pause)
        self.probing = self.failures >= FAILURES
        return self.probing

    def succeeded(self) -> None:
        """Close the breaker after any answer of the endpoint. A Retry-After stays in force."""
        self.failures, self.probing, self._rest_s, self.open_until_s = 0, False, REST_S, 0.0

    def failed(self, fault: TransientModelFault, *, probe: bool) -> None:
        """Count a transient failure; open the breaker at `FAILURES` in a row, and again if a probe fails.

        A failure with a Retry-After only starts that wait. Calls that were already running when the breaker opened do
        not extend its rest.
        """
        self.gave_up(probe=probe)
        if fault.retry_after_s:
            self.asked_until_s = max(self.asked_until_s, self.now_s() + fault.retry_after_s)
            return
        self.failures += 1
        if probe or self.failures == FAILURES:
            self.open_until_s = self.now_s() + self._rest_s
            self._rest_s = min(2 * self._rest_s, LONGEST_REST_S)

    def gave_up(self, *, probe: bool) -> None:
        """Release the probe if a call was cancelled, because it says nothing about the endpoint."""
        if probe:
            self.probing = False

    def _has_probe(self) -> bool:
        return self.failures >= FAILURES and self.probing
