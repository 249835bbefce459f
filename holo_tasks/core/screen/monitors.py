"""The monitors of a display, and the choice of the one that an agent uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.texts.visible_text import exact


@dataclass(frozen=True, slots=True)
class Monitor:
    """One monitor: ``number`` is its position in the display's list, from 1, and ``box`` its part of the screen."""

    number: int
    name: str
    box: Box
    primary: bool = False

    def __str__(self) -> str:
        return f"{self.number} {exact(self.name)} ({self.box}{', primary' if self.primary else ''})"


def monitor_option(given: object) -> str:
    """Return the given monitor name or number as text; empty if no monitor was given.

    Raises `InvalidUsage` for any other value.
    """
    if given is None or given == "":
        return ""
    if isinstance(given, bool) or not isinstance(given, int | str) or not str(given).strip():
        raise InvalidUsage(f"monitor= is a monitor's name, such as 'HDMI-1', or its number, from 1, not {given!r}.")
    if isinstance(given, int) and given < 1:
        raise InvalidUsage(f"monitor={given}: monitors are numbered from 1.")
    return str(given).strip()


def named_monitor(monitors: Sequence[Monitor], wanted: str) -> Monitor | None:
    """Return the monitor with this name, else the one with this number, else ``None``."""
    by_name = next((monitor for monitor in monitors if monitor.name == wanted), None)
    number = int(wanted) if wanted.isascii() and wanted.isdigit() else 0
    return by_name or next((monitor for monitor in monitors if monitor.number == number), None)


def monitor_list(monitors: Sequence[Monitor]) -> str:
    """Return one line that lists the monitors."""
    return ", ".join(map(str, monitors)) or "none"
