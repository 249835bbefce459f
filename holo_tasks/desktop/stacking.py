"""What lies on a screen, the lowest first, and whose it is: for masking windows of the very picture that was taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import xcffib.shape

from holo_tasks.core.frame import OnScreen
from holo_tasks.core.geometry import Box
from holo_tasks.core.programs import Owner
from holo_tasks.desktop.owners import owner_by
from holo_tasks.desktop.xlink import Refused, XLink

VIEWABLE, INPUT_ONLY = 2, 2
DEEP = 32
"""A window of this depth may be seen through."""
Stacked = dict[int, OnScreen]


def stacked(link: XLink) -> Stacked:
    """Return the windows directly on the root by their ids, the lowest first, each with all programs that draw in it.

    The X server tells a window's program by the window's number, so no property is believed. Windows that go away
    meanwhile are left out.
    """
    owners: dict[int, Owner] = {}
    mask = ~link.setup.resource_id_mask & 0xFFFFFFFF
    found: Stacked = {}
    for window, place in placed(link).items():
        inside = _inside(link, window)
        makers = {each & mask: each for each in reversed(inside)}
        manager = window & mask
        if len(makers) > 1:
            # The frame that a window manager puts around a program's window shows nothing but its title.
            makers.pop(manager)
        programs = []
        for maker, its in makers.items():
            if maker not in owners:
                owners[maker] = owner_by(link, its)
            programs.append(_titled(link, owners[maker], [each for each in inside if each & mask == maker]))
        found[window] = OnScreen(place[0], tuple(programs), place[1])
    return found


def placed(link: XLink) -> dict[int, tuple[Box, bool]]:
    """Return where the windows directly on the root are, the lowest first, and whether each hides what is below it."""
    shapes = link.conn(xcffib.shape.key) if link.has("SHAPE") else None
    core = link.conn.core
    # All are asked before an answer is waited for; most windows on the root are there for others than those who see.
    told = [(window, core.GetWindowAttributes(window)) for window in core.QueryTree(link.root).reply().children]
    seen = [window for window, asked in told if _is_seen(_reply(asked))]
    where = [(each, core.GetGeometry(each), shapes and shapes.QueryExtents(each)) for each in seen]
    found = {}
    for window, *answers in where:
        place = _place(*(_reply(each) for each in answers))
        if place is not None:
            found[int(window)] = place
    return found


def between(before: Stacked, after: Stacked) -> tuple[OnScreen, ...]:
    """Return the windows of a picture that was taken between two looks at them.

    One that moved meanwhile covers all its way; what came, went, moved or changed hides nothing below it.
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


def _is_seen(attributes: Any) -> bool:
    return attributes is not None and attributes.map_state == VIEWABLE and attributes._class != INPUT_ONLY


def _place(geometry: Any, shape: Any) -> tuple[Box, bool] | None:
    """Return where a window is, its border included, and whether it hides what is below; None if it is gone."""
    if geometry is None:
        return None
    border = 2 * geometry.border_width
    box = Box(geometry.x, geometry.y, geometry.width + border, geometry.height + border)
    return box, geometry.depth != DEEP and not (shape is not None and shape.bounding_shaped)


def _reply(cookie: Any) -> Any:
    """Return an answer of the server; None if nothing was asked, or there is no such window any longer."""
    try:
        return cookie and cookie.reply()
    except Refused:
        return None


def _inside(link: XLink, window: int) -> list[int]:
    """Return a window and all below it in the tree, asked for level by level: one wait each."""
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


def _titled(link: XLink, owner: Owner, windows: list[int]) -> Owner:
    """Return a program with the title of the first of its windows that has one."""
    for window in windows[:3]:  # a program's own top window, or the frame's child
        try:
            title = link.text(window, "_NET_WM_NAME") or link.text(window, "WM_NAME")
        except Refused:
            continue
        if title:
            return replace(owner, title=title)
    return owner
