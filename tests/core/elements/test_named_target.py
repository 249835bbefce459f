"""Which descriptions clearly name another control than the one at the point, and which may be right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.elements.named_target import (
    Control,
    Mismatch,
    Spot,
    controls_in,
    ends_of_drag,
    find_mismatch,
    spot_in,
)
from holo_tasks.core.screen.geometry import Box, Point, Size
from tests.support.element_trees import element, tree_of, window

SCREEN = Box.whole(Size(1000, 800))


def placed(*told: str | Element) -> ElementTree:
    """Return a screen with controls in a column, 30 pixels high, 50 apart. Each text is “role: name = value”."""
    found = [window(SCREEN, "Orders")]
    for row, each in enumerate(told):
        if isinstance(each, Element):
            found.append(each)
            continue
        role, _, rest = each.partition(":")
        name, _, value = rest.partition(" = ")
        found.append(element(role, name.strip(), Box(100, 100 + 50 * row, 160, 30), value=value.strip()))
    return tree_of(*found)


def judged(words: str, tree: ElementTree, at: Point) -> Mismatch | None:
    spot = spot_in(tree, at)
    assert spot is not None
    return find_mismatch(words, at, spot, controls_in(tree))


def first(*told: str | Element) -> tuple[ElementTree, Point]:
    """Return a screen, and the middle of its first control: that is where the point is."""
    tree = placed(*told)
    return tree, tree.elements[1].box.center


# Description | control at the point | the others on the screen
WITHHELD = """
Save | button: Delete | button: Save
Save button | button: Delete | button: Save
the Save button | button: Cancel | button: Save, button: OK
The 'Save' button | button: Delete | button: Save
"Save" button in the toolbar | button: Delete | button: Save
Save button at the bottom right of the form | button: Cancel | button: Save
blue Save button | button: Delete | button: Save
big blue 'Save' button | button: Delete | button: Save
button labeled Save | button: Delete | button: Save
button with the text "Save" | button: Delete | button: Save
Click the Save button | button: Delete | button: Save
Button A | button: Button B | button: Button A
Button 'A' | button: B | button: A
Next | button: Previous | button: Next
'Next' button | button: Cancel | button: Next
Save… | button: Print… | button: Save…
Save file button | button: Delete | button: Save File
Amount field | text field: Date | text field: Amount
the 'Amount' input field | text field: Date = 2024-05-01 | text field: Amount = 12.00
Amount | text field: Date | text field: Amount
Terms checkbox | check box: Newsletter | check box: Terms
Terms check box | button: Send | check box: Terms
Settings tab | tab: General | tab: Settings
Help link in the footer | link: Contact | link: Help
Open menu item | menu item: Close | menu item: Open
File menu in the menu bar | menu: Edit | menu: File
Invoice 1042 | list item: Invoice 1043 | list item: Invoice 1042
Invoice 1042 in the list | list item: Invoice 1043 | list item: Invoice 1042
Delete row button | button: Delete column | button: Delete row
Miller row | row: Meyer | row: Miller
'Miller' cell | cell: Meyer | cell: Miller
Country dropdown | combo box: Currency | combo box: Country
cell B2 | cell: B3 | cell: B2
Speichern | button: Löschen | button: Speichern
Schaltfläche 'Speichern' | button: Löschen | button: Speichern
Speichern-Schaltfläche | button: Löschen | button: Speichern
le bouton « Enregistrer » | button: Supprimer | button: Enregistrer
bouton Enregistrer | button: Supprimer | button: Enregistrer
「保存」ボタン | button: 削除 | button: 保存
保存ボタン | button: 削除 | button: 保存
Search button | text field: Name | button: Search
Save button | cell: Miller | button: Save
Delete | button: Edit | button: Delete, button: Delete
Save button | label: All changes are lost. | button: Save
5 | button: 8 | button: 5
'Save' button next to Print | button: Cancel | button: Save, button: Print
Don't save | button: Close | button: Don't save
Log in button | button: Register | button: Log in
Bold icon | toggle button: Italic | toggle button: Bold
the Next button | button: Cancel | button: Next
Next button | button: Previous | button: Next
Click the Left button in the toolbar | button: Bold | button: Left
the Next > button | button: Cancel | button: Next >
the < Back button at the bottom | button: Cancel | button: < Back
the Options >> button | button: Cancel | button: Options >>
the Home button | menu: File | icon: Home
Name column | column header: Size | column header: Name
Save button | cell: 12 | button: Save
Save | button: 5 | button: Save
Save | cell: 円 | cell: Save
Save button | button: Save as… | button: Save
Save as | button: Save | button: Save as…
Delete | menu item: Delete all | menu item: Delete
'Delete all' menu item | menu item: Delete | menu item: Delete all
Ada | list item: Ada Miller | list item: Ada
Name field | text field: Company name | text field: Name
1002 | cell: 10021 | cell: 1002
10021 | cell: 1002 | cell: 10021
Invoice 1 | list item: Invoice 12 | list item: Invoice 1
Invoice 12 | list item: Invoice 1 | list item: Invoice 12
2024-05-31 | cell: 2024-05-3 | cell: 2024-05-31
Save and close | button: Save | button: Save & close
the Save and next button | button: Save | button: Save & Next
Save & close | button: Save | button: Save and close
'Speichern und schließen' | button: Speichern | button: Speichern & schließen
the And button | button: Or | button: And
the And gate button | button: Or gate | button: And gate
Gate And button | button: Gate Or | button: Gate And
"""
PASSED = """
Save | button: Save | button: Delete
Save button | button: Save | button: Save
Save the form | button: Delete | button: Save
Delete button next to 'Save' | button: Delete | button: Save
Delete button next to 'Save' | button: Remove | button: Save
the field below ‘Amount’ | text field: Date | text field: Amount
field right of 'Amount' | text field: | text field: Amount
Close the Save dialog | button: Close | button: Save
Close the Save dialog | button: × | button: Save
Store button | button: Save | button: Delete
Trash icon | button: Delete | tree item: Trash
gear icon | button: Settings | button: Save
Settings icon | button: Preferences | tab: Settings
the red button at the top right | button: Delete | button: Save
red button | button: Delete | button: Red
A button | button: Send | button: A
the button | button: Send | button: Save
next button | button: Weiter | button: Next
left arrow | button: Back | button: Left
first name field | text field: Vorname | text field: Name
Last name field | text field: Surname | text field: Name
Search field | text field: | button: Search
Search field | text field: Query | button: Search
Search | text field: Query | button: Search
Save button | button: Speichern | button: Delete
Löschen-Schaltfläche neben 'Speichern' | button: Entfernen | button: Speichern
Schaltfläche rechts neben „Speichern“ | button: Löschen | button: Speichern
le bouton à côté de « Enregistrer » | button: Supprimer | button: Enregistrer
「保存」の右のボタン | button: 削除 | button: 保存
Feld unter 'Betrag' | text field: Datum | text field: Betrag
 | button: Delete | button: Save
