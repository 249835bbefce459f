"""The pager of a list leads to its next page. Buttons of forms, wizards, calendars and ratings never count as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.pager import next_page
from tests.support.element_trees import element, tree_of, window

USABLE = ("enabled", "sensitive")
PAGE = Box(0, 0, 800, 600)
TABLE, PAGER, OUTER = 2, 9, 1
"""Places of the table, of the pager's container and of the document in the tree."""
Part = tuple[str, str] | tuple[str, str, str]


def listed(*parts: Part, name: str = "", around: Sequence[Element] = (), disabled: Sequence[str] = ()) -> ElementTree:
    """Return a page with a table of three rows, and below it a container with these parts."""
    rows = [
        each
        for n in range(3)
        for each in (
            element("row", "", Box(0, 20 + 30 * n, 400, 28), *USABLE, parent=TABLE),
            element("cell", f"L-{n}", Box(0, 20 + 30 * n, 90, 28), *USABLE, parent=3 + 2 * n),
        )
    ]
    inside = [
        element(
            role,
            text,
            Box(20 + 40 * place, 200, 30, 20),
            *(() if text in disabled else USABLE),
            *more,
            parent=PAGER,
        )
        for place, (role, text, *more) in enumerate(parts)
    ]
    return tree_of(
        window(PAGE),
        element("document", "Suppliers", PAGE, *USABLE),
        element("table", "", Box(0, 20, 400, 100), *USABLE, parent=OUTER),
        *rows,
        element("panel", name, Box(0, 190, 700, 40), *USABLE, parent=OUTER),
        *inside,
        *(replace(each, parent=OUTER) for each in around),
    )


def found(tree: ElementTree, *banned: str) -> str:
    control = next_page(tree, tree.elements[TABLE], banned)
    return "" if control is None else control.name


NUMBERS: tuple[Part, ...] = (("label", "1"), ("link", "2"), ("link", "3"))


@pytest.mark.parametrize(
    ("parts", "name", "wanted"),
    [
        ((*NUMBERS, ("label", "90 suppliers")), "", "2"),
        ((("link", "1"), ("label", "2"), ("link", "3")), "", "3"),
        ((("link", "1", "active"), ("link", "2"), ("link", "Next")), "", "Next"),
        ((("link", "Previous"), ("link", "1"), ("link", "2", "active"), ("link", "3")), "Pagination", "3"),
        ((("label", "1–20 of 57"), ("button", "‹"), ("button", "›")), "", "›"),
        ((("button", "‹"), ("button", "›"), ("button", "»")), "Pagination", "›"),
        ((("label", "Page 1 of 5"), ("link", "Next page")), "", "Next page"),
        ((("button", "1"), ("button", "2"), ("button", "Next page")), "", "Next page"),
    ],
)
def test_a_pager_leads_to_the_next_page(parts: Sequence[Part], name: str, wanted: str) -> None:
    assert found(listed(*parts, name=name)) == wanted


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ((("button", "Back"), ("button", "Next")), ""),
        ((("button", "Next"),), ""),
        ((("label", "Step 1 of 3"), ("link", "1"), ("link", "2"), ("button", "Next")), ""),
        ((*NUMBERS, ("button", "Next"), ("button", "Cancel")), ""),
        ((*NUMBERS, ("button", "Save")), ""),
        ((("label", "Page 1 of 3"), ("button", "Previous"), ("button", "Next")), ""),
        ((("link", "1"), ("link", "2"), ("label", "3")), ""),  # the last page
        ((("link", "1"), ("link", "2"), ("link", "3")), ""),  # the current page is unknown
        ((("label", "2"), ("button", "3"), ("button", "4")), ""),  # stars of a rating
        (tuple(("link" if n != 4 else "label", str(n)) for n in range(1, 31)), ""),  # a calendar
    ],
)
def test_a_control_that_may_do_more_than_turn_a_page_is_left_alone(parts: Sequence[Part], name: str) -> None:
    assert found(listed(*parts, name=name)) == ""


def test_a_pager_on_a_form_to_fill_in_is_left_alone_and_one_beside_a_search_is_not() -> None:
    def field(name: str) -> Element:
        return element("text field", name, Box(20, 300, 200, 24), *USABLE, "editable")

    assert found(listed(*NUMBERS, around=[field("Remark")])) == ""
    assert found(listed(*NUMBERS, around=[field("Search")])) == "2"


def test_a_control_that_the_playbook_presses_itself_is_no_pager() -> None:
    parts: tuple[Part, ...] = (("label", "1"), ("link", "2"), ("link", "Next"))
    assert found(listed(*parts), "next") == ""
    assert found(listed(*parts), "Save") == "Next"


def test_a_pager_at_its_end_leads_nowhere() -> None:
    assert found(listed(("link", "1"), ("label", "2"), ("button", "Next"), name="Pagination", disabled=["Next"])) == ""


def test_a_page_that_counts_its_pages_and_has_choices_may_be_a_survey() -> None:
    choice = element("radio button", "Agree", Box(20, 300, 20, 20), *USABLE)
    assert found(listed(("label", "Page 1 of 5"), ("link", "Next"), around=[choice])) == ""
