"""The kind of the focused control decides how a field is cleared: each kind, with the one it could be taken for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, SHOWING, TOO_LATE, Application, Element, ElementTree
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.focused_field import READ_ONLY, Focus, FocusedField, focus_in
from holo_tasks.desktop.stop.interrupt import Interrupt

PID, BOX = 7, Box(10, 10, 200, 30)
EDITABLE, MANAGES, WIDE = "editable", "manages descendants", "multi line"
Made = tuple[Any, ...]


def shown(
    *made: Made, name: str = "form", toolkit: str = "gtk", window: tuple[str, ...] = (ACTIVE,), **app: Any
) -> ElementTree:
    """Return the tree of a program from roles, parents and states of its elements; the first parent is its window."""
    elements = [Element(0, "window", "Form", frozenset({SHOWING, *window}), Box(0, 0, 900, 600), -1, name, PID)]
    for number, (role, parent, *states) in enumerate(made, 1):
        elements.append(Element(number, role, "", frozenset({SHOWING, *states}), BOX, parent, name, PID, "text"))
    told = {"how": "cache", **app}
    return ElementTree(tuple(elements), (Application(name, PID, toolkit, **told),))


SHEET = ("table", 1, EDITABLE, MANAGES)
FIELD = ("text field", 0, FOCUSED, EDITABLE)
SPIN, PART = ("spin button", 1, FOCUSED, EDITABLE), ("spin button", 2)


@pytest.mark.parametrize(
    ("tree", "kind"),
    [
        pytest.param(shown(FIELD), "field", id="a text field"),
        pytest.param(shown(("text field", 0, FOCUSED)), "unknown", id="a text field that is not editable"),
        pytest.param(shown(("text field", 0, FOCUSED, READ_ONLY)), "no text", id="a field for reading only"),
        pytest.param(shown(("button", 0, FOCUSED), ("panel", 0, FOCUSED)), "no text", id="a button in a panel"),
        pytest.param(shown(("table", 0, FOCUSED, EDITABLE), toolkit="Qt 6"), "cell", id="a table of Qt"),
        pytest.param(shown(("table", 0, FOCUSED, EDITABLE), toolkit="GTK"), "no text", id="a table of GTK"),
        pytest.param(shown(("table", 0, FOCUSED), toolkit="J2SE-access-bridge"), "no text", id="a table of Java"),
        pytest.param(shown(("list", 0, FOCUSED, EDITABLE)), "no text", id="a list"),
        pytest.param(shown(("cell", 0, FOCUSED)), "cell", id="a cell"),
        pytest.param(shown(("cell", 0, FOCUSED, EDITABLE, "transient")), "cell", id="a cell of an office sheet"),
        pytest.param(shown(("cell", 0, FOCUSED, EDITABLE)), "field", id="a cell that is a field"),
        pytest.param(shown(("row", 0, FOCUSED)), "no text", id="a row"),
        pytest.param(shown(("panel", 0, FOCUSED), name="gnumeric"), "cell", id="the sheet of Gnumeric"),
        pytest.param(shown(("panel", 0, FOCUSED)), "unknown", id="a panel of another program"),
        pytest.param(shown(("canvas", 0, FOCUSED), name="gnumeric"), "unknown", id="a canvas of Gnumeric"),
        pytest.param(shown(("terminal", 0, FOCUSED, EDITABLE)), "terminal", id="a terminal"),
        pytest.param(shown(("document", 0), SPIN), "field", id="a number field of a page"),
        pytest.param(
            shown(("document", 0), ("section", 1), ("spin button", 2, FOCUSED), PART), "segment", id="a part of a date"
        ),
        pytest.param(
            shown(("document", 0), ("section", 1), ("spin button", 2, FOCUSED)), "field", id="the only part of a date"
        ),
        pytest.param(
            shown(("document", 0), ("section", 1), ("spin button", 2, FOCUSED), ("button", 2), ("spin button", 1)),
            "field",
            id="a number field beside those of another group",
        ),
        pytest.param(
            shown(("document", 0), SPIN, ("spin button", 1, EDITABLE)), "field", id="one of two number fields of a page"
        ),
        pytest.param(
            shown(("document", 0), ("text field", 1, FOCUSED, EDITABLE)), "field", id="a filled field of a page"
        ),
        pytest.param(shown(("document", 0), ("cell", 1, FOCUSED, EDITABLE)), "unknown", id="a cell of a page"),
        pytest.param(shown(("label", 0)), "unknown", id="nothing has the keyboard"),
        pytest.param(shown(FIELD, how="none"), "unknown", id="a program without elements"),
        pytest.param(shown(FIELD, note=TOO_LATE), "unknown", id="a program that is late"),
    ],
)
def test_the_kind_of_a_focused_control(tree: ElementTree, kind: str) -> None:
    assert focus_in(tree, PID).kind == kind
    assert focus_in(tree, PID + 1).kind == "unknown", "the tree has no such program"


def office(role: str, *, panel: str = "panel", program: str = "soffice", sheet: tuple[str, ...] = SHEET[2:]) -> Focus:
    """Return the focus on a paragraph in an office document, in a panel next to a table."""
    page, text = ("document", 0), (role, 2, FOCUSED, EDITABLE)
    return focus_in(shown(page, (panel, 1), text, ("table", 1, *sheet), name=program), PID)


def test_the_open_text_of_a_cell_is_told_from_a_letter_with_a_table() -> None:
    assert (office("paragraph").kind, office("paragraph").value) == ("edited cell", "text")
    assert office("heading", panel="section").kind == "document"
    assert office("paragraph", sheet=(EDITABLE,)).kind == "document", "a table in a letter is no sheet"
    assert office("paragraph", sheet=(MANAGES,)).kind == "document", "a table in a letter is no sheet"
    assert office("paragraph", program="mail").kind == "field", "a paragraph of a page may be edited"
    assert office("text field").kind == "field"


def test_only_a_cell_of_an_office_sheet_whose_text_is_closed_is_an_office_cell() -> None:
    def cell(program: str) -> Focus:
        return focus_in(shown(("document", 0), (*SHEET, FOCUSED), name=program), PID)

    assert (cell("soffice").kind, cell("soffice").is_office_cell) == ("cell", True)
    assert (cell("grid").kind, cell("grid").is_office_cell) == ("cell", False)
    assert not office("paragraph").is_office_cell


def test_a_field_of_one_line_in_a_table_is_known() -> None:
    table = ("table", 0)
    assert focus_in(shown(table, ("text field", 1, FOCUSED, EDITABLE)), PID).one_line
    assert not focus_in(shown(table, ("text field", 1, FOCUSED, EDITABLE, WIDE)), PID).one_line
    assert not focus_in(shown(table, FIELD), PID).one_line


def test_the_control_is_named_and_that_of_another_process_is_left_out() -> None:
    field = shown(FIELD).elements
    named = (*field, Element(2, "button", "Save", frozenset({SHOWING, FOCUSED}), BOX, 0, "other", PID + 1))
    assert focus_in(ElementTree(named, shown().applications), PID) == Focus("field", "a text field", tells=True)
    named = (field[0], Element(1, "button", "Save", frozenset({SHOWING, FOCUSED}), BOX, 0, "form", PID))
    found = focus_in(ElementTree(named, shown().applications), PID)
    assert found == Focus("no text", "the button ‘Save’", tells=True)


def test_the_active_window_has_the_keyboard() -> None:
    two = shown(("window", -1, ACTIVE), ("button", 0, FOCUSED), ("text field", 1, FOCUSED, EDITABLE), window=())
    assert focus_in(two, PID).kind == "field"
    one = shown(("window", -1), ("button", 0, FOCUSED), ("text field", 1, FOCUSED, EDITABLE))
    assert focus_in(one, PID).kind == "no text"


@pytest.mark.parametrize(("state", "kind"), [("supports autocompletion", "unknown"), ("expanded", "field")])
def test_a_list_below_a_search_field_may_have_the_keyboard_itself(state: str, kind: str) -> None:
    """The keys that clear a field would select other entries of the list."""
    tree = shown(("text field", 0, EDITABLE, state), ("list", 0), ("list item", 2, FOCUSED))
    below = tuple(replace(each, box=each.box.moved(0, BOX.height)) if each.id > 1 else each for each in tree.elements)
    assert focus_in(replace(tree, elements=below), PID).kind == kind


def test_the_open_list_of_another_window_is_not_that_of_the_marked_option() -> None:
    option, opened = ("list item", 0, FOCUSED), ("combo box", 0, EDITABLE, "expanded")
    assert focus_in(shown(option, opened), PID).kind == "field"
    assert focus_in(shown(option, ("window", -1), ("combo box", 2, EDITABLE, "expanded")), PID).kind == "no text"
    hidden = shown(option, opened).elements
    hidden = (*hidden[:-1], Element(2, "combo box", "", frozenset(opened[2:]), BOX, 0, "form", PID))
    assert focus_in(ElementTree(hidden, shown().applications), PID).kind == "no text"
    assert focus_in(shown(option, opened, ("slider", 0, FOCUSED)), PID).kind == "no text", "the slider has the keyboard"


def menu(*above: Made, item: str = "menu item", states: tuple[str, ...] = ()) -> Focus:
    """Return the focus while an entry of a menu is on the screen, in the last of some elements."""
    return focus_in(shown(*above, (item, len(above), *states), ("label", 0)), PID)


def test_an_open_menu_has_the_keyboard_if_nothing_is_focused() -> None:
    """GTK reports so. A letter or a blank would choose an entry."""
    for above in ((("menu bar", 0), ("menu", 1)), (("combo box", 0), ("menu", 1)), (("popup menu", 0),)):
        assert menu(*above).kind == menu(*above, item="radio menu item").kind == "no text"
    assert menu(("menu bar", 0)).kind == "unknown", "the names of closed menus are always there"
    assert menu(("document", 0), ("menu", 1)).kind == "unknown", "a page may show its menus all the time"
    assert focus_in(shown(("menu", 0), ("menu item", 1), ("panel", 0, FOCUSED)), PID).kind == "unknown"
    assert focus_in(shown(("menu", 0), ("menu item", 1), FIELD), PID).kind == "field"


def test_the_open_list_of_a_combo_box_of_qt_has_the_keyboard() -> None:
    opened = shown(("combo box", 0), ("list", 1), ("list item", 2, FOCUSED), toolkit="Qt 5.15.8")
    assert focus_in(opened, PID) == Focus("no text", "a combo box", tells=True)
    beside = shown(("panel", 0), ("list", 1), ("list item", 2, FOCUSED), toolkit="Qt 5.15.8")
    assert focus_in(beside, PID).kind == "unknown", "Qt reports it though another control has the keyboard"
    hidden = Element(3, "list item", "", frozenset({FOCUSED}), BOX, 2, "form", PID)
    assert focus_in(ElementTree((*opened.elements[:-1], hidden), opened.applications), PID).kind == "unknown"
    typed = shown(("combo box", 0), ("list", 1), ("list item", 2, FOCUSED), FIELD, toolkit="Qt 5.15.8")
    assert focus_in(typed, PID).kind == "field", "its field takes the text"


class NoElements:
    def read(self, interrupt: Interrupt, pid: int) -> ElementTree:
        return shown(FIELD)


@pytest.mark.parametrize(
    ("file", "kind", "in_sheets"),
    [
        ("/usr/bin/xterm", "terminal", False),
        ("/usr/lib/libreoffice/program/soffice.bin", "field", True),
        ("/usr/bin/xfreerdp", "unknown", False),
        ("/usr/bin/form", "field", False),
    ],
)
def test_the_program_file_tells_terminals_sheets_and_viewers(file: str, kind: str, in_sheets: bool) -> None:
    elements: Any = NoElements()
    focused = FocusedField(elements, lambda: Owner(file, pid=PID), Interrupt())
    assert (focused.read().kind, focused.in_sheets) == (kind, in_sheets)
    assert focused.read().viewer is (kind == "unknown")
    assert (focused.pid, focused.tree is not None) == (PID, kind == "field")
