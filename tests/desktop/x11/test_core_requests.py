"""The core requests that skip the code of xcffib have the same replies and errors."""

from __future__ import annotations

import pytest
import xcffib
import xcffib.xproto

from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.x11.core_requests import REPLIES
from holo_tasks.desktop.x11.x_connection import XConnection

NUMBERS = [1, 2, 0xFFFFFFFF]
UNUSED = ("sequence", "length", "response_type", "bufsize", "children_len", "value", "children")


async def test_replies_and_errors_are_those_of_xcffib(monkeypatch):
    async with VirtualDesktop(size=Size(640, 480)) as desktop:
        monkeypatch.setenv("XAUTHORITY", str(desktop.authority))
        link, server = XConnection(desktop.display), xcffib.connect(display=desktop.display)
        fast, window = link.conn.core, link.conn.generate_id()
        fast.CreateWindow(0, window, link.root, 7, -20, 100, 50, 3, 1, 0, 0, [])
        for name, format_, value in (("NUMBERS", 32, NUMBERS), ("TEXT", 8, b"a text")):
            fast.ChangeProperty(0, window, link.atom(name), link.atom(name), format_, len(value), value)
        link.sync()

        def asked(core):
            properties = [
                core.GetProperty(False, window, link.atom(name), 0, 0, 9) for name in ("NUMBERS", "TEXT", "NO")
            ]
            pointer = (
                core.QueryPointer(link.root),
                core.TranslateCoordinates(window, link.root, 5, 6),
                core.GetInputFocus(),
            )
            of_window = core.GetWindowAttributes(window), core.GetGeometry(window), core.QueryTree(link.root)
            return [each.reply() for each in (*properties, *pointer, *of_window)]

        pairs = list(zip(asked(fast), asked(server.core), strict=True))
        assert {type(mine) for mine, _ in pairs} == {*REPLIES.values()}
        for mine, theirs in pairs:
            read = {name: value for name, value in vars(mine).items() if name not in UNUSED}
            assert read == {name: getattr(theirs, name) for name in read}
            if isinstance(theirs, xcffib.xproto.GetPropertyReply):
                assert mine.value.buf() == bytes(theirs.value.buf())
            if isinstance(theirs, xcffib.xproto.QueryTreeReply):
                assert [*mine.children] == [*theirs.children]
        assert link.numbers(window, "NUMBERS") == NUMBERS
        with pytest.raises(xcffib.xproto.DrawableError):
            fast.GetGeometry(0x7FFFFFF).reply()
        server.disconnect()
    assert not link.alive()
