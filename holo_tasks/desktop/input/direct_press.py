"""A press that goes to the window it was checked for, and to no other.

A window manager holds a press back to see which window is to be raised. Then it delivers the press to the window that
is there by then. So the window is raised beforehand. The press is made with a modifier that the manager has no grab
for. All other clients wait while the window is checked and the button is pressed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import xcffib.xkb
import xcffib.xtest

from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop.capture.liveness_ping import CLIENT_MESSAGE, TO_MANAGER, Pinger
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.programs.window_owners import innermost_window_at
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

CORE_KEYBOARD = 0x100
MOD3, ROW_OF_MOD3 = 1 << 5, 5
"""The modifier that usual keyboards leave free."""
PRESS = 4
FROM_PAGER, CLIENT_EVENT, FORMAT = 2, 33, 32
PATIENCE_S, NAP_S = 0.3, 0.002


class DirectPress:
    """Presses buttons on one screen such that the press reaches the checked window."""

    def __init__(self, link: XConnection, pulse: Pinger, gate: Gate) -> None:
        self._link = link
        self._pulse = pulse
        self._gate = gate
        self._test: Any = link.conn(xcffib.xtest.key)
        self._xkb: Any = link.conn(xcffib.xkb.key) if link.has("XKEYBOARD") else None
        if self._xkb is not None:
            self._xkb.UseExtension(1, 0).reply()

    def press(self, button: int, at: Point, synced: Callable[[], Any]) -> None:
        """Press a button at a point.

        ``synced`` returns once the pointer is there. Raises if the press is not allowed.
        """
        self._gate.belongs(at)
        managed = self._managed_window_at(at)
        if managed:
            activate(self._link, self._pulse, managed)
        synced()
        # A window manager holds back no press on its own frames and on windows that it does not manage.
        unknown = MOD3 if managed and self._xkb is not None and self._is_free() else 0
        with self._link.with_server_grabbed():
            self._gate.press(at)
            self._lock(unknown, unknown)
            self._test.FakeInput(PRESS, button, 0, 0, 0, 0, 0)
            self._lock(unknown, 0)

    def _managed_window_at(self, at: Point) -> int:
        """Return the managed client window at a point. Returns zero for frames and all other windows."""
        link = self._link
        clients = link.numbers(link.root, "_NET_CLIENT_LIST_STACKING")
        try:
            window = innermost_window_at(link, at)
            while window and window not in clients:
                window = int(link.conn.core.QueryTree(window).reply().parent)
        except Refused:
            return 0
        return window

    def _is_free(self) -> bool:
        """Return whether no key of this keyboard has the modifier."""
        reply = self._link.conn.core.GetModifierMapping().reply()
        width = reply.keycodes_per_modifier
        return not any(list(reply.keycodes)[ROW_OF_MOD3 * width : (ROW_OF_MOD3 + 1) * width])

    def _lock(self, affected: int, locks: int) -> None:
        if affected:
            self._xkb.LatchLockState(CORE_KEYBOARD, affected, locks, False, 0, 0, False, 0)


def activate(link: XConnection, pulse: Pinger, client: int) -> None:
    """Have the window manager raise and focus a window, as a press in the window would."""
    name = "_NET_ACTIVE_WINDOW"
    top = link.numbers(link.root, "_NET_CLIENT_LIST_STACKING")[-1:] == [client]
    supported = link.atom(name) in link.numbers(link.root, "_NET_SUPPORTED")
    if (top and link.numbers(link.root, name) == [client]) or not supported:
        return
    message = CLIENT_MESSAGE.pack(CLIENT_EVENT, FORMAT, client, link.atom(name), FROM_PAGER, 0, 0, 0, 0)
    link.conn.core.SendEvent(False, link.root, TO_MANAGER, message)
    pulse.await_manager()
    until = time.monotonic() + PATIENCE_S
    while link.numbers(link.root, name) != [client] and time.monotonic() < until:
        time.sleep(NAP_S)  # a window that takes no focus never becomes the active one
