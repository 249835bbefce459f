"""The monitors of a display, and which of them an agent is bound to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.geometry import Box
from holo_tasks.core.visible_text import exact


@dataclass(frozen=True, slots=True)
class Monitor:
    """One monitor: ``number`` is its place in the display's list, from 1; ``box`` the part of the screen it shows."""

    number: int
    name: str
    box: Box
    primary: bool = False

    def __str__(self) -> str:
        return f"{self.number} {exact(self.name)} ({self.box}{', primary' if self.primary else ''})"


def wanted_monitor(given: object) -> str:
    """Return a monitor as it was asked for: its name or its number, empty for none in particular.

    Raises `InvalidUsage` for what is neither.
    """
    if given is None or given == "":
        return ""
    if isinstance(given, bool) or not isinstance(given, int | str) or not str(given).strip():
        raise InvalidUsage(f"monitor= is a monitor's name, as 'HDMI-1', or its number, from 1, not {given!r}.")
    if isinstance(given, int) and given < 1:
        raise InvalidUsage(f"monitor={given}: monitors are numbered from 1.")
    return str(given).strip()


def named_monitor(monitors: Sequence[Monitor], wanted: str) -> Monitor | None:
    """Return the monitor of that name or, if there is none, of that number; None if there is neither."""
    by_name = next((monitor for monitor in monitors if monitor.name == wanted), None)
    number = int(wanted) if wanted.isascii() and wanted.isdigit() else 0
    return by_name or next((monitor for monitor in monitors if monitor.number == number), None)


def told_monitors(monitors: Sequence[Monitor]) -> str:
    """Say which monitors there are, in a line."""
    return ", ".join(map(str, monitors)) or "none"
