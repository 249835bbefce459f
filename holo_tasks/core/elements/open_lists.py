"""Find the field that an open list belongs to, while its program reports the marked option as focused.

A page tells its browser the marked option of its list, and Chromium shows the list of a field in a window of its own.
The field has the keyboard all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holo_tasks.core.elements.elements import EDITABLE, FOCUSED, Element, ElementTree
from holo_tasks.core.screen.geometry import Box

MENU_ITEM = "menu item"
OPTIONS = frozenset({"list item", MENU_ITEM, "tree item"})
"""Roles of options in the open list of a field."""
LISTS = frozenset({"list", "tree"})
EXPANDED = "expanded"
HAS_LIST = frozenset({"has popup", EXPANDED})
COMPLETES = HAS_LIST | {"supports autocompletion"}
"""States of fields that may offer a list."""
REMEMBERS = "gecko"
"""The toolkit that reports `supports autocompletion` for every field whose texts it remembers."""
COMBO_BOX = "combo box"
CLOSE = 12
"""Most pixels between a list and the search field above or below it."""


def field_of_list(tree: ElementTree, focused: Sequence[Element]) -> Element | None:
    """Return the field that has the keyboard while its list is open, ``None`` unless there is exactly one.

    ``focused`` are the elements that claim the keyboard focus. They all have to be options.
    """
    if not focused or any(each.role not in OPTIONS for each in focused):
        return None
    found = next(filter(None, _candidates(tree, focused)), [])
    return found[0] if len(found) == 1 else None


def keyboard_field(tree: ElementTree) -> Element | None:
    """Return the element that gets typed text: the focused one or, while an option is marked, the field of its list."""
    found = tree.focused()
    if found is None or found.role not in OPTIONS:
        return found
    return field_of_list(tree, tree.claiming_focus()) or found


def offers_list(tree: ElementTree, element: Element | None) -> bool:
    """Say whether Enter in a field may take an entry of a list, which the program may still be looking for."""
    return element is not None and (element.role == COMBO_BOX or _completes(tree, element))


def _completes(tree: ElementTree, field: Element) -> bool:
    toolkits = (each.toolkit.casefold() for each in tree.applications if each.pid == field.pid)
    signs = HAS_LIST if any(toolkit.startswith(REMEMBERS) for toolkit in toolkits) else COMPLETES
    return not signs.isdisjoint(field.states)


def is_near_list_only(tree: ElementTree, field: Element) -> bool:
    """Say whether a field is related to a list by its place alone. The list may have the keyboard itself."""
    has_list = any(_is_open_combo_box(above) for above in tree.ancestors(field))
    return not has_list and field.states.isdisjoint((EXPANDED, FOCUSED))


def _candidates(tree: ElementTree, focused: Sequence[Element]) -> Iterator[list[Element]]:
    """Yield groups of fields. The list belongs to a field of the first group that has any."""
    fields = [each for each in tree.elements if EDITABLE in each.states and each.on_screen]
    windows = {tree.window_of(each).id for each in focused}
    here = [each for each in fields if tree.window_of(each).id in windows]
    yield [each for each in here if EXPANDED in each.states]
    yield [each for each in here if any(_is_open_combo_box(above) for above in tree.ancestors(each))]
    if any(each.role == MENU_ITEM for each in focused):
        return  # an open menu beside a field has the keyboard
    lists = [up.box for each in focused for up in tree.ancestors(each)[:2] if up.role in LISTS]
    yield [each for each in here if _completes(tree, each) and any(_is_close(each.box, box) for box in lists)]
    if all(_holds_a_list_only(tree, window) for window in windows):
        pids = {each.pid for each in focused}
        yield [each for each in fields if each.pid in pids and FOCUSED in each.states and _completes(tree, each)]


def _is_open_combo_box(element: Element) -> bool:
    return element.role == COMBO_BOX and EXPANDED in element.states


def _is_close(field: Box, offered: Box) -> bool:
    """Say whether a field is right above or below a list, and no wider."""
    gap = max(offered.top - field.bottom, field.top - offered.bottom)
    return -CLOSE <= gap <= CLOSE and offered.left - CLOSE <= field.left and field.right <= offered.right + CLOSE


def _holds_a_list_only(tree: ElementTree, window: int) -> bool:
    """Say whether a window is the open list of a field: it has no title, and a person can press options only."""
    top = tree.elements[window]
    inside = (each for each in tree.below(top) if "focusable" in each.states)
    return not top.name and all(each.role in OPTIONS | LISTS for each in inside)
