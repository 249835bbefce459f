"""The field that a text was typed into, by its identity in two trees: never another one, and none where it is gone."""

from __future__ import annotations

from dataclasses import replace

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.elements.typed_field import changed_beside, drawn_sheet, field_now
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.screen.geometry import Box, Point
from tests.support.element_trees import element, focused, tree_of, window

WHOLE, FIRST, SECOND = Box(0, 0, 400, 300), Box(10, 10, 100, 20), Box(10, 40, 100, 20)
TYPED, ENTERED = Write("App"), Write("App", press_enter=True)


def field(name: str, box: Box = FIRST, value: str = "", role: str = "text field", parent: int = 0):  # type: ignore[no-untyped-def]
    return element(role, name, box, "editable", value=value, parent=parent)


def form(*fields) -> ElementTree:  # type: ignore[no-untyped-def]
    return tree_of(window(WHOLE), *fields)


def test_the_field_is_read_again_though_the_keyboard_moved_on() -> None:
    before = form(focused(field("Name", value="Old")), field("City", SECOND))
    found = field_now(before, ENTERED, form(field("Name", value="Apple"), focused(field("City", SECOND))))
    assert found is not None
    assert (found.element.value, found.before, found.others_changed) == ("Apple", "Old", False)


def test_a_field_that_moved_is_found_by_its_name() -> None:
    found = field_now(form(focused(field("Name"))), TYPED, form(focused(field("Name", SECOND, "Apple"))))
    assert found is not None
    assert found.element.value == "Apple"


def test_a_field_that_is_gone_is_not_read() -> None:
    before = form(focused(field("Name")))
    assert field_now(before, ENTERED, form(focused(field("Search", SECOND)))) is None
    assert field_now(before, ENTERED, form(element("label", "Saved", FIRST))) is None
    assert field_now(before, ENTERED, form(field("Name", SECOND), field("Name", Box(10, 70, 9, 9)))) is None


def test_password_fields_and_terminals_are_not_read() -> None:
    for one in (replace(field("Pin"), protected=True), field("Shell", role="terminal")):
        assert field_now(form(focused(one)), ENTERED, form(focused(replace(one, value="x")))) is None


def test_no_field_is_read_after_a_password_although_the_program_moved_on_to_it() -> None:
    pin, name = replace(focused(field("Pin")), protected=True), field("Name", SECOND)
    for how in (TYPED, ENTERED, Write("App\t")):
        assert field_now(form(pin, name), how, form(replace(pin, states=name.states), focused(name))) is None


def test_a_field_that_hides_its_text_later_or_is_out_of_sight_is_not_read() -> None:
    before = form(focused(field("Name")))
    assert field_now(before, ENTERED, form(replace(field("Name", value="x"), protected=True))) is None
    assert field_now(before, ENTERED, form(replace(field("Name", value="x"), states=frozenset({"editable"})))) is None


def test_tab_and_a_line_break_leave_the_field_as_enter_does() -> None:
    for text in ("App\t", "App\n", "App\r"):
        after = form(field("Name", value="App"), focused(field("City", SECOND, "x")))
        found = field_now(form(focused(field("Name")), field("City", SECOND)), Write(text), after)
        assert found is not None
        assert (found.element.value, found.moved_on) == ("App", False)


def test_a_field_without_a_name_that_moved_is_known_by_the_keyboard_alone() -> None:
    before, moved = form(focused(field(""))), field("", SECOND, "App")
    assert field_now(before, ENTERED, form(moved)) is None
    found = field_now(before, ENTERED, form(focused(moved)))
    assert found is not None
    assert found.element.value == "App"


def test_another_cell_at_the_place_of_the_first_one_is_not_read() -> None:
    """The sheet may have scrolled by a row."""
    cell = field("A1", role="cell")
    assert field_now(form(focused(cell)), ENTERED, form(field("A2", value="7", role="cell"))) is None
    assert field_now(form(focused(cell)), ENTERED, form(field("A1", value="7", role="cell"))) is not None


def test_boxes_that_pass_the_keyboard_on_are_told_from_a_field_that_cuts_off() -> None:
    before = form(focused(field("1")), field("2", SECOND))
    found = field_now(before, TYPED, form(field("1", value="A"), focused(field("2", SECOND, "p"))))
    assert found is not None
    assert found.moved_on


def test_the_next_record_of_a_form_is_seen_by_its_other_fields() -> None:
    before = form(focused(field("Amount")), field("Name", SECOND, "Ada"))
    found = field_now(before, ENTERED, form(focused(field("Amount", value="7")), field("Name", SECOND, "Zoë")))
    assert found is not None
    assert found.others_changed


