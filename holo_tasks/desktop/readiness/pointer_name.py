"""Detects a busy pointer by the name of its picture, which XFixes reports."""

from __future__ import annotations

from typing import Any

import xcffib.xfixes

from holo_tasks.desktop.x11.x_connection import Refused, XConnection

BUSY = frozenset({"watch", "left_ptr_watch", "half-busy", "wait", "progress"})
"""Names of busy pointers in the X11 cursor font, in freedesktop's themes and in CSS."""


class PointerName:
    """Reads the name of the pointer's picture. Programs set the name when they change the pointer."""

    def __init__(self, link: XConnection) -> None:
        self._link = link
        self._xfixes: Any = None
        self.seen = link.has("XFIXES")
        """Whether the X server can report the name."""
        if self.seen:
            self._xfixes = link.conn(xcffib.xfixes.key)
            self._xfixes.QueryVersion(2, 0).reply()

    def is_busy(self) -> bool:
        """Return whether the pointer is a busy pointer."""
        return self.name() in BUSY

    def name(self) -> str:
        """Return the name of the pointer's picture, or an empty string."""
        if self._xfixes is None:
            return ""
        try:
            reply = self._xfixes.GetCursorImageAndName().reply()
        except Refused:
            return ""
        return bytes(reply.name.buf()).decode("latin-1") if reply.nbytes else ""
