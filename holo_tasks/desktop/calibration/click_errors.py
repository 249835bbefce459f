"""Read a desktop's monitors and setting for a calibration, and measure clicks on a test window.

`CalibrationMixin` is a mixin of `desktop.Desktop`.
"""

from __future__ import annotations

from collections.abc import Sequence

from holo_tasks.core.screen.calibration import ReceivedPresses, Setting
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.monitors import Monitor
from holo_tasks.desktop.session.child import Child


class CalibrationMixin:
    """The calibration methods of `Desktop`, which defines how its child process is reached."""

    _borrowed: str

    def _running(self) -> Child:
        raise NotImplementedError

    def _refuse_held(self) -> None:
        raise NotImplementedError

    async def look(self, after_action: bool = False) -> Frame:
        raise NotImplementedError

    async def monitors(self) -> list[Monitor]:
        """List the monitors that RandR reports.

        A display without RandR has one monitor, which covers the whole screen.
        """
        child = self._running()
        async with child.turn:
            answer = await child.ask("monitors")
        return [Monitor(**{**reply, "box": Box(**reply["box"])}) for reply in answer["monitors"]]

    async def setting(self) -> Setting:
        """Return the conditions under which a calibration of this desktop is valid."""
        child = self._running()
        async with child.turn:
            reply = (await child.ask("setting"))["setting"]
        frame = await self.look()
        area = frame.monitor or Box.whole(frame.size)
        return Setting(
            display=self._borrowed or "virtual",
            area=(area.left, area.top, area.width, area.height),
            screen=(frame.size.width, frame.size.height),
            **reply,
        )

    async def open_target(self, points: Sequence[Point]) -> None:
        """Show a test window with crosses at ``points``, over the whole area in which input is allowed."""
        child = self._running()
        async with child.turn:
            self._refuse_held()
            await child.ask("open_target", points=[[point.x, point.y] for point in points])

    async def target(self) -> ReceivedPresses:
        """Return the presses on the test window since the last call, the pointer's position and the window's box."""
        child = self._running()
        async with child.turn:
            reply = (await child.ask("target"))["target"]
        return ReceivedPresses(
            tuple(Point(*at) for at in reply["presses"]), Point(*reply["pointer"]), Box(*reply["box"])
        )

    async def close_target(self) -> None:
        """Close the test window; do nothing if it is closed already."""
        child = self._running()
        async with child.turn:
            await child.ask("close_target")
