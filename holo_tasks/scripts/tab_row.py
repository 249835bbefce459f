"""Find the button that scrolls a row of tabs toward a tab beyond the row's end. Pure functions of the tree."""

from __future__ import annotations

from collections.abc import Collection

from holo_tasks.core.elements.elements import Element, ElementTree

LEFT, RIGHT = "scroll left", "scroll right"
"""Names of Qt's buttons at the end of a row of tabs, in lower case."""
ENABLED = frozenset({"enabled", "sensitive"})


def scroll_button(tab: Element, tree: ElementTree, banned: Collection[str]) -> Element | None:
    """Return the button of a tab's own row that brings the tab into view; ``None`` if it is in view or there is none.

    The buttons are the row's own, beside its tabs. ``banned`` are names of controls that are never pressed so.
    """
    row = tree.elements[tab.parent] if tab.role == "tab" and tab.parent >= 0 else None
    if row is None or row.role != "tab list" or not tab.box.area:
        return None
    buttons = {
        each.name.casefold(): each
        for each in tree.elements
        if each.parent == row.id and each.role == "button" and each.on_screen
    }
    left, right = buttons.get(LEFT), buttons.get(RIGHT)
    if left is None or right is None:
        return None
    if tab.box.center.x >= min(left.box.left, right.box.left):
        wanted = right
    elif tab.box.center.x < row.box.left:
        wanted = left
    else:
        return None
    is_banned = wanted.name.casefold() in {name.casefold() for name in banned}
    return None if is_banned or not ENABLED & wanted.states else wanted
