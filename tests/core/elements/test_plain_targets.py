"""Some descriptions name an element by role and name; all others need a look at the screen."""

from __future__ import annotations

import pytest

from holo_tasks.core.elements.plain_targets import plain_target


@pytest.mark.parametrize(
    ("said", "role", "name"),
    [
        ("the Search button", "button", "Search"),
        ("The Search  button.", "button", "Search"),
        ("Don't save button", "button", "Don't save"),
        ("the ‘find again’ button", "button", "find again"),
        ('button "search"', "button", "search"),
        ("the button Search", "button", "Search"),
        ("the button labelled Search", "button", "Search"),
        ("the field Reference", "text field", "Reference"),
        ("the Password field", "password field", "Password"),
        ("Invoice number text box", "text field", "Invoice number"),
        ("the menu item Save as", "menu item", "Save as"),
        ("the link 2024", "link", "2024"),
        ("The Über uns link", "link", "Über uns"),
    ],
)
def test_an_element_is_named_by_role_and_name(said: str, role: str, name: str) -> None:
    found = plain_target(said)
    assert found is not None
    assert role in found.roles
    assert found.name == name


@pytest.mark.parametrize(
    "said",
    [
        *("the search button", "the entry field", "the button in the corner", "the button", "Search", "button"),
        *("the blue button", "the Search button, not the one above", "the row of Anna", "", "the ‘’ button"),
        *(
            "the Search button in the tool bar",
            "a Search button",
            "the Save or Close icon",
            "the " + "X" * 80 + " button",
        ),
    ],
)
def test_other_descriptions_are_left_to_the_model(said: str) -> None:
    assert plain_target(said) is None
