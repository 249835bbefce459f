"""Asks a program whether it responds, as a window manager does (_NET_WM_PING).

A program answers from its event loop, after all earlier events. So an answer proves that it has read its keys and
finished its slow handlers.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from holo_tasks.desktop.capture.repaints import Repaints
from holo_tasks.desktop.x11 import windows
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

FIRST_SERIAL = 0xE0000000
"""First number of a ping. The program returns the number to the root window, where the window manager reads it as well.
A manager numbers its own pings from 1 or with server times, and ignores other numbers.
"""

TO_MANAGER = 0x180000
"""SubstructureNotify and SubstructureRedirect: the window manager listens for these."""
MANAGER_S = 1.0
NAP_S = 0.0003

CLIENT_MESSAGE = struct.Struct("=BB2xII5I")


@dataclass(frozen=True, slots=True)
class Ping:
    """A ping to a window, which may be unanswered yet."""

    window: int
    serial: int
    sent_ns: int


class Pinger:
    """Sends pings over one connection. `Repaints` receives the answers."""

    def __init__(self, link: XConnection, repaints: Repaints) -> None:
        self._link = link
        self._repaints = repaints
        self._serial = FIRST_SERIAL
        # The window manager answers by a property of this window, which is never mapped.
        self._window: int = link.conn.generate_id()
        link.conn.core.CreateWindow(0, self._window, link.root, -10, -10, 1, 1, 0, 1, 0, 0, [])
        self._mute: dict[int, Ping] = {}
        self._alive: set[int] = set()
        self._closed: dict[int, int] = {}

    def ask(self) -> Ping | None:
        """Ping the active window. Returns ``None`` without such a window, or if it never answers pings."""
        link = self._link
        window = windows.active_window(link)
        try:
            if not window or not self._answers(window):
                return None
        except Refused:
            return None
        if (unanswered := self._mute.get(window)) and self.answered(unanswered) is None:
            return None
        self._serial += 1
        message = CLIENT_MESSAGE.pack(
            33, 32, window, link.atom("WM_PROTOCOLS"), link.atom("_NET_WM_PING"), self._serial, window, 0, 0
        )
        link.conn.core.SendEvent(False, window, 0, message)
        link.conn.flush()
        return Ping(window, self._serial, time.monotonic_ns())

    def await_manager(self) -> None:
        """Wait until the window manager has read all earlier events.

        It is asked for the size of a frame, and answers by a property. Managers renew their key bindings when the
        keyboard map changes, and meanwhile lose clicks (openbox).
        """
        link, core = self._link, self._link.conn.core
        name = "_NET_REQUEST_FRAME_EXTENTS"
        if link.atom(name) not in link.numbers(link.root, "_NET_SUPPORTED"):
            return
        core.DeleteProperty(self._window, link.atom("_NET_FRAME_EXTENTS"))
        message = CLIENT_MESSAGE.pack(33, 32, self._window, link.atom(name), 0, 0, 0, 0, 0)
        core.SendEvent(False, link.root, TO_MANAGER, message)
        until = time.monotonic() + MANAGER_S
        while not link.numbers(self._window, "_NET_FRAME_EXTENTS") and time.monotonic() < until:
            time.sleep(NAP_S)

    def _answers(self, window: int) -> bool:
        """Return whether a window's program answers pings.

        Tk does without declaring it. Its programs register a window of theirs at the root window (for `send`). Other
        programs that do not declare it get no pings: simple programs take any message from the window manager for a
        request to close.
        """
        link = self._link
        if link.atom("_NET_WM_PING") in link.numbers(window, "WM_PROTOCOLS"):
            return True
        mask = link.setup.resource_id_mask
        registered = (entry.partition(" ")[0] for entry in link.text(link.root, "InterpRegistry").split("\0"))
        return any(number and int(number, 16) & ~mask == window & ~mask for number in registered)

    def answered(self, ping: Ping) -> int | None:
        """Return when a ping was answered, or ``None``. A window that has closed counts as answered then."""
        at = self._repaints.answered(ping.serial)
        if at is None and ping.serial not in self._closed and not self._exists(ping.window):
            self._closed[ping.serial] = time.monotonic_ns()
        if at is not None:
            self._alive.add(ping.window)
            self._mute.pop(ping.window, None)
        return at or self._closed.get(ping.serial)

    def give_up(self, ping: Ping) -> None:
        """Send no more pings to a window that declares them but has never answered one."""
        if ping.window not in self._alive:
            self._mute[ping.window] = ping

    def _exists(self, window: int) -> bool:
        try:
            self._link.conn.core.GetWindowAttributes(window).reply()
        except Refused:
            return False
        return True
