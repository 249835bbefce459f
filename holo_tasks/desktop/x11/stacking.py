"""List the windows on a screen in stacking order, with their programs, so that windows can be masked in a picture.

`stacked` is the main function; `settled_screen` calls it before and after a capture.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import xcffib.shape

from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import OnScreen
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.programs.window_owners import owner_by
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

DEPTH_WITH_ALPHA = 32
"""A window with this depth in bits may be transparent."""
Stacked = dict[int, OnScreen]


def stacked(link: XConnection) -> Stacked:
    """Return the children of the root window by id, lowest first, each with all programs that draw in it.

    The window's id identifies its client in the X server, so no property is trusted. Windows that close meanwhile are
    left out.
    """
    owners: dict[int, Owner] = {}
    mask = ~link.setup.resource_id_mask & 0xFFFFFFFF
    found: Stacked = {}
    for window, place in child_boxes(link).items():
        inside = _window_and_descendants(link, window)
        makers = {each & mask: each for each in reversed(inside)}
        manager = window & mask
        if len(makers) > 1:
            # The window manager's frame around a program's window shows only its title.
            makers.pop(manager)
        programs = []
        for maker, its in makers.items():
            if maker not in owners:
                owners[maker] = owner_by(link, its)
            programs.append(_with_title(link, owners[maker], [each for each in inside if each & mask == maker]))
        found[window] = OnScreen(place[0], tuple(programs), place[1])
    return found


def child_boxes(link: XConnection) -> dict[int, tuple[Box, bool]]:
    """Return for each child of the root window, lowest first, its box and whether it hides the windows below it."""
    shapes = link.conn(xcffib.shape.key) if link.has("SHAPE") else None
    # All requests are sent before the first reply is waited for.
    asked = [
        (child, shapes and shapes.QueryExtents(child.window)) for child in link.root_children() if not child.input_only
    ]
    found = {}
    for child, cookie in asked:
        try:
            shaped = bool(cookie and cookie.reply().bounding_shaped)
        except Refused:
            continue  # closed meanwhile
        found[child.window] = child.box, child.depth != DEPTH_WITH_ALPHA and not shaped
    return found


def windows_between(before: Stacked, after: Stacked) -> tuple[OnScreen, ...]:
    """Return the windows of a picture that was taken between two calls of `stacked`.

    If the calls differ, each window covers both of its places, and none hides the windows below it.
    """
    if before == after and list(before) == list(after):
        return tuple(after.values())
    found = []
    for window in {**before, **after}:
        one, other = before.get(window), after.get(window)
        both = [seen for seen in (one, other) if seen is not None]
        owners = dict.fromkeys(owner for seen in both for owner in seen.owners)
        found.append(OnScreen(Box.around([seen.box for seen in both]), tuple(owners), solid=False))
    return tuple(found)


def _window_and_descendants(link: XConnection, window: int) -> list[int]:
    """Return a window and all its descendants. Each level of the tree takes one wait."""
    found, level = [window], [window]
    while level:
        asked: list[Any] = [link.conn.core.QueryTree(each) for each in level]
        level = []
        for cookie in asked:
            try:
                level += cookie.reply().children
            except Refused:
                continue
        found += level
    return found


def _with_title(link: XConnection, owner: Owner, windows: list[int]) -> Owner:
    """Return ``owner`` with the title of the first of three windows that has one."""
    for window in windows[:3]:  # a program's own top window, or the frame's child
        try:
            title = link.text(window, "_NET_WM_NAME") or link.text(window, "WM_NAME")
        except Refused:
            continue
        if title:
            return replace(owner, title=title)
    return owner
