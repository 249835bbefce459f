"""Whether the pointer says that its program is busy, by the name that XFixes knows for its picture."""

from __future__ import annotations

from typing import Any

import xcffib.xfixes

from holo_tasks.desktop.xlink import Refused, XLink

BUSY = frozenset({"watch", "left_ptr_watch", "half-busy", "wait", "progress"})
"""Names of the X11 cursor font, of freedesktop's themes and of CSS for a pointer that asks a person to wait."""


class PointerName:
    """Reads the name of the pointer's picture; programs set it when they change the pointer."""

    def __init__(self, link: XLink) -> None:
        self._link = link
        self._xfixes: Any = None
        self.seen = link.has("XFIXES")
        """Whether the X server can say the name."""
        if self.seen:
            self._xfixes = link.conn(xcffib.xfixes.key)
            self._xfixes.QueryVersion(2, 0).reply()

    def is_busy(self) -> bool:
        """Say whether the pointer's name is one for waiting."""
        return self.name() in BUSY

    def name(self) -> str:
        """Return the name of the pointer's picture, empty if it has none."""
        if self._xfixes is None:
            return ""
        try:
            reply = self._xfixes.GetCursorImageAndName().reply()
        except Refused:
            return ""
        return bytes(reply.name.buf()).decode("latin-1") if reply.nbytes else ""
