"""What a calibration asks of a desktop: its setting, its monitors, and where a window of our own is pressed."""

from __future__ import annotations

from collections.abc import Sequence

from holo_tasks.core.calibration import Pressed, Setting
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.monitors import Monitor
from holo_tasks.desktop.child import Child


class Measured:
    """A part of `Desktop`, which says how it is reached."""

    _borrowed: str

    def _running(self) -> Child:
        raise NotImplementedError

    def _refuse_held(self) -> None:
        raise NotImplementedError

    async def look(self, after_action: bool = False) -> Frame:
        raise NotImplementedError

    async def monitors(self) -> list[Monitor]:
        """List the monitors of the display, as RandR tells them; a display without has one, which is all of it."""
        child = self._running()
        async with child.turn:
            answer = await child.ask("monitors")
        return [Monitor(**{**told, "box": Box(**told["box"])}) for told in answer["monitors"]]

    async def setting(self) -> Setting:
        """Say what a calibration of this desktop holds for."""
        child = self._running()
        async with child.turn:
            told = (await child.ask("setting"))["setting"]
        frame = await self.look()
        area = frame.monitor or Box.whole(frame.size)
        return Setting(
            display=self._borrowed or "virtual",
            area=(area.left, area.top, area.width, area.height),
            screen=(frame.size.width, frame.size.height),
            **told,
        )

    async def open_target(self, points: Sequence[Point]) -> None:
        """Show a window of our own, with crosses at some points, over all that may be touched: for a calibration."""
        child = self._running()
        async with child.turn:
            self._refuse_held()
            await child.ask("open_target", points=[[point.x, point.y] for point in points])

    async def target(self) -> Pressed:
        """Say where that window was pressed since this was asked last."""
        child = self._running()
        async with child.turn:
            told = (await child.ask("target"))["target"]
        return Pressed(tuple(Point(*at) for at in told["presses"]), Point(*told["pointer"]), Box(*told["box"]))

    async def close_target(self) -> None:
        """Take that window away; more than once does no harm."""
        child = self._running()
        async with child.turn:
            await child.ask("close_target")
