"""Show a test window that records where clicks land, and describe the conditions of a calibration.

The window covers the whole area in which input is allowed, so that a misplaced click reaches no program. `ClickWindows`
is the main class; `x_session` uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import xcffib.xproto

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.texts.visible_text import one_line
from holo_tasks.desktop.x11.windows import box as box_of
from holo_tasks.desktop.x11.x_connection import XConnection

GROUND, INK = 0xE8E8E8, 0x202020
ARM, THICK = 12, 3
SCALINGS = ("GDK_SCALE", "GDK_DPI_SCALE", "QT_SCALE_FACTOR", "QT_SCREEN_SCALE_FACTORS", "QT_FONT_DPI")
"""Environment variables by which toolkits scale their windows."""
PLAIN_DPI = 96.0
_EVENTS = xcffib.xproto.EventMask.ButtonPress | xcffib.xproto.EventMask.Exposure


class ClickWindows:
    """The open test window of one display, if any. ``area`` returns the box that a new one covers."""

    def __init__(self, display: str, area: Callable[[], Box]) -> None:
        self._display = display
        self._area = area
        self._open: ClickWindow | None = None

    def open(self, points: Sequence[Point]) -> dict[str, Any]:
        """Replace the test window by a new one with crosses at ``points``; return the values of `measurement`."""
        self.close()
        self._open = ClickWindow(self._display, self._area(), points)
        return self.measurement()

    def measurement(self) -> dict[str, Any]:
        """Return the values of `ClickWindow.measurement`. Raises `InvalidUsage` if no test window is open."""
        if self._open is None:
            raise InvalidUsage("No target window is open: open one first.")
        return self._open.measurement()

    def close(self) -> None:
        """Close the test window, if it is open."""
        if self._open is not None:
            self._open.close()
            self._open = None


class ClickWindow:
    """A plain window with crosses, which receives its presses over its own X connection."""

    def __init__(self, display: str, area: Box, points: Sequence[Point]) -> None:
        self._link = XConnection(display)
        self._crosses = [_cross(point, area) for point in points]
        core, cw = self._link.conn.core, xcffib.xproto.CW
        self.window = int(self._link.conn.generate_id())
        # Override-redirect, because a window manager would add a frame and give the window the keyboard.
        core.CreateWindow(
            self._link.screen.root_depth, self.window, self._link.root, area.left, area.top, area.width, area.height, 0,
            xcffib.xproto.WindowClass.InputOutput, self._link.screen.root_visual,
            cw.BackPixmap | cw.OverrideRedirect | cw.EventMask, [self._ground(area), 1, _EVENTS],
        )  # fmt: skip
        core.ConfigureWindow(self.window, xcffib.xproto.ConfigWindow.StackMode, [xcffib.xproto.StackMode.Above])
        core.MapWindow(self.window)
        self._link.sync()

    def _ground(self, area: Box) -> int:
        """Draw the crosses on a pixmap, and return it as the window's background, which the server repaints itself."""
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

    def measurement(self) -> dict[str, Any]:
        """Return the presses since the last call, the pointer's position and the window's box, in screen pixels."""
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


def calibration_setting(link: XConnection, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the conditions under which a calibration is valid: the scaling settings and the window manager."""
    dpi = dpi_of(link.text(link.root, "RESOURCE_MANAGER"))
    scalings = {"Xft.dpi": f"{dpi:g}"} if dpi is not None else {}
    scalings |= {name: one_line(environment[name], 40) for name in SCALINGS if environment.get(name)}
    return {
        "scale": " ".join(f"{name}={value}" for name, value in scalings.items()),
        "window_manager": _manager(link),
    }


def dpi_of(resources: str) -> float | None:
    """Return Xft.dpi, which may be a fraction; ``None`` if it is not set or not from 24 to 960."""
    for line in resources.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "Xft.dpi":
            try:
                dpi = float(value)
            except ValueError:
                return None
            return dpi if 24 <= dpi <= 960 else None  # also excludes nan and infinity
    return None


def scale_of(resources: str) -> float:
    """Return the factor by which Xft.dpi enlarges programs; 1.0 at 96 dpi or if it is not set."""
    dpi = dpi_of(resources)
    return 1.0 if dpi is None else round(dpi / PLAIN_DPI, 3)


def _manager(link: XConnection) -> str:
    for window in link.numbers(link.root, "_NET_SUPPORTING_WM_CHECK"):
        try:
            return one_line(link.text(window, "_NET_WM_NAME"), 80)
        except xcffib.Error:
            return ""  # the window belonged to a window manager that has ended
    return ""
