"""List the monitors of an X display by RandR, and keep a desktop's input on one monitor.

`BoundMonitor` is the monitor of one desktop. The process that owns the desktop uses it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import xcffib.randr

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.monitors import Monitor, monitor_list, named_monitor
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

MOST_MONITORS = 64
WITH_MONITORS = (1, 5)
"""The first version of RandR with a request for monitors."""


def monitors(link: XConnection) -> list[Monitor]:
    """Return the monitors of a display.

    A server without RandR 1.5 counts as one monitor, which covers the whole screen.
    """
    size = link.size()
    found: list[Monitor] = []
    if link.has("RANDR"):
        with suppress(*Refused):  # an old server
            found = _by_randr(link, size)
    return found or [Monitor(1, "screen", Box.whole(size), primary=True)]


def _by_randr(link: XConnection, size: Size) -> list[Monitor]:
    randr = link.conn(xcffib.randr.key)
    version = randr.QueryVersion(*WITH_MONITORS).reply()
    if (version.major_version, version.minor_version) < WITH_MONITORS:
        return []
    found: list[Monitor] = []
    for reply in list(randr.GetMonitors(link.root, True).reply().monitors)[:MOST_MONITORS]:
        # A monitor may reach past the edge of the screen, or have no size while it is set up.
        box = Box(reply.x, reply.y, reply.width, reply.height).clipped(size)
        if box is not None:
            found.append(Monitor(len(found) + 1, link.atom_name(reply.name), box, primary=bool(reply.primary)))
    return found


@dataclass
class BoundMonitor:
    """The monitor to which a desktop is bound, with its latest box.

    ``wanted`` is a name or a number. An empty text allows the whole screen.
    """

    link: XConnection
    wanted: str = ""
    monitor: Monitor | None = None

    def begin(self) -> None:
        """Find the monitor. Raises `InvalidUsage` if the display has no monitor with that name or number."""
        if self.wanted and self._find() is None:
            raise InvalidUsage(
                f"Display {self.link.display} has no monitor {self.wanted!r}; it has: "
                f"{monitor_list(monitors(self.link))}."
            )

    @property
    def box(self) -> Box | None:
        """Return the part of the screen that may be captured and clicked; ``None`` means the whole screen."""
        return self.monitor.box if self.monitor else None

    def measure(self) -> Box | None:
        """Update the monitor's box and return it. Raises `DesktopFailed` if the monitor is gone."""
        if self.wanted and self._find() is None:
            raise DesktopFailed(
                f"Monitor {self.wanted!r} of display {self.link.display} is gone; there is: "
                f"{monitor_list(monitors(self.link))}."
            )
        return self.box

    def check(self, point: Point) -> None:
        """Raise `InvalidUsage` for a point that is not on the monitor."""
        if self.monitor is not None and not self.monitor.box.contains(point):
            raise InvalidUsage(
                f"The point ({point.x}, {point.y}) is not on monitor {self.monitor.name} ({self.monitor.box}), the "
                "only one that this agent may use."
            )

    def check_keys(self, window: Box | None) -> None:
        """Raise `InvalidUsage` if the window with the keyboard focus lies wholly outside of the monitor."""
        if self.monitor is not None and window is not None and not window.intersects(self.monitor.box):
            raise InvalidUsage(
                f"The window with the keyboard is not on monitor {self.monitor.name}, the only one that this agent "
                "may use: click on that monitor first."
            )

    def _find(self) -> Monitor | None:
        # Once found, the monitor is looked up by name: numbers move up when another monitor is unplugged.
        name = self.monitor.name if self.monitor else self.wanted
        self.monitor = named_monitor(monitors(self.link), name)
        return self.monitor
