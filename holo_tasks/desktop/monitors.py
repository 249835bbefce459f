"""The monitors of an X display, by RandR, and the one that a desktop is bound to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import xcffib.randr

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.core.monitors import Monitor, named_monitor, told_monitors
from holo_tasks.desktop.xlink import Refused, XLink

MOST_MONITORS = 64
WITH_MONITORS = (1, 5)
"""The version of RandR that tells of monitors."""


def monitors(link: XLink) -> list[Monitor]:
    """Return the monitors; a server that knows of none has one, which is the whole screen."""
    size = link.size()
    found: list[Monitor] = []
    if link.has("RANDR"):
        with suppress(*Refused):  # an old server
            found = _by_randr(link, size)
    return found or [Monitor(1, "screen", Box.whole(size), primary=True)]


def _by_randr(link: XLink, size: Size) -> list[Monitor]:
    randr = link.conn(xcffib.randr.key)
    version = randr.QueryVersion(*WITH_MONITORS).reply()
    if (version.major_version, version.minor_version) < WITH_MONITORS:
        return []
    found: list[Monitor] = []
    for told in list(randr.GetMonitors(link.root, True).reply().monitors)[:MOST_MONITORS]:
        # One may be laid out past the edge of the screen, or be of no size while it is being set up.
        box = Box(told.x, told.y, told.width, told.height).clipped(size)
        if box is not None:
            found.append(Monitor(len(found) + 1, link.atom_name(told.name), box, primary=bool(told.primary)))
    return found


@dataclass
class Bound:
    """The monitor that a desktop is bound to, as it lies by now; all of the screen if ``wanted`` is empty."""

    link: XLink
    wanted: str = ""
    monitor: Monitor | None = None

    def begin(self) -> None:
        """Find the monitor. Raises `InvalidUsage` if there is none of that name or number."""
        if self.wanted and self._find() is None:
            raise InvalidUsage(
                f"Display {self.link.display} has no monitor {self.wanted!r}; it has: "
                f"{told_monitors(monitors(self.link))}."
            )

    @property
    def box(self) -> Box | None:
        """The part of the screen that may be seen and touched; None is all of it."""
        return self.monitor.box if self.monitor else None

    def measure(self) -> Box | None:
        """Look where the monitor lies by now. Raises `DesktopFailed` if it is gone."""
        if self.wanted and self._find() is None:
            raise DesktopFailed(
                f"Monitor {self.wanted!r} of display {self.link.display} is gone; there is: "
                f"{told_monitors(monitors(self.link))}."
            )
        return self.box

    def check(self, point: Point) -> None:
        """Raise `InvalidUsage` for a point that is not on the monitor."""
        if self.monitor is not None and not self.monitor.box.contains(point):
            raise InvalidUsage(
                f"The point ({point.x}, {point.y}) is not on monitor {self.monitor.name}, which is "
                f"{self.monitor.box} and all that this agent may touch."
            )

    def check_keys(self, window: Box | None) -> None:
        """Raise `InvalidUsage` for keys that would go to a window which is not on the monitor at all."""
        if self.monitor is not None and window is not None and not window.intersects(self.monitor.box):
            raise InvalidUsage(
                f"The keyboard is with a window that is not on monitor {self.monitor.name}, which is all that this "
                "agent may touch: click on that monitor first."
            )

    def _find(self) -> Monitor | None:
        # A monitor that is asked for by its number stays the one it was: numbers move up when another is unplugged.
        name = self.monitor.name if self.monitor else self.wanted
        self.monitor = named_monitor(monitors(self.link), name)
        return self.monitor
