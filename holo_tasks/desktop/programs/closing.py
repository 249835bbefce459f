"""Ask the programs of a desktop to close their windows, by WM_DELETE_WINDOW, so that they can save their settings.

No input event is sent. Dialogs such as "Save changes?" are not answered, because the answer could lose work. The caller
gets their titles.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable

import xcffib

from holo_tasks.desktop import processes
from holo_tasks.desktop.capture.liveness_ping import CLIENT_MESSAGE
from holo_tasks.desktop.programs.window_owners import processes_of
from holo_tasks.desktop.x11.x_connection import Refused, XConnection
from holo_tasks.machine.proc import process, stat_of

CLOSES_S = 2.0
"""Time for programs to close."""
DIALOG_S = 0.5
"""Time for open dialogs to close, before the windows below them are asked."""
NAP_S = 0.005
DELETE = "WM_DELETE_WINDOW"


class Closing:
    """One attempt to close all windows. ``own`` returns the processes of the desktop's programs."""

    def __init__(self, link: XConnection, own: Callable[[], set[int]]) -> None:
        self._link = link
        self._own = own
        self._asked: set[int] = set()
        self._awaited: set[int] = set()

    def run(self) -> list[str]:
        """Close all windows and wait for their programs. Return the titles of dialogs that opened and stayed open."""
        until = time.monotonic() + CLOSES_S
        before = self._windows()
        dialogs = [window for window in before if self._is_dialog(window)]
        self._ask(dialogs)
        if self._awaited:
            soon = min(until, time.monotonic() + DIALOG_S)
            while set(dialogs) & set(self._windows()) and time.monotonic() < soon:
                time.sleep(NAP_S)
        self._ask(window for window in before if window not in dialogs)
        opened: list[int] = []
        while self._still_running() and time.monotonic() < until:
            time.sleep(NAP_S)
            opened = [window for window in self._windows() if window not in before]
            # New windows are closed as well. New dialogs are questions to a person.
            self._ask(window for window in opened if not self._is_dialog(window))
        return [self._title(window) for window in opened if self._is_dialog(window)] if self._still_running() else []

    def _ask(self, windows: Iterable[int]) -> None:
        """Send WM_DELETE_WINDOW, once, to each window that supports it."""
        link = self._link
        new, own = [window for window in windows if window not in self._asked], self._own()
        made_by = dict(zip(new, processes_of(link, new), strict=True)) if new else {}
        wanted = [window for window in new if made_by[window] in own and self._supports_delete(window)]
        for window in wanted:
            self._asked.add(window)
            message = CLIENT_MESSAGE.pack(33, 32, window, link.atom("WM_PROTOCOLS"), link.atom(DELETE), 0, 0, 0, 0)
            link.conn.core.SendEvent(False, window, 0, message)
            # Its parents count as well: a launcher script may go on after the program.
            self._awaited |= own & set(processes.ancestry(made_by[window]))
        link.conn.flush()

    def _still_running(self) -> bool:
        """Return whether a program that was asked is still running. Processes stopped by SIGSTOP do not count."""
        self._awaited = {pid for pid in self._awaited if _state(pid) not in ("", "Z", "X")}
        return any(not is_stopped(pid) for pid in self._awaited)

    def _windows(self) -> list[int]:
        with contextlib.suppress(*Refused):
            return self._link.numbers(self._link.root, "_NET_CLIENT_LIST_STACKING")[::-1]
        return []

    def _supports_delete(self, window: int) -> bool:
        with contextlib.suppress(*Refused):
            return self._link.atom(DELETE) in self._link.numbers(window, "WM_PROTOCOLS")
        return False

    def _is_dialog(self, window: int) -> bool:
        link = self._link
        with contextlib.suppress(*Refused):
            kinds = link.numbers(window, "_NET_WM_WINDOW_TYPE")
            return link.atom("_NET_WM_WINDOW_TYPE_DIALOG") in kinds or any(link.numbers(window, "WM_TRANSIENT_FOR"))
        return False

    def _title(self, window: int) -> str:
        """Return the title of a dialog, or the title of its parent window."""
        link = self._link
        with contextlib.suppress(*Refused):
            for named in (window, *link.numbers(window, "WM_TRANSIENT_FOR")):
                if named and (title := link.text(named, "_NET_WM_NAME") or link.text(named, "WM_NAME")):
                    return title
        return ""


def ask_to_close(link: XConnection, own: Callable[[], set[int]]) -> list[str]:
    """Ask programs to close and wait for them. Return the titles of the dialogs that they opened."""
    with contextlib.suppress(xcffib.XcffibException):  # the X server has ended
        return Closing(link, own).run()
    return []


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal."""
    return _state(pid) in ("T", "t")


def _state(pid: int) -> str:
    try:
        return stat_of(process(pid))[0]
    except (OSError, IndexError):
        return ""
