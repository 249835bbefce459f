"""Stop the work on one desktop of a run that has several. A lost claim stops this desktop only.

`StationSwitch` is used by the agent's stations. Stopping the whole run stops every desktop as well.
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
"""Source of a stop because no claim can be verified. This concerns all claims, so it stops the whole run."""


class StationSwitch(KillSwitch):
    """Kill switch of one desktop. It has no threads: the run's switch renews it.

    ``seen`` lists every claim that the current item has had, including claims that were released.
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
        self.seen.append(claim)
        super().add_claim(claim)

    def renew(self, until_s: float) -> None:
        """Renew the input lease until ``until_s`` (boot clock), or earlier if a claim ends earlier. Callable from
        any thread."""
        if self.reason:
            return
        now_s = boot_s()
        left_s = self._check_claims()
        if isinstance(self._desktop, Gated) and not self.reason:
            self._desktop.renew(min(until_s, now_s + left_s))

    def _held_claims(self) -> list[Held]:
        return [*self.claims, *self.of_desktop()]

    def trip(self, source: str, reason: str) -> None:
        if source == DATABASE:
            self.whole.trip(source, reason)
        else:
            super().trip(source, reason)

    def why(self) -> str:
        if not self.reason and (reason := self.whole.why()):
            self.source, self.reason = self.whole.source, reason
        return self.reason

    @contextmanager
    def inside(self, flow_run_id: str) -> Iterator[None]:
        with self.whole.inside(flow_run_id):
            yield
