"""Fields of pages with a calendar or a list below them have the keyboard. An empty one is not cleared by keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, SHOWING, Element, ElementTree
from holo_tasks.core.elements.typed_field import EMPTY
from holo_tasks.core.input import keynames
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.clear_field import FieldClearing
from holo_tasks.desktop.fields.emptied_cells import cells_beside
from holo_tasks.desktop.fields.focused_field import Focus, focus_in
from tests.support.elements import tree_of

FIELD = Box(200, 100, 300, 32)
STATES = frozenset({SHOWING, FOCUSED, "editable", "enabled", EMPTY})


def page(field: Element, *others: tuple[str, str, Box]) -> ElementTree:
    """Return a form in a table with a field in its cell, and other elements next to the form."""
    tree = tree_of(("document", "Office", Box(0, 0, 900, 600)), *others)
    count = len(tree.elements)
    form = replace(
        field, id=count, role="table", name="", box=Box(0, 90, 800, 60), states=frozenset({SHOWING}), parent=1
    )
    cell = replace(form, id=count + 1, role="cell", box=Box(190, 90, 400, 50), parent=count)
    return replace(tree, elements=(*tree.elements, form, cell, replace(field, id=count + 2, parent=count + 1)))


def field(**changes: Any) -> Element:
    return replace(Element(0, "text field", "Settled", STATES, FIELD, 0, "program", 1), **changes)


def test_an_empty_field_in_view_is_known_though_a_calendar_is_below_it() -> None:
    calendar = (("table", "December", Box(200, 140, 200, 200)), ("cell", "24", Box(240, 240, 24, 24)))
    assert focus_in(page(field(), *calendar), 1) == Focus("field", "the text field ‘Settled’", tells=True, empty=True)


@pytest.mark.parametrize(
    ("changes", "others"),
    [
        ({"name": ""}, ()),
        ({"box": Box(200, 100, 60, 4)}, ()),
        ({"box": Box(-900, 100, 300, 32), "states": STATES - {SHOWING}}, ()),
        ({"states": STATES | {"multi line"}}, ()),
        ({"states": STATES - {EMPTY}}, ()),
        ({}, (("cell", "r1c1", FIELD),)),
        ({}, (("canvas", "", Box(0, 0, 800, 500)),)),
    ],
    ids=["no name", "tiny", "out of view", "several lines", "blanks or unread", "over a cell", "over a drawn sheet"],
)
def test_a_field_that_may_hold_a_text_or_receive_the_keys_of_a_sheet_is_unknown(changes: Any, others: Any) -> None:
    found = focus_in(page(field(**changes), *others), 1)
    assert (found.kind, found.empty) == ("unknown", False)


def with_options(**changes: Any) -> ElementTree:
    """Return a page whose marked option has the keyboard, and a field that may have an open list."""
    shown = page(field(role="combo box", states=STATES - {FOCUSED}, **changes), ("list item", "Ada Winter", FIELD))
    option = replace(shown.elements[2], states=frozenset({SHOWING, FOCUSED}))
    return replace(shown, elements=(*shown.elements[:2], option, *shown.elements[3:]))


def test_the_field_of_an_open_list_has_the_keyboard_while_an_option_is_marked() -> None:
    tree = with_options()
    opened = replace(tree.elements[-1], states=tree.elements[-1].states | {"expanded"})
    found = focus_in(replace(tree, elements=(*tree.elements[:-1], opened)), 1)
    assert (found.kind, found.name) == ("field", "the combo box ‘Settled’")


def test_an_option_of_no_open_list_or_of_one_of_two_takes_no_text() -> None:
    tree = with_options()
    assert focus_in(tree, 1).kind == "no text"
    opened = replace(tree.elements[-1], states=tree.elements[-1].states | {"expanded"})
    twice = (*tree.elements[:-1], opened, replace(opened, id=opened.id + 1))
    assert focus_in(replace(tree, elements=twice), 1).kind == "no text"
    read_only = replace(opened, states=opened.states - {"editable"})
    assert focus_in(replace(tree, elements=(*tree.elements[:-1], read_only)), 1).kind == "no text"


def test_a_field_with_a_text_is_cleared_and_an_empty_one_is_left_alone() -> None:
    pressed: list[object] = []
    clearing: Any = FieldClearing.__new__(FieldClearing)
    clearing._clear_text = lambda one_line: pressed.append(one_line)
    assert focus_in(page(field(value="2026-12-24")), 1).empty is False
    clearing.clear(focus_in(page(field(value="2026-12-24")), 1), far=False, empty=False)
    assert len(pressed) == 1
    clearing.clear(focus_in(page(field()), 1), far=False, empty=False)
    assert len(pressed) == 1


@pytest.mark.parametrize(
    ("states", "in_page", "one_line"),
    [
        ({"single line"}, False, True),
        ({"multi line"}, False, False),
        (set(), False, False),
        ({"single line"}, True, False),
    ],
    ids=["one line", "several lines", "unknown", "a field of a page"],
)
def test_ctrl_home_is_not_pressed_in_a_program_s_field_of_one_line(
    states: set[str], in_page: bool, one_line: bool
) -> None:
    """EasyTAG has Ctrl+Home in its menu for the first file, and shows that file while a field has the keyboard."""
    above = ("document", "Office", Box(0, 0, 900, 600)) if in_page else ("panel", "", Box(0, 0, 900, 600))
    shown = tree_of(above)
    written = field(value="Closed today", states=frozenset({SHOWING, FOCUSED, "editable", *states}))
    focus = focus_in(replace(shown, elements=(*shown.elements, replace(written, id=2, parent=1))), 1)
    assert (focus.kind, focus.one_line) == ("field", one_line)
    pressed: list[tuple[int, ...]] = []
    clearing: Any = FieldClearing.__new__(FieldClearing)
    clearing._press = lambda *keys: pressed.append(keys)
    clearing._cells = type("NoCells", (), {"delete": lambda self, select: select()})()
    clearing.clear(focus, far=False, empty=False)
    assert any(keynames.CONTROL in keys for keys in pressed) is not one_line


@pytest.mark.parametrize(
    ("of_window", "of_dialog", "of_cell", "found"),
    [
        (set(), {ACTIVE}, set(), ["Events"]),
        (set(), {ACTIVE}, {FOCUSED}, ["Events"]),
        (set(), set(), {FOCUSED}, ["Cedar", "Events"]),
    ],
    ids=["behind a dialog", "behind a dialog, still focused", "no active window"],
)
def test_cells_behind_a_dialog_are_not_taken_for_cells_that_its_field_selects(
    of_window: set[str], of_dialog: set[str], of_cell: set[str], found: list[str]
) -> None:
    """In Gramps, a field's tip was drawn over the places of cells behind the dialog, and the field was not cleared."""
    shown = tree_of(("table", "People", Box(0, 100, 400, 300)), ("cell", "Cedar", Box(0, 200, 400, 20)))
    window, table, cell = shown.elements
    marked = replace(cell, id=3, name="Berg", box=Box(0, 240, 400, 20), parent=1, states=cell.states | of_cell)
    dialog = replace(window, id=4, role="dialog", states=window.states | of_dialog)
    text = replace(field(value="Adler"), id=5, box=Box(100, 160, 300, 32), parent=4)
    events = replace(cell, id=6, name="Events", box=Box(0, 500, 400, 20), parent=4)
    top = replace(window, states=window.states | of_window)
    tree = replace(shown, elements=(top, table, replace(cell, parent=1), marked, dialog, text, events))
    assert sorted(set(cells_beside(tree, 1).values()) - {"Berg"}) == found
