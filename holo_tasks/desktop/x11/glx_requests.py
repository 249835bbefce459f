"""Detects which client of an X server requests OpenGL, by X RECORD: each client has to ask for the extension GLX."""

from __future__ import annotations

import contextlib
import os
import struct
import threading

import xcffib
import xcffib.record

from holo_tasks.desktop.programs.window_owners import owner_by
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

QUERY_EXTENSION, HEAD = 98, struct.Struct("=xxHH2x")
FROM_CLIENT, START = 1, 4
MARK = "HOLO-HEARD"
PATIENCE_S = 2.0


class GlxRequestRecorder:
    """Records which client first asks an X server for GLX. It receives only requests for extensions."""

    def __init__(self, link: XConnection) -> None:
        self._link = link
        self._recording = XConnection(link.display)
        self._news = threading.Condition()
        self._first: int | None = None
        self._marks, self._marks_seen = 0, -1
        self._over = not link.has("RECORD")
        if not self._over:
            context = link.conn.generate_id()
            # Clients that connect from now on. This connection is recorded as well: its marks show the progress.
            whose = [xcffib.record.CS.FutureClients, link.setup.resource_id_base]
            none, nothing = (0, 0), ((0, 0), (0, 0))
            what = ((QUERY_EXTENSION, QUERY_EXTENSION), none, nothing, nothing, none, none, none, False, False)
            ranges = [xcffib.record.Range.synthetic(*what)]
            record = link.conn(xcffib.record.key)
            record.CreateContext(context, 0, len(whose), len(ranges), whose, ranges, is_checked=True).check()
            threading.Thread(target=self._listen, args=(context,), name="opengl", daemon=True).start()
            self._await(0)
        self.deaf = self._over
        """Whether nothing can be recorded, because the X server lacks X RECORD."""

    def asked(self, *, until_now: bool = False) -> str | None:
        """Return the program that first asked for GLX.

        Returns "" if its name is unknown, and ``None`` if none is recorded.

        With ``until_now``, first wait until all earlier requests to the server are recorded.
        """
        if until_now and not self.deaf:
            self._marks += 1
            self._link.has(f"{MARK}-{self._marks}")
            self._await(self._marks)
        return None if self._first is None else self._name(self._first)

    def _await(self, mark: int) -> None:
        with self._news:
            self._news.wait_for(lambda: self._over or self._marks_seen >= mark, PATIENCE_S)

    def _name(self, client: int) -> str:
        with contextlib.suppress(*Refused):
            owner = owner_by(self._link, client)
            return owner.name if owner.pid != os.getpid() else ""  # the client has ended and this one got its number
        return ""

    def _listen(self, context: int) -> None:
        conn = self._recording.conn
        try:
            asking = conn(xcffib.record.key).EnableContext(context)
            conn.flush()
            while True:
                reply = xcffib.record.EnableContextReply(conn.wait_for_reply(asking.sequence))
                if reply.category == START:
                    self._go_on()
                elif reply.category == FROM_CLIENT:
                    self._read(int(reply.xid_base), bytes(reply.data.buf()))
        except xcffib.XcffibException:
            pass  # the X server has ended
        with self._news:
            self._over = True
            self._news.notify_all()

    def _go_on(self) -> None:
        with self._news:
            self._marks_seen += 1
            self._news.notify_all()

    def _read(self, client: int, data: bytes) -> None:
        place = 0
        while place + HEAD.size <= len(data):
            words, length = HEAD.unpack_from(data, place)
            name = data[place + HEAD.size : place + HEAD.size + length]
            place += max(4 * words, HEAD.size)
            if name == b"GLX" and self._first is None:
                self._first = client
            elif name.startswith(MARK.encode()):
                self._go_on()
