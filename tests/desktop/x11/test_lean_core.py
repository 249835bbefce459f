"""The short way to the X server's most frequent replies gives the same values and errors as xcffib does."""

from __future__ import annotations

import struct

import pytest
import xcffib
import xcffib.xproto

from holo_tasks.desktop.x11.x_connection import Gone, Refused, XConnection

ATTRIBUTES = ("_class", "map_state", "override_redirect")
GEOMETRY = ("depth", "x", "y", "width", "height", "border_width")
POINTER = ("same_screen", "root", "child", "root_x", "root_y", "win_x", "win_y", "mask")
MOVED = ("same_screen", "child", "dst_x", "dst_y")
PROPERTIES = {8: "häuser".encode(), 16: struct.pack("=3H", 1, 2, 65535), 32: struct.pack("=2I", 7, 4294967295)}


@pytest.fixture
def link(x_server, monkeypatch):
    display, authority = x_server("Xvfb", "-screen", "0", "320x240x24")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    link = XConnection(display)
    yield link
    if link.conn._conn is not None:
        link.close()


@pytest.fixture
def window(link):
    """A mapped window at a negative place with a border, a child, and a property of each format."""
    core, new, child = link.conn.core, link.conn.generate_id(), link.conn.generate_id()
    core.CreateWindow(24, new, link.root, -20, 30, 100, 70, 3, 1, 0, xcffib.xproto.CW.OverrideRedirect, [1])
    core.CreateWindow(0, child, new, 5, 6, 7, 8, 0, 2, 0, 0, [])
    core.MapWindow(new)
    core.SetInputFocus(0, new, 0)
    for bits, raw in PROPERTIES.items():
        core.ChangeProperty(0, new, link.atom(f"P{bits}"), xcffib.xproto.Atom.CARDINAL, bits, len(raw) * 8 // bits, raw)
    link.sync()
    return new


def same(link, request, arguments, names):
    """Compare the named fields of a reply with those that xcffib reads."""
    lean = getattr(link.conn.core, request)(*arguments).reply()
    full = getattr(xcffib.xproto.xprotoExtension(link.conn), request)(*arguments).reply()
    assert [getattr(lean, name) for name in names] == [getattr(full, name) for name in names]
    return lean


def test_the_values_are_those_of_xcffib(link, window):
    same(link, "GetWindowAttributes", [window], ATTRIBUTES)
    place = same(link, "GetGeometry", [window], GEOMETRY)
    assert (place.x, place.width, place.border_width) == (-20, 100, 3)
    same(link, "QueryPointer", [link.root], POINTER)
    same(link, "TranslateCoordinates", [link.root, window, -5, 40], MOVED)
    assert same(link, "GetInputFocus", [], ["revert_to", "focus"]).focus == window
    for asked in (window, link.root):
        lean, full = link.conn.core.QueryTree(asked), xcffib.xproto.xprotoExtension(link.conn).QueryTree(asked)
        lean, full = lean.reply(), full.reply()
        assert (lean.root, lean.parent, [*lean.children]) == (full.root, full.parent, [*full.children])


@pytest.mark.parametrize("bits", [*PROPERTIES, 0])
def test_a_property_is_that_of_xcffib(link, window, bits):
    arguments = [False, window, link.atom(f"P{bits}"), 0, 0, 65536]
    found = same(link, "GetProperty", arguments, ["format", "type", "value_len"])
    assert found.format == bits
    assert found.value.buf() == PROPERTIES.get(bits, b"")
    if bits == 32:
        assert link.numbers(window, "P32") == [7, 4294967295]
    assert link.text(window, f"P{bits}") == ("hÃ¤user" if bits == 8 else "")


def test_replies_may_be_read_in_another_order(link, window):
    asked = [link.conn.core.GetGeometry(each) for each in (window, link.root, window)]
    assert [cookie.reply().width for cookie in reversed(asked)] == [100, 320, 100]


def test_a_closed_window_is_an_error_of_the_server_and_the_next_reply_is_right(link, window):
    first, second = link.conn.core.GetGeometry(window + 77), link.conn.core.GetGeometry(window)
    with pytest.raises(Refused):
        first.reply()
    assert second.reply().width == 100
    with pytest.raises(xcffib.xproto.WindowError):
        link.conn.core.QueryTree(window + 77).reply()
    assert link.conn.poll_for_event() is None, "no error is left as an event"


def read_until_it_fails(link, asked):
    """Read replies. The first may have come before the server ended."""
    for _ in range(3):
        asked.reply()
        asked = link.conn.core.GetGeometry(link.root)


def test_a_lost_server_and_a_closed_connection_are_errors(link, window, x_server):
    asked = link.conn.core.GetGeometry(window)
    for server in x_server.processes:
        server.kill()
        server.wait()
    with pytest.raises(Gone):
        read_until_it_fails(link, asked)
    with pytest.raises(Gone):
        link.conn.core.QueryTree(window).reply()
    link.close()
    with pytest.raises(xcffib.XcffibException):
        link.conn.core.QueryTree(window)
