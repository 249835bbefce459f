"""A window of our own that is clicked to see where clicks land, and the surroundings that this holds for.

It covers all that the agent may touch, so that a click which goes astray reaches no program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import xcffib.xproto

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.visible_text import one_line
from holo_tasks.desktop.windows import box as box_of
from holo_tasks.desktop.xlink import XLink

GROUND, INK = 0xE8E8E8, 0x202020
ARM, THICK = 12, 3
SCALINGS = ("GDK_SCALE", "GDK_DPI_SCALE", "QT_SCALE_FACTOR", "QT_SCREEN_SCALE_FACTORS", "QT_FONT_DPI")
"""What programs are told of scaling by their environment."""
PLAIN_DPI = 96.0
_EVENTS = xcffib.xproto.EventMask.ButtonPress | xcffib.xproto.EventMask.Exposure


class Targets:
    """The target that is open, if there is one, on one display; ``area`` returns what it covers."""

    def __init__(self, display: str, area: Callable[[], Box]) -> None:
        self._display = display
        self._area = area
        self._open: Target | None = None

    def open(self, points: Sequence[Point]) -> dict[str, Any]:
        """Show a target with crosses at some points, in place of the one before; return what `told` does."""
        self.close()
        self._open = Target(self._display, self._area(), points)
        return self.told()

    def told(self) -> dict[str, Any]:
        """Return what `Target.told` does. Raises `InvalidUsage` if no target is open."""
        if self._open is None:
            raise InvalidUsage("There is no target: open one first.")
        return self._open.told()

    def close(self) -> None:
        """Take the target away."""
        if self._open is not None:
            self._open.close()
            self._open = None


class Target:
    """A plain window with crosses on it, over a connection of its own; it notes where it is pressed."""

    def __init__(self, display: str, area: Box, points: Sequence[Point]) -> None:
        self._link = XLink(display)
        self._crosses = [_cross(point, area) for point in points]
        core, cw = self._link.conn.core, xcffib.xproto.CW
        self.window = int(self._link.conn.generate_id())
        # No window manager: it would put a frame around it, and give it the keyboard.
        core.CreateWindow(
            self._link.screen.root_depth, self.window, self._link.root, area.left, area.top, area.width, area.height, 0,
            xcffib.xproto.WindowClass.InputOutput, self._link.screen.root_visual,
            cw.BackPixmap | cw.OverrideRedirect | cw.EventMask, [self._ground(area), 1, _EVENTS],
        )  # fmt: skip
        core.ConfigureWindow(self.window, xcffib.xproto.ConfigWindow.StackMode, [xcffib.xproto.StackMode.Above])
        core.MapWindow(self.window)
        self._link.sync()

    def _ground(self, area: Box) -> int:
        """Return a picture of the window, which the server shows by itself."""
        core = self._link.conn.core
        pixmap, context = self._link.conn.generate_id(), self._link.conn.generate_id()
        core.CreatePixmap(self._link.screen.root_depth, pixmap, self._link.root, area.width, area.height)
        core.CreateGC(context, pixmap, xcffib.xproto.GC.Foreground, [GROUND])
        whole = xcffib.xproto.RECTANGLE.synthetic(0, 0, area.width, area.height)
        core.PolyFillRectangle(pixmap, context, 1, [whole])
        core.ChangeGC(context, xcffib.xproto.GC.Foreground, [INK])
        arms = [arm for cross in self._crosses for arm in cross]
        core.PolyFillRectangle(pixmap, context, len(arms), arms)
        core.FreeGC(context)
        return int(pixmap)

    def told(self) -> dict[str, Any]:
        """Return where it was pressed since this was asked last, where the pointer is, and where the window is."""
        self._link.sync()
        presses = []
        while (event := self._link.conn.poll_for_event()) is not None:
            if isinstance(event, xcffib.xproto.ButtonPressEvent):
                presses.append([event.root_x, event.root_y])
        pointer = self._link.pointer()
        place = box_of(self._link, self.window)
        return {
            "presses": presses,
            "pointer": [pointer.x, pointer.y],
            "box": [place.left, place.top, place.width, place.height],
        }

    def close(self) -> None:
        self._link.conn.core.DestroyWindow(self.window)
        self._link.sync()
        self._link.close()


def _cross(point: Point, area: Box) -> list[Any]:
    x, y = point.x - area.left, point.y - area.top
    across = (x - ARM, y - THICK // 2, 2 * ARM + 1, THICK)
    down = (x - THICK // 2, y - ARM, THICK, 2 * ARM + 1)
    return [xcffib.xproto.RECTANGLE.synthetic(*arm) for arm in (across, down)]


def setting(link: XLink, environment: Mapping[str, str]) -> dict[str, Any]:
    """Describe what a calibration holds for: scalings that are set, and the window manager."""
    dpi = dpi_of(link.text(link.root, "RESOURCE_MANAGER"))
    scalings = {"Xft.dpi": f"{dpi:g}"} if dpi is not None else {}
    scalings |= {name: one_line(environment[name], 40) for name in SCALINGS if environment.get(name)}
    return {
        "scale": " ".join(f"{name}={value}" for name, value in scalings.items()),
        "window_manager": _manager(link),
    }


def dpi_of(resources: str) -> float | None:
    """Return Xft.dpi, which may be a fraction; None if it is not set, or is no resolution."""
    for line in resources.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "Xft.dpi":
            try:
                dpi = float(value)
            except ValueError:
                return None
            return dpi if 24 <= dpi <= 960 else None  # neither nan nor endless
    return None


def scale_of(resources: str) -> float:
    """Return how much larger than on a plain screen programs draw, by Xft.dpi."""
    dpi = dpi_of(resources)
    return 1.0 if dpi is None else round(dpi / PLAIN_DPI, 3)


def _manager(link: XLink) -> str:
    for window in link.numbers(link.root, "_NET_SUPPORTING_WM_CHECK"):
        try:
            return one_line(link.text(window, "_NET_WM_NAME"), 80)
        except xcffib.Error:
            return ""  # the window of a manager that is gone
    return ""
