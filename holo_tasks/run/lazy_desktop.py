"""A desktop that comes up when it is first needed, so that a run with nothing left to do starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from holo_tasks.core import ports
from holo_tasks.core.elements import ElementTree
from holo_tasks.core.errors import InvalidUsage, Killed
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Point
from holo_tasks.core.gestures import Gesture, Receipt
from holo_tasks.core.input_permit import Slip
from holo_tasks.core.programs import Owner
from holo_tasks.core.remote_input import ByHand
from holo_tasks.core.secret import Secret
from holo_tasks.core.shared_files import SharedFolder


class Closable(ports.Desktop, Protocol):
    """A desktop that is taken down after use."""

    async def close(self) -> None: ...


@dataclass
class LazyDesktop:
    """Starts a desktop on the first look or gesture."""

    start: Callable[[], Awaitable[Closable]]
    tells_windows: bool = False
    rebuilt: bool = False
    """Whether another one is as good as the one that ``start`` brings up, which is asked before it does."""
    far: str = ""
    """Where the remote screen is that it shows, if it shows one."""
    password: Secret | None = field(default=None, repr=False)
    """What lets into it."""
    _desktop: Closable | None = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _served: tuple[str, float, Path] | None = None
    _latched: bool = False

    @property
    def display(self) -> str:
        """The display's name, empty while there is none."""
        return self._desktop.display if self._desktop else ""

    @property
    def up(self) -> Closable | None:
        """The desktop itself, if it was needed by now."""
        return self._desktop

    async def started(self) -> Closable:
        """Return the desktop itself; it is started if it was not needed before."""
        return await self._started()

    async def look(self, *, after_action: bool = False) -> Frame:
        desktop = await self._started()
        if self.tells_windows and isinstance(desktop, ports.TellsWindows):
            desktop.tells_windows = True  # it may be wanted later than the start
        return await desktop.look(after_action=after_action)

    async def do(self, gesture: Gesture, *, deadline: float | None = None, slip: Slip | None = None) -> Receipt:
        desktop = await self._started()
        return await desktop.do(gesture, deadline=deadline, slip=slip)

    async def owner_at(self, at: Point | None) -> Owner:
        desktop = await self._started()
        return await desktop.owner_at(at)

    async def elements(self) -> ElementTree:
        """Return the elements of the desktop's programs; none of one that is no desktop that could tell."""
        desktop = await self._started()
        if not isinstance(desktop, ports.TellsElements):
            return ElementTree(complete=False, why_not="This desktop does not tell of its programs' elements.")
        return await desktop.elements()

    async def shared_folder(self) -> SharedFolder:
        """Return the folder that the desktop's programs share with the agent."""
        desktop = await self._started()
        if not isinstance(desktop, ports.SharesFiles):
            raise InvalidUsage("This desktop shares no folder: use one that is started here, such as a VirtualDesktop.")
        return await desktop.shared_folder()

    async def serve(self, run_id: str, began_s: float, folder: Path) -> None:
        """Belong to a run, as soon as there is a desktop."""
        self._served = (run_id, began_s, folder)
        if self._gated is not None:
            await self._gated.serve(*self._served)

    async def hold(self) -> None:
        """Give the screen to a person, who wants to see one."""
        desktop = await self._started()
        if not isinstance(desktop, ports.Held):
            raise InvalidUsage("This desktop cannot be held for a person.")
        await desktop.hold()

    async def release(self) -> None:
        if isinstance(self._desktop, ports.Held):
            await self._desktop.release()

    @property
    def held(self) -> bool:
        return isinstance(self._desktop, ports.Held) and self._desktop.held

    async def by_hand(self, inputs: Sequence[ByHand]) -> None:
        if isinstance(self._desktop, ports.Shown):
            await self._desktop.by_hand(inputs)

    async def open_vnc(self) -> Path:
        desktop = await self._started()
        if not isinstance(desktop, ports.Shown):
            raise InvalidUsage("This desktop cannot be shown to a person.")
        return await desktop.open_vnc()

    async def close_vnc(self, path: Path) -> None:
        if isinstance(self._desktop, ports.Shown):
            await self._desktop.close_vnc(path)

    def renew(self, until_s: float) -> None:
        if self._gated is not None:
            self._gated.renew(until_s)

    def latch(self) -> None:
        self._latched = True
        if self._gated is not None:
            self._gated.latch()

    @property
    def latched(self) -> bool:
        return self._latched or (self._gated is not None and self._gated.latched)

    @property
    def at_rest(self) -> bool:
        return self._gated is None or self._gated.at_rest

    def kill(self) -> None:
        if self._gated is not None:
            self._gated.kill()

    @property
    def _gated(self) -> ports.Gated | None:
        return self._desktop if isinstance(self._desktop, ports.Gated) else None

    async def close(self) -> None:
        """Take the desktop down, if it ever came up."""
        if self._desktop is not None:
            await self._desktop.close()

    async def _started(self) -> Closable:
        async with self._starting:
            if self._desktop is None:
                if self._latched:
                    raise Killed("The kill switch was used: no desktop is started.")
                desktop = await self.start()
                try:
                    if self._served is not None and isinstance(desktop, ports.Gated):
                        await desktop.serve(*self._served)
                except BaseException:
                    await desktop.close()
                    raise
                self._desktop = desktop
                if self._latched:
                    self.latch()
            return self._desktop
