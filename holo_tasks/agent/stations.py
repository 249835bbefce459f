"""A run's desktops, each with what belongs to it: its doors, what was typed on it, and what lets its input through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from holo_tasks.agent.open_agent import discovery_of, elements_of
from holo_tasks.core.budget import Guard, Limits
from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.secret import Secret, values_of
from holo_tasks.handoff.hand_over import ByHandOff, Helper
from holo_tasks.kill.station_switch import StationSwitch
from holo_tasks.kill.switch import Held
from holo_tasks.run.all_desktops import AllDesktops
from holo_tasks.run.lazy_desktop import Closable, LazyDesktop
from holo_tasks.run.redactors import redactor_for
from holo_tasks.run.run import Run, guarded, within
from holo_tasks.run.spares import Spares
from holo_tasks.safety.ledger import Claim
from holo_tasks.safety.typed_fields import TypedFields
from holo_tasks.vision.control_text import ScreenText

Fresh: TypeAlias = Literal["item", "flow", "never"]
"""When a desktop is new: for each item, for each flow, or, as long as it works, not even for that."""


@dataclass(eq=False)
class Station:
    """One desktop of several, and the part of the run that is worked on there: one item at a time."""

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
        """Work on an item, in a task of its own: what is lost here does not stop what is done on other desktops."""
        here, whole = self.run, self.run.whole
        try:
            with within(here), guarded(f"item {number}", Limits()) as self.scope:
                return await call()
        finally:
            # Who looks at what was answered since an item began finds nothing of the others.
            whole.resolved += here.resolved
            whole.replayed += here.replayed
            here.resolved.clear()
            here.replayed.clear()

    @property
    def untouched(self) -> bool:
        """Whether nothing was done for the present item that could be done twice, by what was written down of it."""
        claims = [claim for claim in self.switch.seen if isinstance(claim, Claim)]
        return not any(claim.begun or claim.earlier for claim in claims)

    @property
    def acted(self) -> bool:
        """Whether any input was sent for the present item, or may have been."""
        return bool(self.scope and self.scope.actions)


class Stations:
    """So many desktops, given to one item each. Whoever waits longest is next.

    A desktop that broke, or that ``fresh`` says is to be new, is replaced; the others never wait for that.
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
        """Let so many be used."""
        self.fresh = fresh
        for _ in range(desktops):
            self._free.release()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Station]:
        """Have a desktop to oneself; it is started when it is first looked at."""
        async with self._free:
            for idle in [one for one in self._idle if one.stopped_alone]:  # it lost its seat while nobody used it
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
        """Raise what keeps desktops from coming up, if the last one did not."""
        if self._spares.failed is not None:
            raise self._spares.failed

    async def close(self) -> None:
        """Take all desktops down, but for those that another run may have."""
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
        doors = replace(
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
            outside=doors,
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
        """Take a desktop down that nobody is to use here any more; its place is free at once."""
        self._everything.leave(station)
        self._all.remove(station)
        desktop = station.screen.up
        if desktop is not None and not (keep and self._spares.keep(desktop)):
            self._spares.end(desktop)


def broke(error: BaseException | None) -> bool:
    """Say whether an error tells that the desktop itself is of no use any more."""
    return isinstance(error, DesktopFailed)
