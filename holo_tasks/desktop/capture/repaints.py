"""Record the repaints of a screen, and programs' answers to pings, in a thread.

`liveness_ping` sends the pings (``_NET_WM_PING``) to find out whether a program has processed its input. `Repaints` is
the main class. `repaint_watch` and the code that waits for a settled screen use it.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import xcffib.damage
import xcffib.xproto

from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.capture.settle import Repaint
from holo_tasks.desktop.x11.x_connection import Gone, Refused, XConnection

# Enough for a caret's history and for a window drawn piece by piece.
KEPT = 512
CATCH_UP_S = 0.1
"""Longest wait in seconds of `Repaints.catch_up`. The answer normally takes a tenth of a millisecond."""
CLIENT_MESSAGE = struct.Struct("=BBHIII16x")
REARRANGED = (xcffib.xproto.MapNotifyEvent, xcffib.xproto.UnmapNotifyEvent, xcffib.xproto.ConfigureNotifyEvent)


class Repaints:
    """The latest repaints of one screen, which a thread receives over its own X connection.

    X DAMAGE reports every rectangle that is drawn, except for moves of the cursor. For a server without DAMAGE,
    ``peek`` returns a fingerprint of the pixels, and fingerprints are compared only while a caller waits.
    """

    def __init__(self, display: str, peek: Callable[[], Any]) -> None:
        self._link = XConnection(display)
        self._news = threading.Condition()
        self._seen: deque[Repaint] = deque(maxlen=KEPT)
        self._pongs: dict[int, int] = {}
        self._count = 0
        self.gone = False
        self.also: Callable[[Box], None] = lambda area: None
        """Called with the box of every repaint, in the watching thread."""
        self.rearranged: Callable[[], None] = lambda: None
        """Called in that thread when a window appeared, went away or moved."""
        self.within: Box | None = None
        """The part of the screen that is watched; ``None`` is the whole screen."""
        self._peek = None if self._watch_damage() else peek
        self._before: Any = None
        # The answer to a ping goes to the root window, where every client may listen for it. Most toolkits send it to
        # clients with SubstructureNotify on the root window, Qt to those with StructureNotify.
        mask = xcffib.xproto.EventMask.SubstructureNotify | xcffib.xproto.EventMask.StructureNotify
        self._link.conn.core.ChangeWindowAttributes(self._link.root, xcffib.xproto.CW.EventMask, [mask])
        self._marks = self._passed = 0
        self._marked = self._link.conn.generate_id()
        self._link.conn.core.CreateWindow(0, self._marked, self._link.root, -10, -10, 1, 1, 0, 2, 0, 0, [])
        self._protocols = self._link.atom("WM_PROTOCOLS")
        self._ping = self._link.atom("_NET_WM_PING")
        self._link.sync()
        threading.Thread(target=self._watch, name="repaints", daemon=True).start()

    @property
    def exact(self) -> bool:
        """Return whether repaints come from X DAMAGE."""
        return self._peek is None

    def _watch_damage(self) -> bool:
        link = self._link
        if not (link.has("DAMAGE") and link.has("XFIXES")):
            return False
        damage = link.conn(xcffib.damage.key)
        damage.QueryVersion(1, 1).reply()
        damage.Create(
            link.conn.generate_id(), link.root, xcffib.damage.ReportLevel.RawRectangles, is_checked=True
        ).check()
        return True

    def _watch(self) -> None:
        conn = self._link.conn
        while True:
            try:
                event = conn.wait_for_event()
            except Refused:
                continue
            except Gone:
                event = None
            if event is None:
                with self._news:
                    self.gone = True
                    self._news.notify_all()
                return
            if isinstance(event, REARRANGED):
                self.rearranged()
            elif isinstance(event, xcffib.damage.NotifyEvent):
                area = event.area
                self._note(Box(area.x, area.y, area.width, area.height))
            elif isinstance(event, xcffib.xproto.ClientMessageEvent) and event.window == self._marked:
                with self._news:
                    self._passed = event.data.data32[0]
                    self._news.notify_all()
            elif isinstance(event, xcffib.xproto.ClientMessageEvent) and event.type == self._protocols:
                data = event.data.data32
                if data[0] == self._ping:
                    with self._news:
                        self._pongs[data[1]] = time.monotonic_ns()
                        self._news.notify_all()

    def _note(self, area: Box) -> None:
        if self.within is not None and not area.intersects(self.within):
            return
        with self._news:
            self._seen.append(Repaint(time.monotonic_ns(), area))
            self._count += 1
            self._news.notify_all()
        self.also(area)

    def catch_up(self) -> None:
        """Wait until every repaint is recorded that the X server drew before this call.

        The thread sends itself a message through the server, which comes after the events of those repaints. Does
        nothing without DAMAGE.
        """
        if not self.exact:
            return
        with self._news:
            self._marks += 1
            mark = self._marks
        message = CLIENT_MESSAGE.pack(33, 32, 0, self._marked, self._protocols, mark)
        try:
            self._link.conn.core.SendEvent(False, self._marked, 0, message)
            self._link.conn.flush()
        except Gone:
            return  # the thread notices it, too
        with self._news:
            self._news.wait_for(lambda: self.gone or self._passed >= mark, CATCH_UP_S)

    def latest(self) -> list[Repaint]:
        """Return the latest repaints, oldest first."""
        with self._news:
            return list(self._seen)

    def answered(self, serial: int) -> int | None:
        """Return when the ping with this serial was answered (monotonic nanoseconds), or ``None``."""
        with self._news:
            return self._pongs.get(serial)

    def wait(self, timeout_ns: int, *, repaint: bool = False, serial: int | None = None) -> None:
        """Wait for at most ``timeout_ns``.

        With ``repaint``, the next repaint ends the wait. With ``serial``, the answer to the ping with that serial does.
        """
        until = time.monotonic_ns() + timeout_ns
        with self._news:
            count = self._count
            while not self.gone and (left := until - time.monotonic_ns()) > 0:
                if (repaint and self._count != count) or (serial is not None and serial in self._pongs):
                    return
                if self._peek is None:
                    self._news.wait(left / 1e9)
                else:
                    self._news.wait(min(left / 1e9, 0.02))  # how often the pictures are compared
                    self.compare()

    def compare(self) -> None:
        """Record a repaint if the picture changed since the last comparison. Does nothing with DAMAGE."""
        if self._peek is None:
            return
        now = self._peek()
        if now != self._before and self._before is not None:
            size = self._link.size()
            self._seen.append(Repaint(time.monotonic_ns(), Box.whole(size)))
            self._count += 1
        self._before = now
