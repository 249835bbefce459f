"""Elements are found by role, name and place, unless they cannot be pressed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.elements.elements import (
    ACTIVE,
    COVERED,
    FOCUSED,
    MODAL,
    NOWHERE,
    SHOWING,
    Element,
    ElementTree,
)
from holo_tasks.core.elements.role_names import role_of
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.texts.visible_text import one_line


def element(place: int, role: str, name: str, box: Box, parent: int = 0, *states: str, pid: int = 7) -> Element:
    return Element(place, role, name, frozenset({SHOWING, *states}), box, parent, "form", pid)


FORM = ElementTree(
    (
        element(0, "window", "Form", Box(0, 0, 400, 300), -1, ACTIVE),
        element(1, "panel", "", Box(0, 100, 400, 200)),
        element(2, "button", "Save", Box(10, 120, 80, 30), 1),
        element(3, "button", "save…", Box(10, 160, 80, 30), 1),
        element(4, "button", "Don't save", Box(10, 200, 80, 30), 1, FOCUSED),
        element(5, "text field", "User name:", Box(200, 120, 150, 30), 1),
        element(6, "button", "Save", NOWHERE, 1),
        element(7, "button", "Delete", Box(200, 160, 80, 30), 1, COVERED),
        replace(element(8, "button", "Print", Box(200, 200, 80, 30), 1), states=frozenset({"visible"})),
    )
)


def names(found: list[Element]) -> list[tuple[str, int]]:
    return [(each.name, each.id) for each in found]


def test_an_exact_name_comes_before_a_similar_one() -> None:
    assert names(FORM.find("button", "Save")) == [("Save", 2)]
    assert names(FORM.find("button", "SAVE")) == [("Save", 2), ("save…", 3)]
    assert names(FORM.find("text field", "user  name")) == [("User name:", 5)]


@pytest.mark.parametrize(
    ("state", "place", "pressed"),
    [
        pytest.param(MODAL, Point(120, 120), "Status", id="a field of a modal dialog"),
        pytest.param(MODAL, Point(120, 160), "Paid", id="an option that opened over the dialog"),
        pytest.param(MODAL, Point(320, 120), "Delete", id="a place beside the dialog"),
        pytest.param("enabled", Point(120, 120), "Open", id="a dialog that is not modal"),
    ],
)
def test_the_page_below_a_modal_dialog_is_not_pressed(state: str, place: Point, pressed: str) -> None:
    tree = ElementTree(
        (
            element(0, "window", "Orders", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "cell", "Open", Box(100, 110, 60, 20)),
            element(2, "button", "Delete", Box(300, 110, 60, 20)),
            element(3, "dialog", "Order 7", Box(50, 50, 200, 200), 0, state),
            element(4, "combo box", "Status", Box(60, 100, 180, 40), 3),
            element(5, "list item", "Paid", Box(60, 150, 180, 20)),
        )
    )
    found = tree.at(place)
    assert found is not None
    assert found.name == pressed


@pytest.mark.parametrize(
    ("layer", "behind", "states", "pressed"),
    [
        pytest.param(Box(50, 50, 200, 200), "cell", (), "Contact", id="a dialog of areas over a table"),
        pytest.param(Box(0, 0, 400, 300), "list item", (), "Contact", id="a layer over the whole page"),
        pytest.param(Box(50, 50, 380, 200), "cell", (), "Open", id="a part that is not in the other one"),
        pytest.param(Box(50, 50, 200, 200), "list item", ("selectable",), "Open", id="an option in an open list"),
        pytest.param(Box(50, 50, 200, 200), "link", (), "Open", id="a link that may be in a popup"),
    ],
)
def test_a_field_in_a_later_layer_of_a_page_is_pressed(
    layer: Box, behind: str, states: tuple[str, ...], pressed: str
) -> None:
    tree = ElementTree(
        (
            element(0, "window", "Orders", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "document", "Orders", Box(0, 0, 400, 300)),
            element(2, "section", "", Box(0, 0, 380, 300), 1),
            element(3, behind, "Open", Box(100, 110, 60, 20), 2, *states),
            element(4, "section", "", layer, 1),
            element(5, "text field", "Contact", Box(60, 100, 180, 40), 4),
        )
    )
    found = tree.at(Point(120, 120))
    assert found is not None
    assert found.name == pressed
    alone = ElementTree(tree.elements[:5]).at(Point(120, 120))
    assert alone is not None
    assert alone.name == "Open", "the layer has no control there"


@pytest.mark.parametrize(("parent", "is_bar"), [(0, True), (1, False)])
def test_a_message_of_a_page_over_a_bar_of_the_browser_makes_no_dialog_of_the_bar(parent: int, is_bar: bool) -> None:
    """A bar over a dialog of the page itself is a dialog."""
    tree = ElementTree(
        (
            element(0, "window", "Orders", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "document", "Orders", Box(0, 60, 400, 240)),
            element(2, "label", "Number", Box(20, 200, 60, 20), 1),
            element(3, "dialog", "localhost says", Box(100, 10, 200, 100), parent),
            element(4, "button", "OK", Box(220, 40, 60, 20), 3),
            element(5, "alert", "Infobar", Box(0, 10, 400, 50)),
            element(6, "label", "An update is there", Box(20, 20, 60, 20), 5),
        )
    )
    names = [each.name for each in tree.dialogs()]
    assert names == ["localhost says", *([] if is_bar else ["Infobar"])]
    panel = replace(tree.elements[1], role="panel")
    without_page = replace(tree, elements=(tree.elements[0], panel, *tree.elements[2:]))
    assert [each.name for each in without_page.dialogs()][-1] == "Infobar", "a question over a dialog of a program"


def test_a_part_of_a_name_matches_only_with_a_wildcard() -> None:
    without = ElementTree((*FORM.elements[:2], replace(FORM.elements[4], id=2)))
    assert without.find("button", "Save") == []
    assert names(without.find("button", "*save")) == [("Don't save", 2)]


def test_hidden_or_covered_elements_are_found_only_on_request() -> None:
    assert FORM.find("button", "Delete") == FORM.find("button", "Print") == []
    assert names(FORM.find("button", "Save", hidden=True)) == [("Save", 2), ("Save", 6)]
    assert names(FORM.find("button", "Delete", hidden=True)) == [("Delete", 7)]


@pytest.mark.parametrize(
    ("part", "pressed"),
    [
        pytest.param(("section", Box(0, 20, 400, 280)), "Contact", id="the page, which encloses the dialog"),
        pytest.param(("section", Box(90, 100, 100, 60)), "B-2001", id="a calendar over the dialog"),
        pytest.param(("menu", Box(0, 20, 400, 280)), "B-2001", id="a menu with a cover of the whole page"),
    ],
)
def test_a_page_that_comes_after_its_modal_dialog_is_behind_it(part: tuple[str, Box], pressed: str) -> None:
    """OpenUI5 has its dialogs before the page."""
    tree = ElementTree(
        (
            element(0, "window", "Orders", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "document", "Orders", Box(0, 20, 400, 280)),
            element(2, "section", "", Box(0, 20, 400, 280), 1),
            element(3, "dialog", "Order 7", Box(50, 50, 200, 200), 2, MODAL),
            element(4, "text field", "Contact", Box(60, 100, 180, 40), 3),
            element(5, part[0], "", part[1], 1),
            element(6, "cell", "B-2001", Box(100, 110, 60, 20), 5),
        )
    )
    found = tree.at(Point(120, 120))
    assert found is not None
    assert found.name == pressed


@pytest.mark.parametrize("role", ["button", "push button", "Push-Button", "push_button"])
def test_a_role_is_found_by_any_of_its_names(role: str) -> None:
    assert names(FORM.find(role, "Save")) == [("Save", 2)]


def test_roles_of_toolkits_have_one_name_each() -> None:
    assert {role_of(each) for each in ("text", "entry", "textbox", "Text field")} == {"text field"}
    assert role_of("page tab") == "tab"
    assert role_of("what nobody knows") == "what nobody knows"


def test_the_search_can_be_limited_to_a_box_or_the_descendants_of_an_element() -> None:
    assert names(FORM.find("button", within=Box(0, 110, 200, 45))) == [("Save", 2)]
    assert len(FORM.find("button", within=FORM.elements[1])) == 3
    assert FORM.find("button", within=FORM.elements[2]) == []


def test_the_innermost_element_at_a_point_is_in_the_topmost_window() -> None:
    above = (
        element(9, "dialog", "Sure?", Box(5, 90, 100, 60), -1, pid=8),
        element(10, "label", "Sure?", Box(5, 90, 100, 60), 9, pid=8),
    )
    tree = ElementTree(FORM.elements + above)
    assert names([found for found in [FORM.at(Point(20, 130))] if found]) == [("Save", 2)]
    found = tree.at(Point(20, 130))
    assert found is not None
    assert found.id == 10
    found = tree.at(Point(20, 130), pid=7)
    assert found is not None
    assert found.id == 2
    assert tree.at(Point(1000, 1000)) is None
    covered = tree.at(Point(210, 170))
    assert covered is not None
    assert covered.role == "panel", "a covered element cannot be pressed"


@pytest.mark.parametrize(
    ("state", "selectable", "pressed"),
    [("expanded", "selectable", "Waiting"), ("enabled", "selectable", "Mechanic"), ("expanded", "enabled", "Mechanic")],
)
def test_the_open_list_of_a_combo_box_is_over_the_fields_of_its_page(state: str, selectable: str, pressed: str) -> None:
    """An option may be larger than the field below it. A list that no combo box has open covers nothing."""
    tree = ElementTree(
        (
            element(0, "window", "Page", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "combo box", "State", Box(10, 20, 300, 30), 0, state),
            element(2, "list", "State", Box(10, 50, 300, 100)),
            element(3, "list item", "Waiting", Box(10, 50, 300, 40), 2, selectable),
            element(4, "text field", "Mechanic", Box(10, 60, 200, 24)),
        )
    )
    found = tree.at(Point(120, 70))
    assert found is not None
    assert found.name == pressed
    beside = tree.at(Point(350, 70))
    assert beside is not None
    assert beside.role == "window"


def page_with_list(*more: Element) -> ElementTree:
    """Return the tree of a page with a list, and with further elements from the id 3 on."""
    return ElementTree(
        (
            element(0, "window", "Page", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "list", "", Box(10, 80, 300, 150)),
            element(2, "list item", "Row", Box(10, 90, 300, 40), 1, "selectable"),
            *more,
        )
    )


STATE = element(3, "combo box", "State", Box(10, 20, 300, 30), 0, "expanded")
OPEN, OTHER, ENTRY = Box(10, 50, 300, 100), Box(10, 100, 300, 150), Box(10, 90, 300, 40)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(("list", OTHER), ("list", OPEN), id="at the end of the page"),
        pytest.param(("list", OPEN), ("list", OTHER), id="after the combo box"),
        pytest.param(("panel", OTHER), ("list", OPEN), id="alone"),
        pytest.param(("list", Box(10, 50, 300, 150)), ("list", OPEN), id="as near as another list"),
    ],
)
def test_the_open_list_of_a_combo_box_is_the_nearest_one_after_it(
    first: tuple[str, Box], second: tuple[str, Box]
) -> None:
    parts = [STATE]
    for place, (role, box) in zip((4, 6), (first, second), strict=True):
        option = "list item" if role == "list" else "label"
        parts += [
            element(place, role, "", box),
            element(place + 1, option, "Germany" if box == OPEN else "Paid", ENTRY, place, "selectable"),
        ]
    found = page_with_list(*parts).at(Point(120, 110))
    assert found is not None
    assert found.name == "Germany"


def test_the_options_in_a_combo_box_come_before_those_of_other_lists() -> None:
    own, other = element(4, "menu", "", OTHER, 3), element(6, "list", "", OPEN)
    options = [element(each, "list item", f"Option {each}", ENTRY, each - 1, "selectable") for each in (5, 7)]
    found = page_with_list(STATE, own, options[0], other, options[1]).at(Point(120, 110))
    assert found is not None
    assert found.name == "Option 5"


def test_a_list_around_a_combo_box_is_not_its_open_list() -> None:
    row = element(4, "list item", "Row 2", ENTRY, 1, "selectable")
    button = element(5, "button", "Add", Box(100, 100, 60, 24))
    found = page_with_list(replace(STATE, parent=2), row, button).at(Point(120, 110))
    assert found is not None
    assert found.name == "Add"


@pytest.mark.parametrize(
    ("dialog", "combo", "pressed"), [(3, 4, "OK"), (5, 3, "OK"), (0, 3, "Germany")], ids=["in it", "below it", "none"]
)
def test_a_modal_dialog_is_over_the_lists_of_its_page(dialog: int, combo: int, pressed: str) -> None:
    """Neither a list of the page nor the open list of a combo box below the dialog is pressed."""
    parts = {
        3: element(3, "panel", "", Box(5, 5, 380, 280)),
        5: element(5, "panel", "", Box(5, 5, 380, 280)),
        dialog: element(dialog, "dialog", "Order", Box(5, 5, 380, 280), 0, MODAL),
        combo: replace(STATE, id=combo, parent=dialog if dialog < combo else 0),
        6: element(6, "button", "OK", Box(100, 100, 60, 24), dialog),
    }
    if combo == 3:
        parts[4] = element(4, "list item", "Germany", ENTRY, 3, "selectable")
    found = page_with_list(*(part for place, part in sorted(parts.items()) if place)).at(Point(120, 110))
    assert found is not None
    assert found.name == pressed


@pytest.mark.parametrize(
    ("state", "role", "pressed"),
    [("showing", "popup menu", "Waiting"), ("visible", "popup menu", "Mechanic"), ("showing", "panel", "Mechanic")],
)
def test_a_popup_is_over_the_fields_of_its_window(state: str, role: str, pressed: str) -> None:
    """Swing publishes an open list before the combo box, and its options may be larger than the field below them."""
    tree = ElementTree(
        (
            element(0, "window", "Form", Box(0, 0, 400, 300), -1, ACTIVE),
            replace(element(1, role, "", Box(10, 50, 300, 100)), states=frozenset({state})),
            replace(element(2, "list", "", Box(10, 50, 300, 100), 1), states=frozenset({state})),
            element(3, "combo box", "State", Box(10, 20, 300, 30), 0, "expanded"),
            replace(element(4, "list item", "Waiting", Box(10, 50, 300, 40), 2), states=frozenset({state})),
            element(5, "radio button", "Mechanic", Box(10, 60, 200, 24)),
        )
    )
    found = tree.at(Point(120, 70))
    assert found is not None
    assert found.name == pressed
    beside = tree.at(Point(350, 70))
    assert beside is not None
    assert beside.role == "window"


@pytest.mark.parametrize(
    ("name", "pid", "box", "pressed"),
    [
        pytest.param("", 7, Box(10, 20, 300, 90), "Waiting", id="the menu's own window"),
        pytest.param("", 7, Box(0, 0, 400, 300), "", id="another window"),
        pytest.param("", 8, Box(10, 20, 300, 90), "", id="a window of another program"),
        pytest.param("Tip", 7, Box(10, 20, 300, 90), "Tip", id="a window with a name"),
    ],
)
def test_an_empty_window_shows_the_menu_that_has_its_place(name: str, pid: int, box: Box, pressed: str) -> None:
    """GTK 3 publishes the menu of a combo box in the window behind it."""
    tree = ElementTree(
        (
            element(0, "window", "Form", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "combo box", "Open", Box(10, 20, 300, 30)),
            element(2, "menu", "", Box(10, 20, 300, 90), 1),
            element(3, "menu item", "Open", Box(10, 20, 300, 30), 2),
            element(4, "menu item", "Waiting", Box(10, 50, 300, 30), 2),
            element(5, "text field", "Mechanic", Box(10, 60, 100, 10)),
            element(6, "window", name, box, -1, pid=pid),
        )
    )
    found = tree.at(Point(50, 65))
    assert found is not None
    assert found.name == pressed


def chooser(state: str, chosen: Box, waiting: Box, *more: Element) -> ElementTree:
    """Return the tree of a page with a list of options, as Chromium publishes it."""
    return ElementTree(
        (
            element(0, "window", "Page", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "combo box", "State", Box(48, 20, 118, 19), 0, "expandable", state),
            element(2, "menu", "", NOWHERE, 1),
            element(3, "menu item", "open", chosen, 2, "selectable"),
            element(4, "menu item", "waiting", waiting, 2, "selectable"),
            element(5, "text field", "Mechanic", Box(48, 60, 60, 10)),
            *more,
        )
    )


CHOSEN, FIRST, SECOND = Box(48, 20, 118, 10), Box(49, 40, 97, 24), Box(49, 64, 97, 24)


@pytest.mark.parametrize(
    ("state", "chosen", "at", "pressed"),
    [
        pytest.param("enabled", CHOSEN, Point(100, 25), "State", id="closed"),
        pytest.param("expanded", FIRST, Point(100, 50), "open", id="open"),
        pytest.param("enabled", FIRST, Point(100, 50), "open", id="open, with a late state"),
        pytest.param("expanded", CHOSEN, Point(100, 25), "open", id="open over the box"),
    ],
)
def test_a_press_on_a_closed_combo_box_is_not_one_on_its_option(
    state: str, chosen: Box, at: Point, pressed: str
) -> None:
    found = chooser(state, chosen, NOWHERE).at(at)
    assert found is not None
    assert found.name == pressed


def test_the_option_of_a_closed_combo_box_comes_after_that_of_an_open_list() -> None:
    other = element(6, "menu item", "open", Box(200, 60, 97, 24))
    tree = chooser("enabled", CHOSEN, NOWHERE)
    assert [each.id for each in tree.find("menu item", "open")] == [3], "an older playbook may press it"
    assert [each.id for each in chooser("enabled", CHOSEN, NOWHERE, other).find("menu item", "open")] == [6]
    assert len(chooser("expanded", CHOSEN, NOWHERE, other).find("menu item", "open")) == 2


@pytest.mark.parametrize(
    ("state", "pid", "box", "pressed"),
    [
        pytest.param("expanded", 7, Box(48, 39, 117, 98), "waiting", id="the list's own window"),
        pytest.param("enabled", 7, Box(48, 39, 117, 98), "", id="no list is open"),
        pytest.param("expanded", 8, Box(48, 39, 117, 98), "", id="a window of another program"),
        pytest.param("expanded", 7, Box(58, 68, 20, 20), "", id="a small window over the option"),
    ],
)
def test_the_empty_window_of_an_open_list_shows_its_options(state: str, pid: int, box: Box, pressed: str) -> None:
    """Chromium publishes the options in the window of the page."""
    found = chooser(state, FIRST, SECOND, element(6, "window", "", box, -1, pid=pid)).at(Point(70, 70))
    assert found is not None
    assert found.name == pressed


@pytest.mark.parametrize(
    ("value", "state", "more", "told"),
    [
        pytest.param("open", "expanded", (), "State", id="a list of values"),
        pytest.param("", "expanded", (), None, id="a box that tells no value"),
        pytest.param("open", "enabled", (), None, id="a closed box"),
        pytest.param("open", "expanded", ("combo box", "State"), None, id="two boxes of one name"),
    ],
)
def test_an_option_has_the_name_of_the_combo_box_that_it_is_chosen_in(
    value: str, state: str, more: tuple[str, str] | tuple[()], told: str | None
) -> None:
    others = [element(6, *more, Box(48, 200, 118, 19))] if more else []
    parts = [*chooser(state, FIRST, SECOND, *others).elements]
    parts[1] = replace(parts[1], value=value)
    tree = ElementTree(tuple(parts))
    assert anchors_of(tree, parts[4], lambda each: each).get("chosen_in") == told


@pytest.mark.parametrize(
    ("name", "inner", "told"),
    [
        pytest.param("", [("image", "")], ["yes", "yes"], id="an image"),
        pytest.param("False", [("image", "False")], ["yes", None], id="an image with a name"),
        pytest.param("Low", [("image", ""), ("label", "Low")], [None, None], id="a text beside it"),
        pytest.param("", [("image", ""), ("button", "")], [None, None], id="a button beside it"),
        pytest.param("", [("panel", "")], [None, None], id="no image"),
    ],
)
def test_a_cell_with_an_image_alone_is_told(name: str, inner: list[tuple[str, str]], told: list[str | None]) -> None:
    places = [Box(100, 40, 20, 20), Box(130, 40, 20, 20)]
    tree = ElementTree(
        (
            element(0, "window", "Page", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "row", "", Box(0, 40, 400, 20)),
            element(2, "cell", "T-702", Box(0, 40, 80, 20), 1),
            element(3, "cell", name, Box(90, 40, 80, 20), 1),
            *(element(4 + n, *each, places[n], 3) for n, each in enumerate(inner)),
        )
    )
    assert [anchors_of(tree, tree.elements[n], lambda each: each).get("image") for n in (3, 4)] == told


def test_the_focused_element_is_in_the_active_window() -> None:
    other = (
        element(9, "window", "Other", Box(0, 0, 10, 10), -1, pid=8),
        element(10, "text field", "", Box(0, 0, 10, 10), 9, FOCUSED, pid=8),
    )
    found = ElementTree(FORM.elements + other).focused()
    assert found is not None
    assert found.id == 4
    assert ElementTree().focused() is None


@pytest.mark.parametrize(("of_field", "of_list", "wanted"), [(FOCUSED, "", 1), (FOCUSED, FOCUSED, 3), ("", "", 3)])
@pytest.mark.parametrize(
    ("around", "entry"), [("tab list", "tab"), ("table", "cell"), ("list", "list item"), ("tree", "tree item")]
)
def test_an_entry_has_the_focus_if_its_list_has_it_too_or_nothing_else_has_it(
    around: str, entry: str, of_field: str, of_list: str, wanted: int
) -> None:
    """Qt marks the current entry of each list as focused. In Chromium only the tab itself claims the focus."""
    place = Box(0, 0, 10, 10)
    tree = ElementTree(
        (
            element(0, "window", "Form", place, -1, ACTIVE),
            element(1, "text field", "Publisher", place, 0, of_field),
            element(2, around, "", place, 0, of_list),
            element(3, entry, "Normal view", place, 2, FOCUSED),
        )
    )
    found = tree.focused()
    assert found is not None
    assert found.id == wanted


@pytest.mark.parametrize(("role", "above", "wanted"), [("text field", 1, None), ("text field", 0, 3), ("cell", 1, 3)])
def test_nothing_has_the_focus_if_all_fields_of_a_form_claim_it(role: str, above: int, wanted: int | None) -> None:
    """In a form of LibreOffice Base every field claims the focus. Other programs rightly mark the last one."""
    place = Box(0, 0, 10, 10)
    tree = ElementTree(
        (
            element(0, "window", "Form", place, -1, ACTIVE),
            element(1, "document", "", place, 0),
            element(2, role, "Clerk", place, 1, FOCUSED),
            element(3, role, "Result", place, above, FOCUSED),
        )
    )
    found = tree.focused()
    assert (None if found is None else found.id) == wanted


def test_an_editor_in_the_current_cell_has_the_focus() -> None:
    place = Box(0, 0, 10, 10)
    tree = ElementTree(
        (
            element(0, "window", "Form", place, -1, ACTIVE),
            element(1, "table", "", place, 0),
            element(2, "cell", "A-200", place, 1, FOCUSED),
            element(3, "text field", "", place, 2, FOCUSED),
        )
    )
    found = tree.focused()
    assert found is not None
    assert found.id == 3


def test_ancestors_go_up_to_the_window() -> None:
    button = FORM.elements[2]
    assert [each.role for each in FORM.ancestors(button)] == ["panel", "window"]
    assert FORM.window_of(button) is FORM.elements[0]


def test_a_circular_tree_is_refused() -> None:
    with pytest.raises(ValueError, match="element 1"):
        ElementTree((FORM.elements[0], replace(FORM.elements[1], parent=1)))


def test_a_name_from_outside_is_one_visible_line() -> None:
    assert one_line("Sa\u200bve\u202e \x1b[2J\n all", 120) == "Save [2J all"
    assert len(one_line("x" * 1_000_000, 120)) == 120


@pytest.mark.parametrize(
    ("around", "name", "left", "further", "told"),
    [
        pytest.param("label", "Priority: Urgent", 20, "image", "check box", id="in its label"),
        pytest.param("panel", "Urgent", 20, "image", "check box", id="beside it"),
        pytest.param("row", "Urgent", 20, "image", "label", id="beside it in a row of a list"),
        pytest.param("panel", "Approved", 20, "image", "label", id="beside another one"),
        pytest.param("panel", "Urgent", 400, "image", "label", id="far away"),
        pytest.param("label", "Urgent", 20, "button", "label", id="in a label with two controls"),
        pytest.param("panel", "Urgent", 20, "check box", "label", id="beside two of one name"),
    ],
)
def test_words_that_set_a_check_box_are_described_as_it(
    around: str, name: str, left: int, further: str, told: str
) -> None:
    """A second press would set it back, so a replay has to know its state."""
    made = (
        element(0, "window", "Orders", Box(0, 0, 600, 400), -1, ACTIVE),
        element(1, around, "", Box(10, 30, 500, 40)),
        element(2, "check box", name, Box(left, 40, 14, 14), 1),
        element(3, "label", "Urgent", Box(40, 38, 60, 18), 1),
        element(4, further, "Urgent" if further == "check box" else "Help", Box(40, 90, 14, 14), 1),
    )
    tree = ElementTree(made)
    facts = anchors_of(tree, tree.elements[3], lambda each: each)
    assert (facts["role"], facts.get("checked")) == (told, "no" if told == "check box" else None)


def test_a_layer_with_the_keyboard_after_a_modal_dialog_is_over_it() -> None:
    """A page may draw a question of areas over its dialog."""
    tree = ElementTree(
        (
            element(0, "window", "Orders", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "document", "Orders", Box(0, 20, 400, 280)),
            element(2, "dialog", "Order 7", Box(50, 50, 200, 200), 1, MODAL),
            element(3, "text field", "Contact", Box(60, 100, 180, 40), 2),
            element(4, "section", "", Box(0, 20, 400, 280), 1),
            element(5, "button", "Delete", Box(100, 110, 60, 20), 4, FOCUSED),
        )
    )
    found = tree.at(Point(120, 120))
    assert found is not None
    assert found.name == "Delete"


@pytest.mark.parametrize(
    ("right_of_heading", "anchor"),
    [
        pytest.param(
            Box(150, 200, 100, 20), {"right_of": "Carrier"}, id="a heading behind the dialog has the same name"
        ),
        pytest.param(Box(200, 10, 100, 20), {"right_of": ""}, id="the other text has a field on its right, too"),
    ],
)
def test_a_label_is_the_text_with_the_field_on_its_right(right_of_heading: Box, anchor: dict[str, str]) -> None:
    tree = ElementTree(
        (
            element(0, "window", "Orders", Box(0, 0, 400, 300), -1, ACTIVE),
            element(1, "cell", "Carrier", Box(60, 10, 80, 20)),
            element(2, "text field", "", right_of_heading),
            element(3, "label", "Carrier", Box(60, 100, 80, 20)),
            element(4, "text field", "", Box(150, 100, 100, 20)),
        )
    )
    assert {name: anchors_of(tree, tree.elements[4], lambda each: each).get(name, "") for name in anchor} == anchor
