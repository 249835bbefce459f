"""The windows of a screen are read again after every kind of change, and only then."""

from __future__ import annotations

import pytest
import xcffib.xproto

from holo_tasks.desktop.x11 import root_children
from holo_tasks.desktop.x11.root_children import mapped_children
from holo_tasks.desktop.x11.x_connection import XConnection

CW = xcffib.xproto.ConfigWindow
ABOVE, BELOW, RAISE_LOWEST = 0, 1, 0


@pytest.fixture
def links(x_server, monkeypatch):
    """Two connections to one server: one reads, the other changes windows."""
    display, authority = x_server("Xvfb", "-screen", "0", "320x240x24")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    links = XConnection(display), XConnection(display)
    yield links
    for link in links:
        link.close()


def window(link, x, y, *, input_only=False):
    new = link.conn.generate_id()
    depth, kind = (0, 2) if input_only else (24, 1)
    link.conn.core.CreateWindow(depth, new, link.root, x, y, 50, 40, 0, kind, 0, 0, [])
    return new


CHANGES = {
    "appears": lambda core, root, one, other, hidden: core.MapWindow(hidden),
    "goes away": lambda core, root, one, other, hidden: core.UnmapWindow(one),
    "closes": lambda core, root, one, other, hidden: core.DestroyWindow(one),
    "moves": lambda core, root, one, other, hidden: core.ConfigureWindow(one, CW.X, [77]),
    "grows": lambda core, root, one, other, hidden: core.ConfigureWindow(one, CW.Height, [99]),
    "gets a border": lambda core, root, one, other, hidden: core.ConfigureWindow(one, CW.BorderWidth, [4]),
    "is raised": lambda core, root, one, other, hidden: core.ConfigureWindow(one, CW.StackMode, [ABOVE]),
    "is lowered": lambda core, root, one, other, hidden: core.ConfigureWindow(other, CW.StackMode, [BELOW]),
    "is raised in turn": lambda core, root, one, other, hidden: core.CirculateWindow(RAISE_LOWEST, root),
    "leaves the root window": lambda core, root, one, other, hidden: core.ReparentWindow(one, other, 1, 2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_at_once(links, change):
    reader, other = links
    one, two, hidden = window(other, 5, 6), window(other, 20, 30), window(other, 9, 9)
    other.conn.core.MapWindow(one)
    other.conn.core.MapWindow(two)
    other.sync()
    before = reader.root_children()
    assert [child.window for child in before] == [one, two]
    CHANGES[change](other.conn.core, other.root, one, two, hidden)
    other.sync()
    now = reader.root_children()
    assert now == mapped_children(other)
    assert now != before


def test_a_window_that_comes_back_into_the_root_window_is_seen(links):
    reader, other = links
    one, two = window(other, 5, 6), window(other, 20, 30)
    for each in (one, two):
        other.conn.core.MapWindow(each)
    other.conn.core.ReparentWindow(one, two, 1, 2)
    other.sync()
    assert [child.window for child in reader.root_children()] == [two]
    other.conn.core.ReparentWindow(one, other.root, 3, 4)
    other.sync()
    assert [child.window for child in reader.root_children()] == [two, one]


def test_unchanged_windows_are_read_once(links, monkeypatch):
    reader, other = links
    readings = []
    read = root_children.mapped_children
    monkeypatch.setattr(root_children, "mapped_children", lambda link: readings.append(1) or read(link))
    shown = window(other, 5, 6, input_only=True)
    other.conn.core.MapWindow(shown)
    other.sync()
    first = reader.root_children()
    assert first[0].input_only
    assert [reader.root_children() for _ in range(3)] == [first] * 3
    assert len(readings) == 1


def test_windows_are_read_while_this_process_holds_the_server(links):
    reader, other = links
    reader.root_children()
    one = window(other, 5, 6)
    other.conn.core.MapWindow(one)
    other.sync()
    with reader.with_server_grabbed():
        assert [child.window for child in reader.root_children()] == [one]