def test_an_empty_cell_of_a_sheet_is_named_by_the_name_box() -> None:
    table = focused(element("table", "Sheet", Box(0, 50, 400, 200), "editable"))
    cells = [field("A1", Box(0, 50, 50, 20), "Apple", "cell", 1), field("B2", Box(50, 70, 50, 20), "9", "cell", 1)]
    box = field("", Box(0, 0, 50, 20), "A2")
    new = field("A2", Box(0, 70, 50, 20), "Apple", "cell", 1)
    before, after = tree_of(window(WHOLE), table, *cells, box), tree_of(window(WHOLE), table, *cells, new, box)
    found = field_now(before, ENTERED, after)
    assert found is not None
    assert (found.element.name, found.before, found.in_cell) == ("A2", "", True)
    assert field_now(before, ENTERED, before) is None  # the cell is still empty, or the program does not report it
    at = field_now(before, replace(ENTERED, at=Point(5, 75)), after)
    assert at is not None
    assert at.element.name == "A2"


def test_an_editor_that_opens_in_a_cell_is_the_field() -> None:
    table = element("table", "Sheet", Box(0, 50, 400, 200), "editable")
    editor = focused(element("paragraph", "", Box(2, 71, 40, 18), "editable", value="Apple", parent=1))
    found = field_now(tree_of(window(WHOLE), focused(table)), TYPED, tree_of(window(WHOLE), table, editor))
    assert found is not None
    assert found.element.value == "Apple"


def test_a_closed_list_does_not_have_the_keyboard() -> None:
    """Qt marks the current entry of a closed combo box as focused."""
    tree = form(focused(field("Name")), focused(element("list item", "Austria")))
    found = tree.focused()
    assert found is not None
    assert found.name == "Name"


def test_fields_and_cells_that_changed_beside_a_field_are_found() -> None:
    def shown(name: str, total: str, other: str, cell: str) -> ElementTree:
        own = element("cell", name, FIRST)
        inside = field("Amount", FIRST, name, parent=1)
        sum_, city = field("Sum", SECOND, total), field("City", Box(10, 70, 100, 20), other)
        return tree_of(window(WHOLE), own, inside, sum_, city, element("cell", cell, Box(10, 100, 90, 20)))

    before, after = shown("1", "2", "Rome", "2 pieces"), shown("3", "6", "Rome", "6 pieces")
    changed = changed_beside(before, after.elements[2], after)
    assert [(each.role, each.name or each.value) for each in changed] == [("text field", "Sum"), ("cell", "6 pieces")]
    assert changed_beside(after, after.elements[2], after) == []
    protected = tree_of(*(replace(each, protected=True) for each in after.elements))
    assert changed_beside(before, protected.elements[2], protected) == []


def test_the_field_of_a_date_is_the_whole_date_whichever_part_has_the_keyboard() -> None:
    def date(value: str, part: str) -> ElementTree:
        parts = [element("spin button", name, FIRST, value="", parent=1) for name in ("Month", "Year")]
        there = [focused(each) if each.name == part else each for each in parts]
        return tree_of(window(WHOLE), element("date editor", "Due", FIRST, value=value, parent=0), *there)

    found = field_now(date("", "Month"), TYPED, date("05/31/2024", "Year"))
    assert found is not None
    assert (found.element.name, found.element.value, found.moved_on) == ("Due", "05/31/2024", False)
    assert changed_beside(date("", "Month"), found.element, date("05/31/2024", "Year")) == []


def test_a_number_field_without_the_state_editable_is_read_unless_it_is_read_only() -> None:
    def parcels(value: str, *states: str) -> ElementTree:
        return form(focused(element("spin button", "Parcels", FIRST, *states, value=value)), field("City", SECOND))

    found = field_now(parcels("1"), TYPED, parcels("99"))
    assert found is not None
    assert (found.element.value, found.before, found.others_changed) == ("99", "1", False)
    assert field_now(parcels("1", "read only"), TYPED, parcels("99", "read only")) is None


def test_a_drawn_sheet_is_known_by_the_name_of_its_current_cell() -> None:
    canvas = element("panel", "", Box(0, 60, 400, 200), parent=0)
    assert (found := drawn_sheet(form(focused(canvas), field("", value="B12")), ENTERED)) is not None
    assert found.box == canvas.box
    for other in (form(focused(canvas), field("", value="Ada")), form(canvas, focused(field("", value="B12")))):
        assert drawn_sheet(other, ENTERED) is None
    assert drawn_sheet(form(focused(canvas), field("", value="B12")), Write("App", at=Point(9, 90))) is None


def test_a_field_in_which_nobody_can_type_is_read_and_marked() -> None:
    fixed = element("text field", "Number", FIRST, value="locked")
    found = field_now(form(focused(fixed)), TYPED, form(focused(fixed)))
    assert found is not None
    assert (found.element.value, found.before, found.is_fixed) == ("locked", "locked", True)
    label = element("label", "Number", FIRST, value="locked")
    assert field_now(form(focused(label)), TYPED, form(focused(label))) is None
