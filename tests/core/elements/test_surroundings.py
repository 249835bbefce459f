"""The elements around a point decide whether a description names another control than the one at the point."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.elements.elements import Element
from holo_tasks.core.screen.geometry import Box, Point
from tests.core.elements.test_named_target import SCREEN, judged
from tests.support.element_trees import element, tree_of, window


def place(role: str, name: str, *corner: int, parent: int = 0, value: str = "") -> Element:
    """Return an element of 100 by 20 pixels, or of the size that is given after its corner."""
    left, top, width, height = (*corner, 100, 20)[:4] if len(corner) == 2 else corner
    return element(role, name, Box(left, top, width, height), parent=parent, value=value)


ROW = place("row", "", 0, 300, 900, 20)
HIDDEN = replace(place("menu item", "Print", 100, 130, parent=1), states=frozenset())
LAYOUTS: dict[str, tuple[str, tuple[int, int], list[Element], bool]] = {
    "a cell of the row that is named": (
        "Miller row",
        (350, 310),
        [ROW, place("cell", "Miller", 0, 300, parent=1), place("cell", "Bonn", 300, 300, parent=1)],
        False,
    ),
    "a button of the row that is named": (
        "Miller row",
        (350, 310),
        [ROW, place("cell", "Miller", 0, 300, parent=1), place("button", "Delete", 300, 300, parent=1)],
        True,
    ),
    "a button with a sign in the row that is named": (
        "Miller row",
        (350, 310),
        [ROW, place("cell", "Miller", 0, 300, parent=1), place("button", "×", 300, 300, parent=1)],
        False,
    ),
    "a cell of the row with a header": (
        "Miller row",
        (350, 310),
        [place("row header", "Miller", 0, 300), place("cell", "Bonn", 300, 300)],
        False,
    ),
    "a cell of another row": (
        "Miller",
        (50, 330),
        [place("cell", "Miller", 0, 300), place("cell", "Meyer", 0, 320)],
        True,
    ),
    "a button with a number": (
        "2",
        (150, 110),
        [place("button", "Two", 100, 100), place("button", "2", 100, 200)],
        False,
    ),
    "an entry of a menu that is closed": (
        "Print button",
        (150, 110),
        [place("menu", "File", 100, 100), HIDDEN, place("button", "Print", 400, 100)],
        True,
    ),
    "a field whose label says its name": (
        "Amount",
        (250, 110),
        [
            place("label", "Amount", 100, 100),
            place("text field", "in euros", 210, 100),
            place("text field", "Amount", 210, 400),
        ],
        False,
    ),
    "the label of the named field": (
        "Amount field",
        (150, 110),
        [place("label", "Betrag", 100, 100), place("text field", "Amount", 210, 100)],
        False,
    ),
    "the text of the named check box": (
        "Terms check box",
        (250, 110),
        [place("check box", "Terms", 100, 100, 13, 13), place("label", "I agree", 200, 100)],
        False,
    ),
    "a text in another row than the named check box": (
        "Terms check box",
        (250, 110),
        [place("check box", "Terms", 100, 300, 13, 13), place("label", "I agree", 200, 100)],
        True,
    ),
    "a text far from the named check box": (
        "Terms check box",
        (550, 110),
        [place("check box", "Terms", 100, 100, 13, 13), place("label", "I agree", 500, 100)],
        True,
    ),
    "a button in the row of the named check box": (
        "Terms check box",
        (250, 110),
        [place("check box", "Terms", 100, 100, 13, 13), place("button", "Delete", 200, 100)],
        True,
    ),
    "the label above the named field": (
        "Amount field",
        (150, 110),
        [place("label", "Betrag", 100, 100), place("text field", "Amount", 100, 125)],
        False,
    ),
    "a label far above the named field": (
        "Amount field",
        (150, 110),
        [place("label", "Betrag", 100, 100), place("text field", "Amount", 100, 160)],
        True,
    ),
    "a label above another column than the named field": (
        "Amount field",
        (150, 110),
        [place("label", "Betrag", 100, 100), place("text field", "Amount", 300, 125)],
        True,
    ),
    "a label below the named field": (
        "Amount field",
        (150, 210),
        [place("label", "Betrag", 100, 200), place("text field", "Amount", 100, 100)],
        True,
    ),
    "a label far left of the named field": (
        "Amount field",
        (50, 110),
        [place("label", "Betrag", 0, 100), place("text field", "Amount", 500, 100)],
        True,
    ),
    "a tab without a name around its label": (
        "the Week tab",
        (150, 110),
        [
            *(place("tab", "", 100, 100), place("label", "Month", 110, 100, 60, 20, parent=1)),
            place("tab", "Week", 200, 100),
        ],
        True,
    ),
    "a padded entry around a link": (
        "Orders link",
        (125, 110),
        [place("section", "", 100, 100, 160, 30), place("link", "Orders", 130, 105, parent=1)],
        False,
    ),
    "a point close to the one control on a large ground": (
        "Orders link",
        (125, 110),
        [place("section", "", 50, 50, 600, 300), place("link", "Orders", 130, 105, parent=1)],
        True,
    ),
    "the ground of a card with one control": (
        "Orders",
        (500, 200),
        [place("section", "", 50, 50, 600, 300), place("link", "Orders", 130, 105, parent=1)],
        False,
    ),
    "a list that names all in it": (
        "Edit button",
        (350, 110),
        [
            place("panel", "Edit Delete", 100, 90, 400, 40),
            place("button", "Edit", 110, 100, parent=1),
            place("button", "Delete", 300, 100, parent=1),
        ],
        True,
    ),
    "a group of that name": (
        "Print",
        (350, 110),
        [
            place("panel", "Print options", 100, 90, 400, 40),
            place("button", "Range", 300, 100, parent=1),
            place("button", "Print", 300, 500),
        ],
        False,
    ),
    "a group that shares a word with the name": (
        "Save as",
        (350, 110),
        [
            place("panel", "Save options here", 100, 90, 400, 40),
            place("button", "Range", 300, 100, parent=1),
            place("button", "Save as", 110, 100, parent=1),
        ],
        False,
    ),
    "a group with the same name as a control in it": (
        "Print",
        (350, 110),
        [
            place("panel", "Print", 100, 90, 400, 40),
            place("button", "Range", 300, 100, parent=1),
            place("button", "Print", 110, 100, parent=1),
        ],
        False,
    ),
    "a point on two controls": (
        "the Edit button",
        (150, 110),
        [place("button", "Edit", 100, 100), place("link", "Miller", 100, 100)],
        False,
    ),
    "a color before a name": (
        "red cross",
        (150, 110),
        [place("button", "X", 100, 100), place("button", "Cross", 100, 200)],
        False,
    ),
    "ground beside a control": (
        "Save",
        (95, 110),
        [place("button", "Save", 100, 100), place("button", "Delete", 300, 100)],
        True,
    ),
    "ground at the border of a control": (
        "Save",
        (200, 110),
        [place("button", "Save", 100, 100), place("button", "Delete", 300, 100)],
        False,
    ),
    "ground beside one of two controls of one name": (
        "Save",
        (95, 110),
        [place("button", "Save", 100, 100), place("button", "Save", 300, 100)],
        True,
    ),
    "ground far from the one control of that name": (
        "Amount",
        (600, 600),
        [place("text field", "Amount", 100, 100), place("button", "Delete", 300, 100)],
        True,
    ),
    "ground, and words that begin with the name of a field": (
        "Amount in the form",
        (600, 600),
        [place("text field", "Amount", 100, 100), place("button", "Delete", 300, 100)],
        False,
    ),
    "ground, and words that begin with the name of a button": (
        "Save in the form",
        (600, 600),
        [place("button", "Save", 100, 100), place("button", "Delete", 300, 100)],
        True,
    ),
    "ground far from two controls of one name": (
        "Save",
        (600, 600),
        [place("button", "Save", 100, 100), place("button", "Save", 300, 100)],
        False,
    ),
    "a button, and words for a field without a name": (
        "Amount field",
        (350, 210),
        [place("label", "Amount:", 100, 100), place("text field", "", 210, 100), place("button", "Delete", 300, 200)],
        True,
    ),
    "a button, and words that may be for another control": (
        "Amount",
        (350, 210),
        [place("label", "Amount:", 100, 100), place("text field", "", 210, 100), place("button", "Delete", 300, 200)],
        False,
    ),
    "a button, and a text before two fields without a name": (
        "Amount field",
        (350, 210),
        [
            *(place("label", "Amount", 100, 100), place("text field", "", 210, 100)),
            *(place("label", "Amount", 100, 300), place("text field", "", 210, 300), place("button", "Pick", 300, 200)),
        ],
        False,
    ),
    "a button between a text and a field without a name": (
        "Amount field",
        (250, 210),
        [
            *(place("label", "Amount", 100, 100), place("button", "12 euros", 205, 100)),
            *(place("text field", "", 310, 100), place("button", "Delete", 210, 200)),
        ],
        False,
    ),
    "a field without a name beside another one": (
        "Amount field",
        (250, 210),
        [
            *(place("label", "Amount", 100, 100), place("text field", "", 210, 100)),
            *(place("label", "Date", 100, 200), place("text field", "", 210, 200, value="May")),
        ],
        False,
    ),
    "a chooser in the row of the words": (
        "Amount field",
        (450, 110),
        [place("label", "Amount", 100, 100), place("text field", "", 210, 100), place("button", "Euro", 400, 100)],
        False,
    ),
    "a button of the page of the named tab": (
        "the Notes tab",
        (150, 210),
        [place("tab", "Notes", 100, 100), place("button", "Add", 100, 200, parent=1)],
        True,
    ),
    "a field of the page of the named tab": (
        "Notes",
        (150, 210),
        [place("tab", "Notes", 100, 100), place("text field", "Body", 100, 200, parent=1)],
        False,
    ),
    "a tab, and words for a button of its page": (
        "the Add button",
        (150, 110),
        [place("tab", "Notes", 100, 100), place("button", "Add", 100, 200, parent=1)],
        True,
    ),
    "a tab beside a tab whose label is further inside": (
        "the Week tab",
        (250, 110),
        [
            *(place("tab", "Week", 100, 100), place("panel", "", 100, 100, parent=1)),
            *(place("label", "Week", 110, 100, 60, 20, parent=2), place("tab", "Month", 200, 100)),
        ],
        True,
    ),
    "a button above the column that is named": (
        "the Name column",
        (150, 110),
        [place("button", "Open", 100, 100), place("column header", "Name", 100, 200)],
        True,
    ),
    "a header beside the one that is named": (
        "the Name column header",
        (250, 110),
        [
            *(place("column header", "Name", 100, 100), place("label", "Name", 100, 100, parent=1)),
            *(place("column header", "Size", 200, 100), place("label", "Size", 200, 100, parent=3)),
        ],
        True,
    ),
    "a button in the column that is named": (
        "the Actions column",
        (150, 210),
        [place("column header", "Actions", 100, 100), place("button", "Delete", 100, 200)],
        False,
    ),
    "a canvas": (
        "Line",
        (600, 600),
        [place("canvas", "", 500, 500, 200, 200), place("button", "Line", 100, 100)],
        False,
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_stands_around_a_point_is_looked_at(layout: str) -> None:
    words, (x, y), elements, withheld = LAYOUTS[layout]
    assert (judged(words, tree_of(window(SCREEN, "Orders"), *elements), Point(x, y)) is not None) == withheld