button | button: Delete | button: Save
here | button: Delete | button: Save
Save or OK button | button: OK | button: Save
'Open' > 'Recent' | menu item: Recent | menu item: Open
Item 3 | list item: Third entry | list item: 3
item 3 in the list | list item: 4 | list item: 3
the X in row Miller | button: × | row: Miller
checkbox in row 2 | check box: | row: 2
Delete button in the 'Miller' row | button: Remove | row: Miller
Save button | button: Sava | button: Save
Save butten | button: Delete | button: Save
Confirm | button: Conf1rm | button: Confirn
Submit order | button: Submit | button: Order
Login button | button: Log in | button: Login
Saved searches | button: Searches | button: Save
Amount column | cell: 12.00 | column header: Amount
Total cell | cell: 12.00 | column header: Total
Amount | cell: 12.00 | button: Amount
Country | combo box: Germany = Germany | list item: Germany
12.00 | cell: Amount = 12.00 | cell: 12.00
Save icon | button: | button: Save
Save button | button: | button: Save
Save | button: × | button: Save
Options | button: Menu | button: Options and settings
Save changes | button: Delete | button: Save
Save | button: Save as… | button: Save, button: Save
Save (as a copy) | button: Save as copy | button: Save
the save as button | button: Save as… | button: Save
Save button | link: Save as… | button: Save
Save in the bar | button: Save as… | button: Save
Save button | toggle button: Save as… | button: Save
Delete button for all | button: Delete all | button: Delete
Save and close | button: Save & close | button: Save
Save and close | button: Close | button: Save
Save or close | button: Save | button: Save & close
Save and the Close button | button: Save | button: Save & close
1002 | cell: 1 002 | cell: 1002
Invoice 12 | list item: Invoice 1 2 | list item: Invoice 12
dark theme | button: Night mode | menu: Theme
Save, Print and Close buttons | button: Delete | button: Save
Tab 'Mail' close button | button: Close | tab: Mail
Close 'Mail' tab | button: Close tab | tab: Mail
Expander of 'Projects' | button: + | tree item: Projects
arrow next to Projects | button: > | tree item: Projects
the Save dialog | button: OK | button: Save
'Save' heading | button: OK | button: Save
Save toolbar | button: Print | button: Save
Save button | cell: 12 | button: Save, button: Save
Search button | text field: Name | button: Search, button: Search
Country dropdown | combo box: Land | button: Country
Miller item | cell: 12 | list item: Miller
Amount | cell: A | cell: Amount
Login now | button: Log in | button: Login now
Invoice 1042 | list item: Invoice 1043 = 1042 | list item: Invoice 1042
Save drafts now | button: Save draft later | button: Save drafts now
Left button | button: Back | button: Left
the next page button | button: Weiter | button: Next
the Radio button | radio button: Male | button: Radio
the menu right of the Menu button | menu: File | button: Menu
Next: Previous | button: Previous | button: Next
Tag 1: From Tag 2 | button: From Tag 2 | button: Tag 1
Insert row > Delete row button | menu item: Delete row | menu item: Insert row
Add button | button: GtkMenuButton | button: Add
the calendar | button: GcalDateChooserDay | button: Calendar
the second button from the left | button: Cancel | button: Save
Save button | terminal: ready | button: Print
OK | button: O K | button: OK.
Ｓａｖｅ | button: Save | button: Print
Dismiss | button: Close | button: Cancel
Auftrag anlegen | button: Create order | button: Auftrag
the green tick | button: Accept | button: Green
Year | spin button: 2024 | button: Year
"""


def cases(text: str) -> list[tuple[str, str, str]]:
    found = []
    for line in text.strip("\n").splitlines():
        words, at, others = (part.strip() for part in line.split("|"))
        found.append((words, at, others))
    return found


@pytest.mark.parametrize(("words", "at", "others"), cases(WITHHELD))
def test_a_clear_contradiction_is_found(words: str, at: str, others: str) -> None:
    tree, point = first(at, *others.split(", "))
    found = judged(words, tree, point)
    assert found is not None
    assert found.named.name == tree.elements[2].name


@pytest.mark.parametrize(("words", "at", "others"), cases(PASSED))
def test_a_description_that_may_be_right_passes(words: str, at: str, others: str) -> None:
    assert judged(words, *first(at, *others.split(", "))) is None


@pytest.mark.parametrize(("words", "at", "others"), cases(WITHHELD))
def test_the_named_control_itself_may_be_pressed(words: str, at: str, others: str) -> None:
    tree, _ = first(at, *others.split(", "))
    assert judged(words, tree, tree.elements[2].box.center) is None


def test_the_longest_name_counts_and_the_words_of_both_ends_of_a_drag() -> None:
    tree, at = first("button: Delete", "button: Save", "button: Save as", "list item: Delete")
    found = judged("Save as", tree, at)
    assert found is not None
    assert found.named.name == "Save as"
    spot, controls = spot_in(tree, at), controls_in(tree)
    assert spot is not None
    assert find_mismatch("Save", at, spot, controls, whole="Save to Print") is not None
    assert find_mismatch("Save", at, spot, controls, whole="Delete to Save") is None


@pytest.mark.parametrize(
    ("box", "withheld"),
    [
        (Box(100, 300, 160, 30), True),
        (Box(300, 100, 160, 30), True),
        (Box(104, 300, 240, 30), True),  # below it, as in a menu
        (Box(60, 300, 240, 30), True),  # its middle below
        (Box(300, 300, 160, 30), False),
        (Box(100, 500, 160, 30), False),
        (Box(600, 100, 160, 30), False),
    ],
)
def test_a_longer_name_elsewhere_may_be_the_named_one_in_full(box: Box, withheld: bool) -> None:
    """The window behind a dialog may have a button “Save”, and the dialog one with more words."""
    tree = placed("button: Save", element("button", "Save changes", box))
    assert (judged("the Save button", tree, box.center) is not None) is withheld
    tree = placed("button: Page", element("button", "Page 2", box))
    assert (judged("the Page button", tree, box.center) is not None) is withheld


def test_a_control_without_a_name_may_be_the_named_one_though_its_label_has_fewer_words() -> None:
    named, box = Control("Save as", "button", Box(0, 0, 90, 30), 1), Box(0, 50, 90, 30)
    for name, withheld in (("", False), ("Save", True)):
        spot = Spot(name, "button", box, ("Save",))
        assert (find_mismatch("Save as", box.center, spot, [named]) is not None) is withheld


@pytest.mark.parametrize(
    ("name", "role", "withheld"), [("×", "button", False), ("Edit", "button", True), ("Edit", "link", False)]
)
def test_a_control_in_a_row_may_be_what_the_name_of_the_row_means_unless_a_button_says_otherwise(
    name: str, role: str, withheld: bool
) -> None:
    tree = placed("list item: Miller", element(role, name, Box(400, 100, 40, 30)))
    assert (judged("Miller", tree, Point(420, 115)) is not None) is withheld


@pytest.mark.parametrize(
    ("wide", "high", "far", "off"),
    [
        (160, 30, 1, None),
        (160, 30, 2, "2 px to the right of"),
        (160, 30, 12, "12 px to the right of"),
        (160, 30, 13, ""),
        (400, 80, 5, "5 px to the right of"),
        (401, 30, 5, ""),
        (160, 81, 5, ""),
    ],
)
def test_a_point_on_bare_ground_2_to_12_pixels_beside_a_small_control_is_a_miss(
    wide: int, high: int, far: int, off: str | None
) -> None:
    tree = placed(element("button", "Save", Box(100, 100, wide, high)), "button: Print", "button: Close")
    found = judged("Save", tree, Point(100 + wide - 1 + far, 110))
    assert (None if found is None else found.off) == off


def test_a_control_that_was_read_from_pixels_has_any_role() -> None:
    spot = Spot("Delete", "", Box(0, 0, 90, 30), ("Delete",))
    found = find_mismatch("Save button", Point(10, 10), spot, [Control("Save", "", Box(200, 0, 90, 30))])
    assert found is not None
    assert found.named.name == "Save"


@pytest.mark.parametrize(("at", "withheld"), [((210, 10), False), ((10, 110), False), ((210, 110), True)])
def test_a_cell_on_a_picture_may_be_the_header_of_a_row_or_a_column(at: tuple[int, int], withheld: bool) -> None:
    header = Control("Total", "column header", Box(0, 0, 90, 30))
    x, y = at
    spot = Spot("Bonn", "", Box(x - 10, y - 10, 90, 30), ("Bonn",))
    assert (find_mismatch("Total", Point(x, y), spot, [header]) is not None) == withheld


@pytest.mark.parametrize(
    ("control", "words", "role"),
    [("check box", "the Urgent check box", "label"), ("text field", "the Urgent field", "label")],
)
def test_the_text_beside_a_check_box_or_a_field_may_be_pressed_for_it(control: str, words: str, role: str) -> None:
    beside, far = Box(400, 100, 60, 30), Box(400, 300, 60, 30)
    box, button = Box(500, 100, 100, 30), element("button", "Send", Box(100, 500, 60, 30))
    it = element(control, "Urgent", box)
    assert judged(words, placed(it, element(role, "soon", beside), button), beside.center) is None
    assert judged(words, placed(it, element("button", "Soon", beside), button), beside.center) is not None
    assert judged(words, placed(it, element(role, "soon", far), button), far.center) is not None


def test_a_number_may_count_rather_than_name_something() -> None:
    tree, at = first("button: July", "button: 7")
    assert judged("7", tree, at) is None
    tree, at = first("button: 8", "button: 7")
    assert judged("7", tree, at) is not None


def test_a_program_that_reports_only_its_window_is_read_by_pixels() -> None:
    assert spot_in(tree_of(window(SCREEN, "Orders")), Point(50, 50)) is None
    assert spot_in(placed("button: Save"), Point(900, 700)) is not None


def test_the_name_of_a_tab_does_not_name_the_buttons_of_its_page() -> None:
    """A tab of GTK contains its page."""
    page = element("button", "Delete", Box(100, 300, 60, 30), parent=1)
    tree = placed(element("tab", "Save options", Box(100, 100, 160, 30)), page, "button: Save")
    assert judged("Save", tree, page.box.center) is not None
    panel = replace(tree, elements=(*tree.elements[:1], replace(tree.elements[1], role="panel"), *tree.elements[2:]))
    assert judged("Save", panel, page.box.center) is None, "the buttons of a panel may be named after it"


SHEET = placed(
    *(
        element("cell", f"{column}{row}", Box(100 * place, 30 * row, 100, 30), value=f"text {row}")
        for place, column in enumerate("ABC", 1)
        for row in range(1, 12)
    )
)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("cell B3", "B3"),  # above it
        ("B3", "B3"),
        ("cell C4", "C4"),  # next to it
        ("the cell A11 (text 4)", "A11"),
        ("cell B4", ""),
        ("text 4", ""),
        ("row 4 of column B", ""),
        ("the cell below B3", ""),
        ("the cell right of A4", ""),
        ("B3:B4", ""),
        ("A4 to B4", ""),
        ("B9 sharp", ""),
        ("cell Z4", ""),
    ],
)
def test_the_address_of_another_cell_of_a_sheet_is_a_contradiction(words: str, named: str) -> None:
    """A click in a sheet that is one cell off lies in the same row or column."""
    found = judged(words, SHEET, Point(250, 135))
    assert ("" if found is None else found.named.name) == named


def test_an_address_in_another_list_may_be_the_name_of_its_row() -> None:
    tree = placed(
        element("cell", "B3", Box(100, 100, 100, 30)),
        element("cell", "Hall 7", Box(200, 100, 100, 30)),
        element("list item", "B4", Box(100, 200, 100, 30)),
        element("list item", "B5", Box(200, 200, 100, 30)),
    )
    assert judged("B3", tree, Point(250, 115)) is None
    assert judged("B4", tree, Point(250, 215)) is None


@pytest.mark.parametrize(("words", "at", "named"), [("row R101", 110, ""), ("R102", 130, ""), ("R102", 110, "R102")])
def test_a_code_like_an_address_may_be_the_name_of_its_row(words: str, at: int, named: str) -> None:
    """The point is on the shelf of an order. Only the shelf of another order is a contradiction."""
    tree = placed(
        element("cell", "R101", Box(100, 100, 100, 20)),
        element("cell", "B7", Box(200, 100, 100, 20)),
        element("cell", "R102", Box(100, 120, 100, 20)),
        element("cell", "C3", Box(200, 120, 100, 20)),
    )
    found = judged(words, tree, Point(250, at))
    assert ("" if found is None else found.named.name) == named


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        ("Drag 'Task 1' to the Done column", ("'Task 1'", "the Done column")),
        ("Task 1 into Done", ("Task 1", "Done")),
        ("the slider", ("the slider", "")),
    ],
)
def test_the_description_of_a_drag_has_two_ends(words: str, ends: tuple[str, str]) -> None:
    assert ends_of_drag(words) == ends


def test_the_tables_are_large_enough() -> None:
    assert len(cases(WITHHELD)) + len(cases(PASSED)) >= 80
