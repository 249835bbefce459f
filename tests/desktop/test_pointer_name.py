"""The pointer of a real X server shows that its program is busy if the program named its cursor so."""

from __future__ import annotations

import os

import pytest
import xcffib.xfixes
import xcffib.xproto

from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import Settle, VirtualDesktop
from holo_tasks.desktop.readiness.pointer_name import PointerName
from holo_tasks.desktop.x11.x_connection import XConnection


@pytest.mark.parametrize(("name", "busy"), [("watch", True), ("left_ptr_watch", True), ("hand2", False), ("", False)])
async def test_a_pointer_is_busy_by_its_cursor_name(monkeypatch: pytest.MonkeyPatch, name: str, busy: bool) -> None:
    async with VirtualDesktop(size=Size(320, 240)) as desktop:
        monkeypatch.setitem(os.environ, "XAUTHORITY", str(desktop.authority))
        link = XConnection(desktop.display)
        pointer = PointerName(link)
        assert pointer.seen
        assert not pointer.is_busy()
        core, fixes = link.conn.core, link.conn(xcffib.xfixes.key)
        font, cursor = link.conn.generate_id(), link.conn.generate_id()
        core.OpenFont(font, len("cursor"), "cursor")
        core.CreateGlyphCursor(cursor, font, font, 150, 151, 0, 0, 0, 65535, 65535, 65535)
        fixes.SetCursorName(cursor, len(name), name)
        window, values = link.conn.generate_id(), [1, cursor]
        above = (link.screen.root_depth, window, link.root, 0, 0, 320, 240, 0, 1, link.screen.root_visual)
        core.CreateWindow(*above, xcffib.xproto.CW.OverrideRedirect | xcffib.xproto.CW.Cursor, values)
        core.MapWindow(window)
        link.sync()
        assert (pointer.name(), pointer.is_busy()) == (name, busy)


def test_the_deprecated_name_of_patience_s_still_works() -> None:
    with pytest.warns(DeprecationWarning, match="patience_s"):
        assert Settle(busy_cap_s=7.0).patience_s == 7.0
