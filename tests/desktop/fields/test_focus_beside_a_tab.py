"""A current tab that Qt reports as focused does not keep a text from an open cell; a tab with the keyboard does."""

from __future__ import annotations

import pytest

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, SHOWING, Application, Element, ElementTree
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.focused_field import focus_in


@pytest.mark.parametrize(
    ("of_cell", "of_list", "kind", "one_line"),
    [(FOCUSED, "", "unknown", True), (FOCUSED, FOCUSED, "no text", False), ("", "", "no text", False)],
    ids=["an open cell", "the list of tabs has the keyboard", "the tab alone"],
)
def test_a_current_tab_has_the_keyboard_with_its_list_or_alone(
    of_cell: str, of_list: str, kind: str, one_line: bool
) -> None:
    def element(place: int, role: str, name: str, parent: int, *states: str) -> Element:
        return Element(place, role, name, frozenset({SHOWING, *states}), Box(0, 0, 99, 20), parent, "people", 7)

    tree = ElementTree(
        (
            element(0, "window", "People", -1, ACTIVE),
            element(1, "table", "", 0),
            element(2, "cell", "030 1111", 1, of_cell),
            element(3, "tab list", "Data Edit", 0, of_list),
            element(4, "tab", "Data Edit", 3, FOCUSED),
        ),
        (Application("people", 7, "Qt 5.15.8", "walk", 1.0),),
    )
    found = focus_in(tree, 7)
    assert (found.kind, found.one_line) == (kind, one_line)
