"""Correct the roles, names and positions of Java's elements, as Debian's wrapper (libatk-wrapper-java) publishes them.

The wrapper adds the place of an element in its container to the position of its parent in the tree. The two differ for
pages of tabs, entries of menus, and dialogs. `corrected_extents` and `role_name_value` are the main functions;
`assembly` calls them.
"""

from __future__ import annotations

from collections.abc import Sequence

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.placement import Extents
from holo_tasks.core.screen.geometry import Box

TOOLKIT = "j2se"
ROOT_PANE = "root pane"
"""Role of the area of a window without its frame."""
POPUP = "popup menu"
POPUPS = {POPUP, "menu"}
BORDERS = 12
"""Most pixels by which a popup is wider or higher than its entries."""
MENUS = {"menu", "menu bar", "menu item"}
ITEMS = {"table": "cell", "tree table": "cell", "list": "list item", "tree": "tree item", "tree item": "tree item"}
"""Roles of labels by the role of their parent. Swing draws cells and items with labels, and publishes that role."""


def is_swing(toolkit: str) -> bool:
    """Return whether the name of a toolkit is that of Java's wrapper."""
    return toolkit.lower().startswith(TOOLKIT)


def may_list(node: Node) -> bool:
    """Return whether to read an element's children: it shows, or it is a menu, whose entries are of use while closed.

    Swing creates each cell of a hidden table when it is asked for it.
    """
    return bool(node.states & protocol.SHOWING) or node.role in MENUS


def role_name_value(node: Node, above_role: str) -> tuple[str, str, str]:
    """Return role, name and value of an element. ``above_role`` is the corrected role of its parent.

    The wrapper publishes the chosen option as the name of a combo box.
    """
    role = ITEMS.get(above_role, node.role) if node.role == "label" else node.role
    name, value = (node.label, node.name) if role == "combo box" else (node.name, node.value)
    return role, name, value


def corrected_extents(nodes: Sequence[Node]) -> list[Extents | None]:
    """Return the extents of all elements of a program, with those corrected that the wrapper reports wrongly."""
    below: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        below.setdefault(node.parent, []).append(place)
    found = [node.extents for node in nodes]
    for place, node in enumerate(nodes):
        inside = [each for each in below.get(place, ()) if nodes[each].extents is not None and _shows(nodes[each])]
        if node.parent < 0 and inside and nodes[inside[0]].role == ROOT_PANE:
            found[place] = nodes[inside[0]].extents
        elif node.role == POPUP and inside and nodes[inside[0]].role == "scroll pane":
            # The popup of a combo box: its list is reported at the right place, and itself at a wrong one.
            right, down = _way_into(node.extents, [nodes[each] for each in inside])
            found[place] = _shifted_extents(node.extents, -right, -down)
        elif node.role in POPUPS and inside:
            popup = found[place] if node.role == POPUP else _popup([nodes[each] for each in inside], nodes)
            for each in inside if popup else ():
                found[each] = _shifted_extents(
                    nodes[each].extents, *_way_into(popup, [nodes[other] for other in inside])
                )
        elif node.role == "tab" and node.parent >= 0 and node.extents and (tabs := found[node.parent]):
            for each in inside:
                found[each] = _shifted_extents(
                    nodes[each].extents, tabs[0] - node.extents[0], tabs[1] - node.extents[1]
                )
    return found


def _shifted_extents(extents: Extents | None, right: int, down: int) -> Extents | None:
    return extents and (extents[0] + right, extents[1] + down, *extents[2:])


def _around(entries: Sequence[Node]) -> Box:
    return Box.around([Box(*each.extents) for each in entries if each.extents])


def _way_into(popup: Extents | None, entries: Sequence[Node]) -> tuple[int, int]:
    """Return by how many pixels, to the right and down, a menu's entries are moved to be in the middle of its popup."""
    around = _around(entries)
    if popup is None or Box(*popup).encloses(around, slack=1):
        return 0, 0
    left, top, width, height = popup
    return left + (width - around.width) // 2 - around.left, top + (height - around.height) // 2 - around.top


def _popup(entries: Sequence[Node], nodes: Sequence[Node]) -> Extents | None:
    """Return the extents of the popup that shows a menu's entries, by its size; ``None`` if it is unclear."""
    around = _around(entries)
    fitting = {
        node.extents
        for node in nodes
        if node.role == POPUP and _shows(node) and node.extents is not None
        if 0 <= node.extents[2] - around.width <= BORDERS and 0 <= node.extents[3] - around.height <= BORDERS
    }
    return fitting.pop() if len(fitting) == 1 else None


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


def _shows(node: Node) -> bool:
    return bool(node.states & protocol.SHOWING)
