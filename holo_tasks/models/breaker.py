"""A circuit breaker for one endpoint: when it keeps failing, all conversations leave it alone for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from holo_tasks.core.errors import TransientModelFault

FAILURES = 5
REST_S = 5.0
LONGEST_REST_S = 60.0
POLL_S = 0.2


@dataclass
class Breaker:
    """Closed while calls succeed; open after `FAILURES` in a row, for a rest that doubles each time; then one call
    at a time is let through to see whether the endpoint is back.

    A server that says how long to wait is taken at its word by every conversation at once.
    """

    endpoint: str
    now_s: Callable[[], float] = time.monotonic
    failures: int = 0
    open_until_s: float = 0.0
    asked_until_s: float = 0.0
    probing: bool = False
    _rest_s: float = REST_S

    async def admit(self, patience_s: float) -> bool:
        """Wait until a call is worth making; say whether it is the one that finds out if the endpoint is back.

        Raises `TransientModelFault` if that takes longer than ``patience_s``.
        """
        end = self.now_s() + patience_s
        while (left := max(self.open_until_s, self.asked_until_s) - self.now_s()) > 0 or self._probed():
            pause = max(left, POLL_S)
            if self.now_s() + pause > end:
                raise TransientModelFault(
                    f"{self.endpoint} is given a rest after it failed {self.failures} times or asked for one; "
                    "check that the server is up and not overloaded.",
                    retry_after_s=pause,
                )
            await asyncio.sleep(pause)
        self.probing = self.failures >= FAILURES
        return self.probing

    def succeeded(self) -> None:
        """The endpoint answered, whatever it said: it is there. A rest that it asked for it still gets."""
        self.failures, self.probing, self._rest_s, self.open_until_s = 0, False, REST_S, 0.0

    def failed(self, fault: TransientModelFault, *, probe: bool) -> None:
        """Count a fault that may pass; open when there were too many in a row, and again when a probe finds one more.

        Calls that were out already when it opened say nothing new.
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
        """A call was cancelled: nothing is known of the endpoint."""
        if probe:
            self.probing = False

    def _probed(self) -> bool:
        return self.failures >= FAILURES and self.probing
