"""The desktops of a run, each with its own stages of a step, typed fields and switch for input.

`Stations` lends a desktop (`Station`) to one item at a time. `open_agents` uses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from holo_tasks.agent.open_agent import discovery_of, elements_of
from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.core.secrets.secret import Secret, values_of
from holo_tasks.handoff.approval_by_person import ByHandOff
from holo_tasks.handoff.hand_over import Helper
from holo_tasks.kill.station_switch import StationSwitch
from holo_tasks.kill.switch import Held
from holo_tasks.run.desktops.all_desktops import AllDesktops
from holo_tasks.run.desktops.lazy_desktop import Closable, LazyDesktop
from holo_tasks.run.desktops.spares import Spares
from holo_tasks.run.rules.redactors import redactor_for
from holo_tasks.run.run import Run, as_current_run, guarded
from holo_tasks.safety.records.ledger import Claim
from holo_tasks.safety.typed_secrets.typed_fields import TypedFields
from holo_tasks.vision.control_text import ScreenText

Fresh: TypeAlias = Literal["item", "flow", "never"]
"""When a desktop is replaced: after each item, after each flow, or only when it breaks."""


@dataclass(eq=False)
class Station:
    """One desktop of several, with its part of the run. It works on one item at a time."""

    screen: LazyDesktop
    run: Run
    switch: StationSwitch
    broken: bool = False
    scope: Guard | None = field(default=None, repr=False)

    @property
    def used(self) -> bool:
        return self.screen.up is not None

    @property
    def stopped_alone(self) -> bool:
        return bool(self.switch.reason)

    def renew(self, until_s: float) -> None:
        self.switch.renew(until_s)

    async def work(self, call: Callable[[], Awaitable[Any]], number: int) -> Any:
        """Work on an item in the present task. A lost claim on this desktop does not stop the others."""
        here, whole = self.run, self.run.whole
        try:
            with as_current_run(here), guarded(f"item {number}", Limits()) as self.scope:
                return await call()
        finally:
            # The lists of this desktop are moved at the end of each item, so that they never contain other items.
            whole.resolved += here.resolved
            whole.replayed += here.replayed
            here.resolved.clear()
            here.replayed.clear()

    @property
    def is_untouched(self) -> bool:
        """Whether the journal has no action for the present item, so that it can be started again."""
        claims = [claim for claim in self.switch.seen if isinstance(claim, Claim)]
        return not any(claim.begun or claim.earlier for claim in claims)

    @property
    def acted(self) -> bool:
        """Whether input was or may have been sent for the present item."""
        return bool(self.scope and self.scope.actions)


class Stations:
    """A pool of desktops, each lent to one item at a time, in the order of the requests.

    A desktop is replaced if it breaks, or if ``fresh`` requires it. The others do not wait for that.
    """

    def __init__(
        self,
        front: Run,
        spares: Spares[Closable],
        everything: AllDesktops,
        secrets: Mapping[str, Secret],
        held_for: Callable[[Closable], Sequence[Held]] = lambda desktop: (),
    ) -> None:
        self._front, self._spares, self._everything = front, spares, everything
        self._held_for = held_for
        self._secrets, self._codes = values_of(secrets), front.outside.codes
        self._idle: list[Station] = []
        self._all: list[Station] = []
        self._free = asyncio.Semaphore(0)
        self.fresh: Fresh = "flow"

    def open(self, desktops: int, fresh: Fresh) -> None:
        """Allow the use of ``desktops`` desktops."""
        self.fresh = fresh
        for _ in range(desktops):
            self._free.release()

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Station]:
        """Lend a desktop for the block. It is started when it is first used."""
        async with self._free:
            for idle in [one for one in self._idle if one.stopped_alone]:  # it lost its seat while it was idle
                self._idle.remove(idle)
                self._retire(idle)
            station = self._idle.pop() if self._idle else await self._new()
            try:
                yield station
            finally:
                if station.broken or station.switch.reason or (self.fresh == "item" and station.used):
                    self._retire(station)
                else:
                    self._idle.append(station)

    def check_start(self) -> None:
        """Raise the error of the last start if it failed."""
        if self._spares.failed is not None:
            raise self._spares.failed

    async def close(self) -> None:
        """Stop all desktops except those that the next run may use."""
        for station in list(self._all):
            self._retire(station, keep=station in self._idle and not station.screen.latched)
        await self._spares.close()

    async def _new(self) -> Station:
        front, options = self._front, self._front.options
        redaction = options.redaction
        screen = LazyDesktop(self._spares.take)
        screen.tells_windows = redaction is not None and bool(redaction.windows)
        typed = TypedFields(used_before=self.fresh == "never")
        redactor = await asyncio.to_thread(redactor_for, redaction, self._secrets, typed, self._codes)
        services = replace(
            front.outside,
            desktop=screen,
            redactor=redactor,
            elements=elements_of(screen, redaction, self._secrets, self._codes),
            typed=typed.typed,
            reader=ScreenText() if front.outside.reader else None,
            approver=ByHandOff() if options.waits else front.outside.approver,
            person=Helper() if options.waits else None,
        )
        switch = StationSwitch(screen, front.switch)
        switch.of_desktop = lambda: self._held_for(screen.up) if screen.up is not None else ()
        run = replace(
            front,
            outside=services,
            switch=switch,
            front=front,
            discovery=discovery_of(options, self._secrets, self._codes),
            sees=None,
            busy=asyncio.Lock(),
            spent_inside=0,
            resolved=[],
            replayed=[],
        )
        station = Station(screen, run, switch)
        await self._everything.add(station)
        self._all.append(station)
        return station

    def _retire(self, station: Station, *, keep: bool = False) -> None:
        """Remove a desktop from the pool, and stop it or keep it for the next run. Its place is free at once."""
        self._everything.leave(station)
        self._all.remove(station)
        desktop = station.screen.up
        if desktop is not None and not (keep and self._spares.keep(desktop)):
            self._spares.end(desktop)


def is_broken_desktop(error: BaseException | None) -> bool:
    """Return whether an error means that the desktop can no longer be used."""
    return isinstance(error, DesktopFailed)
