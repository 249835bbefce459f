"""The windows that secrets were typed into: which one draws a field, and where each of them is by now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from holo_tasks.core.geometry import Box, Point
from holo_tasks.desktop.owners import owner_by, owner_of
from holo_tasks.desktop.windows import active_window, box, client_of
from holo_tasks.desktop.xlink import Refused, XLink

NEAR = 8
"""A window that reaches no further than this beyond a field draws nothing else."""
VIEWABLE = 2
Places: TypeAlias = dict[int, Box | None]


@dataclass(frozen=True, slots=True)
class Inside:
    """A window by its number, where it is, and the process that it is of; zero where nobody can say."""

    window: int = 0
    box: Box | None = None
    pid: int = 0


class TypedIn:
    """Remembers the windows that it was asked about."""

    def __init__(self, link: XLink) -> None:
        self._link = link
        self._windows: dict[int, int | None] = {}
        """Which process each is of, zero where nobody can say; None once it was closed: its number is given anew."""

    @property
    def any(self) -> bool:
        """Whether there is any such window."""
        return bool(self._windows)

    def inside(self, field: Box) -> Inside:
        """Return the window that draws a field which was just typed into.

        Some programs have a window for each field, which then is where the field is. Of all others it is the top one,
        which is there for as long as anything of it may show.
        """
        link = self._link
        pid = owner_of(link, None).pid
        innermost = _pressed(link, field)
        top = client_of(link, innermost) if innermost else 0
        if not top or owner_by(link, innermost).pid != pid:
            innermost = top = active_window(link)  # something lies over the field
            pid = owner_by(link, top).pid if top else 0
        if not top:
            return Inside()
        near = field.grown(NEAR)
        found = innermost if near.encloses(box(link, innermost)) else top
        self._windows[found] = owner_by(link, found).pid  # not that of the field: one program may show another's
        return Inside(found, box(link, found), pid)

    def places(self) -> Places:
        """Return where each of the windows is, None for one that is not to be seen."""
        return {window: self._place(window) for window in sorted(self._windows)}

    def _place(self, window: int) -> Box | None:
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


def between(before: Places, after: Places) -> Places:
    """Return where windows are in a picture that was taken between two looks at them: all the way of one that moved."""
    found: Places = {}
    for window in {**before, **after}:
        one, other = before.get(window), after.get(window)
        found[window] = Box.around((one, other)) if one and other else one or other
    return found


def _pressed(link: XLink, field: Box) -> int:
    """Return the innermost window in the middle of a field."""
    at = Point(field.left + field.width // 2, field.top + field.height // 2)
    window = below = link.root
    while below:
        window = below
        below = link.conn.core.TranslateCoordinates(link.root, window, at.x, at.y).reply().child
    return int(window) if window != link.root else 0
