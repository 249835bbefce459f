"""The switch of one desktop of a run that has several: the run's own stops it, too, and a lost claim stops it alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from holo_tasks.core.ports import Gated
from holo_tasks.kill.switch import Held, KillSwitch
from holo_tasks.machine.clock import boot_s

DATABASE = "database"
"""The source of a stop because nobody can say whether a claim still holds: that is so of all claims."""


class StationSwitch(KillSwitch):
    """Watches over the claims of what is done on one desktop. It is never started: the run's switch has it look.

    ``seen`` are the claims that the present item had, also those that it has left by now.
    """

    def __init__(self, desktop: Any, whole: KillSwitch) -> None:
        super().__init__(desktop, whole.run, whole.home)
        self.whole = whole
        self.seen: list[Held] = []
        self.of_desktop: Callable[[], Sequence[Held]] = tuple
        """What its desktop itself may be used for as long as it holds, such as a seat."""

    def begin(self, task: asyncio.Task[Any]) -> None:
        """Cancel this task, which works on an item, if its claim is lost."""
        self._loop, self._task, self._cancelled_before = asyncio.get_running_loop(), task, task.cancelling()
        self.seen = []

    def take_up(self, claim: Held) -> None:
        self.seen.append(claim)
        super().take_up(claim)

    def renew(self, until_s: float) -> None:
        """Let input through until then, as far as the claims on what is done here allow it; from any thread."""
        if self.reason:
            return
        now_s = boot_s()
        left_s = self._look_at_claims()
        if isinstance(self._desktop, Gated) and not self.reason:
            self._desktop.renew(min(until_s, now_s + left_s))

    def _held(self) -> list[Held]:
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
