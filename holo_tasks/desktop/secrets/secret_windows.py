"""Track the windows into which secrets were typed, so that their places can be masked in pictures.

`SecretWindows` is the main class; `x_session` uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.desktop.programs.window_owners import owner_by, owner_of
from holo_tasks.desktop.x11.windows import active_window, box, client_of
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

NEAR = 8
"""Pixels. A window that reaches at most this far beyond a field counts as drawing only that field."""
VIEWABLE = 2
WindowBoxes: TypeAlias = dict[int, Box | None]


@dataclass(frozen=True, slots=True)
class SecretWindow:
    """A window's id, its box and its process id. The ids are zero if they are unknown."""

    window: int = 0
    box: Box | None = None
    pid: int = 0


class SecretWindows:
    """The windows into which secrets were typed on one display."""

    def __init__(self, link: XConnection) -> None:
        self._link = link
        self._windows: dict[int, int | None] = {}
        """Process id of each window, zero if unknown; ``None`` once the window is closed, because ids are reused."""

    @property
    def any(self) -> bool:
        """Return whether a secret was typed into any window."""
        return bool(self._windows)

    def inside(self, field: Box) -> SecretWindow:
        """Return and remember the window that draws a field into which a secret was just typed.

        Some programs have a window for each field; then it is that window. For all others it is the program's top
        window: no part of the field can be visible after that window is closed.
        """
        link = self._link
        pid = owner_of(link, None).pid
        innermost = _window_in_middle(link, field)
        top = client_of(link, innermost) if innermost else 0
        if not top or owner_by(link, innermost).pid != pid:
            innermost = top = active_window(link)  # another program's window covers the field
            pid = owner_by(link, top).pid if top else 0
        if not top:
            return SecretWindow()
        near = field.grown(NEAR)
        found = innermost if near.encloses(box(link, innermost)) else top
        self._windows[found] = owner_by(link, found).pid  # not the field's: a program may embed another one's window
        return SecretWindow(found, box(link, found), pid)

    def window_boxes(self) -> WindowBoxes:
        """Return the box of each window, ``None`` for a window that is not visible."""
        return {window: self._box_of(window) for window in sorted(self._windows)}

    def _box_of(self, window: int) -> Box | None:
        pid = self._windows[window]
        if pid is None:
            return None
        try:
            shown = self._link.conn.core.GetWindowAttributes(window).reply().map_state == VIEWABLE
            if pid and owner_by(self._link, window).pid not in (0, pid):
                self._windows[window] = None
                return None
            return box(self._link, window) if shown else None
        except Refused:
            self._windows[window] = None
            return None


def boxes_between(before: WindowBoxes, after: WindowBoxes) -> WindowBoxes:
    """Return the boxes of windows in a picture that was taken between two calls of `SecretWindows.window_boxes`.

    The box of a window that moved covers both places.
    """
    found: WindowBoxes = {}
    for window in {**before, **after}:
        one, other = before.get(window), after.get(window)
        found[window] = Box.around((one, other)) if one and other else one or other
    return found


def _window_in_middle(link: XConnection, field: Box) -> int:
    """Return the innermost window at the middle of a field, or zero if there is only the root window."""
    at = Point(field.left + field.width // 2, field.top + field.height // 2)
    window = below = link.root
    while below:
        window = below
        below = link.conn.core.TranslateCoordinates(link.root, window, at.x, at.y).reply().child
    return int(window) if window != link.root else 0
