"""Put small windows of programs that do not belong to the desktop, such as tips, behind the desktop's own programs.

Only the window manager is asked. Nothing is pressed and nothing is answered in the other program's window.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import processes
from holo_tasks.desktop.capture.liveness_ping import CLIENT_MESSAGE, TO_MANAGER, Pinger
from holo_tasks.desktop.input.direct_press import CLIENT_EVENT, FORMAT, FROM_PAGER, activate
from holo_tasks.desktop.programs.window_owners import processes_of
from holo_tasks.desktop.x11.windows import Window, active_window, windows
from holo_tasks.desktop.x11.x_connection import Refused, XConnection
from holo_tasks.machine.proc import process

SMALL = 4
"""A small window has at most the area of the program's largest window divided by this number."""
REMOVE, ABOVE = 0, "_NET_WM_STATE_ABOVE"


class ForeignWindows:
    """The windows on a desktop's own X server whose processes the desktop did not start.

    ``is_foreign`` says of a process whether it is one of these. A window that got the keyboard by an action of the
    agent, or that the agent pressed in, is part of the work, and is left alone.
    """

    def __init__(self, link: XConnection, pulse: Pinger, is_foreign: Callable[[int], bool]) -> None:
        self._link, self._pulse, self._is_foreign = link, pulse, is_foreign
        self._known: dict[tuple[int, int], bool] = {}
        self._clients: frozenset[int] = frozenset()
        self._left_alone: set[int] = set()
        self._active = 0
        self._own: tuple[int, frozenset[int]] = (0, frozenset())
        """The program's window that had the keyboard last, and all windows of programs at that time."""

    def behind(self, *, covering: bool) -> bool:
        """Put foreign windows behind the program if one has the keyboard or, with ``covering``, lies over the program.

        It does nothing if such a window is large, or may be part of the work. Returns whether it did.
        """
        own, foreign = self._sorted()
        if not own or not foreign:
            return False
        wanted = self._wanted(own)
        order = [window for window, _ in self._known]
        in_the_way = [
            each
            for each in foreign
            if each.active or (order.index(each.id) > order.index(wanted.id) and each.box.intersection(wanted.box))
        ]
        if not covering and not any(each.active for each in in_the_way):
            return False
        largest = max(each.box.area for each in own)
        large = any(each.box.area * SMALL > largest for each in in_the_way)
        of_the_work = any(each.id in self._left_alone or self._belongs(each.id) for each in in_the_way)
        if not in_the_way or large or of_the_work:
            return False
        for each in in_the_way:
            self._release_from_top(each.id)
        activate(self._link, self._pulse, wanted.id)
        self._active = wanted.id
        return True

    def has_keyboard(self) -> bool:
        """Return whether a foreign window has the keyboard."""
        return any(each.active for each in self._sorted()[1])

    def before_gesture(self, at: Point | None) -> None:
        """Remember which window has the keyboard, and a foreign window that a press at a point is for."""
        self._active = active_window(self._link)
        if at is not None and not self._has_none():
            self._left_alone |= {each.id for each in self._sorted()[1] if each.box.contains(at)}

    def after_gesture(self) -> None:
        """Leave a foreign window alone from now on if it got the keyboard during the gesture."""
        if active_window(self._link) != self._active and not self._has_none():
            self._left_alone |= {each.id for each in self._sorted()[1] if each.active and each.id != self._active}

    def _has_none(self) -> bool:
        """Return whether the windows are those of the last check, and that one found no foreign window."""
        clients = frozenset(self._link.numbers(self._link.root, "_NET_CLIENT_LIST_STACKING"))
        return clients == self._clients and not any(self._known.values())

    def _sorted(self) -> tuple[list[Window], list[Window]]:
        """Return the windows of the desktop's programs and the foreign ones, each with the topmost last."""
        self._clients = frozenset(self._link.numbers(self._link.root, "_NET_CLIENT_LIST_STACKING"))
        shown = windows(self._link)
        # The X server gives the id of a closed window to another program, so the process is a part of the key.
        keys = [*zip((each.id for each in shown), processes_of(self._link, [each.id for each in shown]), strict=True)]
        known = self._known
        self._known = {key: known[key] if key in known else self._is_foreign_window(*key) for key in keys}
        self._left_alone &= {window for window, _ in keys}
        foreign = {window for (window, _), is_foreign in self._known.items() if is_foreign}
        own = [each for each in shown if each.id not in foreign]
        if active := next((each.id for each in own if each.active), 0):
            self._own = active, frozenset(each.id for each in own)
        return own, [each for each in shown if each.id in foreign]

    def _is_foreign_window(self, window: int, pid: int) -> bool:
        self._left_alone.discard(window)
        return self._is_foreign(pid)

    def _belongs(self, window: int) -> bool:
        """Return whether a window says that it is a dialog of another one. Then it may be the program's."""
        try:
            return bool(self._link.numbers(window, "WM_TRANSIENT_FOR"))
        except Refused:
            return True

    def _wanted(self, own: list[Window]) -> Window:
        """Return the program's window that had the keyboard last or, if windows came or went since, the topmost."""
        last, then = self._own
        if then == {each.id for each in own}:
            return next(each for each in own if each.id == last)
        return own[-1]

    def _release_from_top(self, window: int) -> None:
        """Have the window manager no longer keep a window above all others."""
        link = self._link
        state, above = link.atom("_NET_WM_STATE"), link.atom(ABOVE)
        message = CLIENT_MESSAGE.pack(CLIENT_EVENT, FORMAT, window, state, REMOVE, above, 0, FROM_PAGER, 0)
        link.conn.core.SendEvent(False, link.root, TO_MANAGER, message)


def is_outside(pid: int, mark: str) -> bool:
    """Return whether a process is certainly neither a descendant of this one nor marked as one of this desktop."""
    if not pid or os.getpid() in processes.ancestry(pid):
        return False
    try:
        return f"{processes.MARK}={mark}".encode() not in (process(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
