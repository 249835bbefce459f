"""A part of a page that lies partly over another one is a layer over it, or contents that scroll below it."""

from __future__ import annotations

import pytest

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, ElementTree
from holo_tasks.core.screen.geometry import Box, Point
from tests.core.elements.test_elements import element


@pytest.mark.parametrize(
    ("layer", "role", "state", "pressed"),
    [
        pytest.param(Box(50, 50, 340, 200), "section", FOCUSED, "Contact", id="a dialog partly over a table"),
        pytest.param(Box(50, 50, 340, 200), "section", "enabled", "Open", id="a part without the keyboard"),
        pytest.param(Box(50, 50, 340, 250), "section", FOCUSED, "Open", id="contents that scroll below a bar"),
        pytest.param(Box(50, 50, 340, 200), "row", FOCUSED, "Open", id="a row that scrolls below the headings"),
    ],
)
def test_a_layer_at_the_side_of_a_part_is_over_it_if_it_has_the_keyboard(
    layer: Box, role: str, state: str, pressed: str
) -> None:
    tree = ElementTree(
        (
            element(0, "window", "Orders", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "document", "Orders", Box(0, 0, 400, 300)),
            element(2, "section", "", Box(0, 0, 380, 150), 1),
            element(3, "cell", "Open", Box(100, 110, 60, 20), 2),
            element(4, role, "", layer, 1),
            element(5, "text field", "Contact", Box(60, 100, 180, 40), 4),
            element(6, "text field", "Order", Box(60, 60, 180, 30), 4, state),
        )
    )
    found = tree.at(Point(120, 120))
    assert found is not None
    assert found.name == pressed


@pytest.mark.parametrize(
    ("around", "pressed"),
    [
        pytest.param(Box(0, 50, 400, 200), "Name", id="contents that scroll below the headings of their area"),
        pytest.param(Box(0, 50, 400, 0), "Contact", id="a dialog in an area without a height"),
    ],
)
def test_contents_that_scroll_in_a_part_of_a_page_are_no_layer(around: Box, pressed: str) -> None:
    """The last contents are in sight, so they end with their area, and not with the page."""
    tree = ElementTree(
        (
            element(0, "window", "Orders", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "document", "Orders", Box(0, 0, 400, 300)),
            element(2, "section", "", around, 1),
            element(3, "section", "", Box(0, 50, 400, 40), 2),
            element(4, "label", "Name", Box(0, 60, 200, 20), 3),
            element(5, "section", "", Box(0, 60, 400, 190), 2),
            element(6, "text field", "Contact", Box(0, 60, 200, 25), 5),
            element(7, "text field", "Order", Box(0, 90, 200, 25), 5, FOCUSED),
        )
    )
    found = tree.at(Point(120, 70))
    assert found is not None
    assert found.name == pressed
