"""Know the children of the root window, and read them again only after one has changed.

A step lists the windows of the screen a dozen times: for the picture, for the elements, and before an input. On most
screens nothing changes between two lists, and to ask the X server about each window takes some thirty replies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import xcffib
import xcffib.xproto

from holo_tasks.core.screen.geometry import Box

VIEWABLE, INPUT_ONLY = 2, 2
_CHANGES = (
    xcffib.xproto.CreateNotifyEvent,
    xcffib.xproto.DestroyNotifyEvent,
    xcffib.xproto.MapNotifyEvent,
    xcffib.xproto.UnmapNotifyEvent,
    xcffib.xproto.ReparentNotifyEvent,
    xcffib.xproto.ConfigureNotifyEvent,
    xcffib.xproto.GravityNotifyEvent,
    xcffib.xproto.CirculateNotifyEvent,
)
"""Events of everything that `Child` describes, by the X protocol."""
MOST_TURNS = 4
"""Most readings in a row while windows change."""


class Link(Protocol):
    """What is needed of `x_connection.XConnection`."""

    conn: Any
    root: int

    def sync(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Child:
    """A mapped child of the root window. ``inside`` is its place without the border."""

    window: int
    box: Box
    inside: Box
    depth: int
    input_only: bool


class RootChildren:
    """The mapped children of the root window, lowest first.

    It has a connection of its own, on which the X server reports each change. The server sends these events before the
    reply to a later request. So one round trip shows whether the last reading is still right.
    """

    def __init__(self, connect: Callable[[], Link]) -> None:
        self._connect = connect
        self._link: Link | None = None
        self._known: tuple[Child, ...] | None = None
        self._turn = threading.Lock()

    def read(self) -> tuple[Child, ...]:
        """Return the children as they are now."""
        with self._turn:
            link = self._link
            if link is None:
                link = self._link = self._connect()
                mask = xcffib.xproto.EventMask.SubstructureNotify | xcffib.xproto.EventMask.StructureNotify
                link.conn.core.ChangeWindowAttributes(link.root, xcffib.xproto.CW.EventMask, [mask])
            link.sync()
            for _ in range(MOST_TURNS):
                if not self._changed(link) and self._known is not None:
                    break
                self._known = mapped_children(link)  # its last reply comes after the events until then
            return self._known or ()

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            if self._link is not None:
                self._link.close()
                self._link = None

    def _changed(self, link: Link) -> bool:
        """Take in the events so far; return whether one reports a change."""
        found = False
        while True:
            try:
                event = link.conn.poll_for_event()
            except xcffib.Error:
                found = True
                continue
            if event is None:
                return found
            found = found or isinstance(event, _CHANGES)


def mapped_children(link: Link) -> tuple[Child, ...]:
    """Ask the X server for the mapped children of the root window, lowest first.

    All requests are sent before the first reply is waited for. Windows that close meanwhile are left out.
    """
    core, found = link.conn.core, list[Child]()
    asked = [
        (window, core.GetWindowAttributes(window), core.GetGeometry(window))
        for window in core.QueryTree(link.root).reply().children
    ]
    for window, attributes, geometry in asked:
        try:
            kind, place = attributes.reply(), geometry.reply()
        except xcffib.Error:
            continue
        if kind.map_state == VIEWABLE:
            border = place.border_width
            inside = Box(place.x + border, place.y + border, place.width, place.height)
            box = Box(place.x, place.y, place.width + 2 * border, place.height + 2 * border)
            found.append(Child(int(window), box, inside, place.depth, kind._class == INPUT_ONLY))
    return tuple(found)
