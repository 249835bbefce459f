"""Start a desktop on first use, so that a run whose work is already done starts no desktop.

The block `HoloAgent` creates a `LazyDesktop` for a run, and `agent.stations` one for each desktop of several.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from holo_tasks.core import ports
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.errors import InvalidUsage, Killed
from holo_tasks.core.input.gestures import Gesture, Receipt
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.input.remote_input import ByHand
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.shared_files import SharedFolder


class Closable(ports.Desktop, Protocol):
    """A desktop that the run closes after use."""

    async def close(self) -> Sequence[str] | None:
        """Close the desktop. Return the titles of dialogs that its programs opened meanwhile, if they are known."""


@dataclass
class LazyDesktop:
    """Starts a desktop on first use, and forwards all calls to it.

    The methods that need the screen start it: `started`, `look`, `do`, `owner_at`, `elements`, `shared_folder`,
    `hold` and `open_vnc`. The others do nothing without a started desktop, except that `serve` and `latch` are
    remembered.
    """

    start: Callable[[], Awaitable[Closable]]
    tells_windows: bool = False
    rebuilt: bool = False
    """Whether any new desktop is equivalent to the one that ``start`` brings up. Known before the start."""
    far: str = ""
    """Address of the remote machine whose screen the desktop shows; empty for a local one."""
    password: Secret | None = field(default=None, repr=False)
    """Password of the remote screen."""
    _desktop: Closable | None = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _serve_arguments: tuple[str, float, Path] | None = None
    _latched: bool = False

    @property
    def display(self) -> str:
        """Return the display's name, or an empty string before the start."""
        return self._desktop.display if self._desktop else ""

    @property
    def up(self) -> Closable | None:
        """Return the desktop, or ``None`` before the start."""
        return self._desktop

    async def started(self) -> Closable:
        """Return the desktop, after starting it if needed."""
        return await self._start()

    async def look(self, *, after_action: bool = False) -> Frame:
        desktop = await self._start()
        if self.tells_windows and isinstance(desktop, ports.ReportsWindows):
            desktop.tells_windows = True  # may be requested after the start
        return await desktop.look(after_action=after_action)

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        desktop = await self._start()
        return await desktop.do(gesture, deadline=deadline, input_permit=input_permit)

    async def owner_at(self, at: Point | None) -> Owner:
        desktop = await self._start()
        return await desktop.owner_at(at)

    async def elements(self) -> ElementTree:
        """Return the accessibility tree; an incomplete, empty one if this desktop has none."""
        desktop = await self._start()
        if not isinstance(desktop, ports.ReportsElements):
            return ElementTree(complete=False, why_not="This desktop gives no accessibility tree of its programs.")
        return await desktop.elements()

    async def put_foreign_behind(self, *, covering: bool) -> bool:
        """Put small windows of other programs behind the desktop's own, if this desktop can."""
        desktop = await self._start()
        return isinstance(desktop, ports.ArrangesWindows) and await desktop.put_foreign_behind(covering=covering)

    async def fit_window(self) -> bool:
        """Bring the active window into the screen, if this desktop can."""
        desktop = await self._start()
        return isinstance(desktop, ports.ArrangesWindows) and await desktop.fit_window()

    async def shared_folder(self) -> SharedFolder:
        """Return the folder that the desktop's programs share with the agent. Raises `InvalidUsage` without one."""
        desktop = await self._start()
        if not isinstance(desktop, ports.SharesFiles):
            raise InvalidUsage("This desktop shares no folder: use one that is started here, such as a VirtualDesktop.")
        return await desktop.shared_folder()

    async def serve(self, run_id: str, began_s: float, folder: Path) -> None:
        """Attach the desktop to a run, now or right after its start."""
        self._serve_arguments = (run_id, began_s, folder)
        if self._gated_desktop is not None:
            await self._gated_desktop.serve(*self._serve_arguments)

    async def hold(self) -> None:
        """Give control of the screen to a person, after starting the desktop if needed."""
        desktop = await self._start()
        if not isinstance(desktop, ports.Held):
            raise InvalidUsage("This desktop cannot be held for a person.")
        await desktop.hold()

    async def release(self) -> None:
        """Let the agent continue after as many calls as to `hold`."""
        if isinstance(self._desktop, ports.Held):
            await self._desktop.release()

    @property
    def held(self) -> bool:
        return isinstance(self._desktop, ports.Held) and self._desktop.held

    async def by_hand(self, inputs: Sequence[ByHand]) -> None:
        """Carry out the input of a person who holds the screen."""
        if isinstance(self._desktop, ports.Shown):
            await self._desktop.by_hand(inputs)

    async def open_vnc(self) -> Path:
        desktop = await self._start()
        if not isinstance(desktop, ports.Shown):
            raise InvalidUsage("This desktop cannot be shown to a person.")
        return await desktop.open_vnc()

    async def close_vnc(self, path: Path) -> None:
        if isinstance(self._desktop, ports.Shown):
            await self._desktop.close_vnc(path)

    def renew(self, until_s: float) -> None:
        """Allow input until ``until_s``, as in `ports.Gated`."""
        if self._gated_desktop is not None:
            self._gated_desktop.renew(until_s)

    def latch(self) -> None:
        """Stop all input permanently. A desktop that has not been started cannot be started any more."""
        self._latched = True
        if self._gated_desktop is not None:
            self._gated_desktop.latch()

    @property
    def latched(self) -> bool:
        return self._latched or (self._gated_desktop is not None and self._gated_desktop.latched)

    @property
    def at_rest(self) -> bool:
        """Whether nothing is pressed or in transit any more. True without a started desktop."""
        return self._gated_desktop is None or self._gated_desktop.at_rest

    def kill(self) -> None:
        """Terminate the desktop by force if it was started."""
        if self._gated_desktop is not None:
            self._gated_desktop.kill()

    @property
    def _gated_desktop(self) -> ports.Gated | None:
        return self._desktop if isinstance(self._desktop, ports.Gated) else None

    async def close(self) -> Sequence[str]:
        """Close the desktop if it was started. Return the titles of dialogs that its programs opened meanwhile."""
        return (await self._desktop.close() or ()) if self._desktop is not None else ()

    async def _start(self) -> Closable:
        async with self._starting:
            if self._desktop is None:
                if self._latched:
                    raise Killed("The kill switch was used: no desktop is started.")
                desktop = await self.start()
                try:
                    if self._serve_arguments is not None and isinstance(desktop, ports.Gated):
                        await desktop.serve(*self._serve_arguments)
                except BaseException:
                    await desktop.close()
                    raise
                self._desktop = desktop
                if self._latched:
                    self.latch()
            return self._desktop
