"""Correct the roles, names and positions of Java's elements, as Debian's wrapper (libatk-wrapper-java) publishes them.

The wrapper adds the place of an element in its container to the position of its parent in the tree. The two differ for
pages of tabs, entries of menus, and dialogs. `corrected` and `described` are the main functions; `assembly` calls them.
"""

from __future__ import annotations

from collections.abc import Sequence

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.placement import SLACK, Extents, sound
from holo_tasks.core.screen.geometry import Box

TOOLKIT = "j2se"
ROOT_PANE = "root pane"
"""Role of the area of a window without its frame."""
ITEMS = {"table": "cell", "tree table": "cell", "list": "list item", "tree": "tree item", "tree item": "tree item"}
"""Roles of labels by the role of their parent. Swing draws cells and items with labels, and publishes that role."""


def is_swing(toolkit: str) -> bool:
    """Return whether the name of a toolkit is that of Java's wrapper."""
    return toolkit.lower().startswith(TOOLKIT)


def described(node: Node, above_role: str) -> tuple[str, str, str]:
    """Return role, name and value of an element. ``above_role`` is the corrected role of its parent.

    The wrapper publishes the chosen option as the name of a combo box.
    """
    role = ITEMS.get(above_role, node.role) if node.role == "label" else node.role
    name, value = (node.label, node.name) if role == "combo box" else (node.name, node.value)
    return role, name, value


def corrected(nodes: Sequence[Node]) -> list[Extents | None]:
    """Return the extents of all elements of a program, with those corrected that the wrapper reports wrongly."""
    found: list[Extents | None] = []
    popups = [
        node.extents
        for node in nodes
        if node.role == "popup menu" and _shows(node) and nodes[node.parent].role != "combo box" and node.extents
    ]
    rooms: dict[int, Extents | None] = {}
    for place, node in enumerate(nodes):
        above = nodes[node.parent] if node.parent >= 0 else None
        extents = node.extents
        if above is None:
            inside = nodes[place + 1] if place + 1 < len(nodes) and nodes[place + 1].parent == place else None
            extents = inside.extents if inside is not None and inside.role == ROOT_PANE else extents
        elif extents is not None and (origin := found[node.parent]) is not None:
            room = None
            if above.role == "tab" and above.parent >= 0:
                room = found[above.parent]
            elif above.role == "menu" and _shows(node):
                if node.parent not in rooms:
                    rooms[node.parent] = _popup(nodes, node.parent, origin, popups)
                room = rooms[node.parent]
            if room is not None:
                extents = extents[0] - origin[0] + room[0], extents[1] - origin[1] + room[1], *extents[2:]
        found.append(extents)
    return found


def visible_part(nodes: Sequence[Node], place: int) -> Extents | None:
    """Return the extents of the part of an element that its viewport shows."""
    extents, above = nodes[place].extents, nodes[place].parent
    while above >= 0 and nodes[above].role != "viewport":
        above = nodes[above].parent
    pane = nodes[above].extents if above >= 0 else None
    if extents is None or pane is None:
        return extents
    seen = Box(*extents).intersection(Box(*pane))
    return None if seen is None else (seen.left, seen.top, seen.width, seen.height)


def _popup(nodes: Sequence[Node], menu: int, origin: Extents, popups: Sequence[Extents]) -> Extents | None:
    """Return the extents of the popup that shows a menu's entries, by its size; ``None`` if it is unclear."""
    entries = [
        node.extents
        for node in nodes
        if node.parent == menu and _shows(node) and node.extents is not None and sound(node.extents)
    ]
    if not entries:
        return None
    right = max(left + width for left, _, width, _ in entries) - origin[0]
    bottom = max(top + height for _, top, _, height in entries) - origin[1]
    border = 2 * SLACK
    fitting = [each for each in popups if 0 <= each[2] - right <= border and 0 <= each[3] - bottom <= border]
    return fitting[0] if len(set(fitting)) == 1 else None


def _shows(node: Node) -> bool:
    return bool(node.states & protocol.SHOWING)
