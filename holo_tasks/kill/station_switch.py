"""Stop the work on one desktop of a run that has several.

If the claim on an item is lost, only the desktop that works on the item stops. If no claim can be verified, because the
database is away, the whole run stops. A stop of the run stops every desktop. `agent.stations` uses `StationSwitch`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from holo_tasks.core.ports import Gated
from holo_tasks.kill.switch import Held, KillSwitch
from holo_tasks.machine.clock import boot_s

DATABASE = "database"
"""Source of a stop because no claim can be verified. Such a stop concerns all claims, so it stops the whole run."""


class StationSwitch(KillSwitch):
    """Kill switch of one desktop. It has no threads: the run's switch ``whole`` calls `renew` for it.

    ``desktop`` is the desktop that is stopped. A claim is the exclusive right to an item. ``seen`` lists every claim
    that the current item has had, including claims that were released.
    """

    def __init__(self, desktop: Any, whole: KillSwitch) -> None:
        super().__init__(desktop, whole.run, whole.home)
        self.whole = whole
        self.seen: list[Held] = []
        self.of_desktop: Callable[[], Sequence[Held]] = tuple
        """Returns claims on the desktop itself, such as a seat. Input depends on these as well."""

    def begin(self, task: asyncio.Task[Any]) -> None:
        """Watch over a task that works on an item, and cancel it if the item's claim is lost."""
        self._loop, self._task, self._cancelled_before = asyncio.get_running_loop(), task, task.cancelling()
        self.seen = []

    def add_claim(self, claim: Held) -> None:
        """Stop this desktop if the claim is lost."""
        self.seen.append(claim)
        super().add_claim(claim)

    def renew(self, until_s: float) -> None:
        """Let the desktop take input until ``until_s`` (boot clock), or until the first claim ends, if that is earlier.

        May be called from any thread.
        """
        if self.reason:
            return
        now_s = boot_s()
        left_s = self._check_claims()
        if isinstance(self._desktop, Gated) and not self.reason:
            self._desktop.renew(min(until_s, now_s + left_s))

    def _held_claims(self) -> list[Held]:
        return [*self.claims, *self.of_desktop()]

    def trip(self, source: str, reason: str) -> None:
        """Stop this desktop, or the whole run if the source is `DATABASE`."""
        if source == DATABASE:
            self.whole.trip(source, reason)
        else:
            super().trip(source, reason)

    def why(self) -> str:
        """Return the reason for a stop of this desktop or of the run, or an empty string."""
        if not self.reason and (reason := self.whole.why()):
            self.source, self.reason = self.whole.source, reason
        return self.reason

    @contextmanager
    def inside(self, flow_run_id: str) -> Iterator[None]:
        """Stop the whole run if this flow run is cancelled in Prefect while the context is open."""
        with self.whole.inside(flow_run_id):
            yield
