"""Present all desktops of a run as one desktop to the run's kill switch.

`AllDesktops` is the desktop of a run that `agent.open_agents` opened. It forwards each latch, lease and kill to every
desktop. It refuses to look or act, because the caller has not chosen a desktop.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn, Protocol

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.gestures import Gesture, Receipt
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.ports import Gated
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Point

USE_MAP = "This run has several desktops: give its work to `agents.map(work, items)`, which chooses one for each item."


class GuardedDesktop(Protocol):
    """One desktop of a run and the gate that lets its input through."""

    @property
    def screen(self) -> Gated: ...

    def renew(self, until_s: float) -> None: ...

    @property
    def stopped_alone(self) -> bool:
        """Return whether this desktop's input was latched while the run went on."""
        ...


class AllDesktops:
    """The desktops of a run, which are added and removed while it works. It has no screen of its own."""

    display = ""

    def __init__(self) -> None:
        self._all: list[GuardedDesktop] = []
        self._served: tuple[str, float, Path] | None = None
        self._latched = False

    async def add(self, one: GuardedDesktop) -> None:
        """Add a desktop; serve it if the run has begun, and latch it if the run was latched."""
        if self._served is not None:
            await one.screen.serve(*self._served)
        self._all.append(one)
        if self._latched:
            one.screen.latch()

    def leave(self, one: GuardedDesktop) -> None:
        """Remove a desktop and end its input lease."""
        self._all = [other for other in self._all if other is not one]  # another thread may iterate over the old list
        one.screen.renew(0.0)

    async def serve(self, run_id: str, began_s: float, folder: Path) -> None:
        self._served = (run_id, began_s, folder)

    def renew(self, until_s: float) -> None:
        for one in self._all:
            one.renew(until_s)

    def latch(self) -> None:
        self._latched = True
        for one in self._all:
            one.screen.latch()

    @property
    def latched(self) -> bool:
        return self._latched or any(one.screen.latched and not one.stopped_alone for one in self._all)

    @property
    def at_rest(self) -> bool:
        return all(one.screen.at_rest for one in self._all)

    def kill(self) -> None:
        for one in self._all:
            one.screen.kill()

    async def look(self, *, after_action: bool = False) -> Frame:
        self._refuse()

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        self._refuse()

    async def owner_at(self, at: Point | None) -> Owner:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvalidUsage(USE_MAP)
