"""Lists, tables and dialogs that a page draws of areas and texts, without the roles of rows and headings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.compiler.recording import Picture, RecordedStep
from holo_tasks.compiler.step_list import NO_KEY
from holo_tasks.compiler.steps import target_of
from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.elements.elements import SHOWING, Element, ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.element_search import unknown_dialog
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Sight
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, page, record, sight_of

SIZE = Size(720, 420)
ORDERS = (("B-2001", "Adler Ltd"), ("B-2002", "Berg and Sons"), ("B-2007", "Cedar Foods"))
VALUES = {"number": "B-2002"}


class Tree:
    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.window = self.add("window", "Orders", Box(0, 0, 720, 420), -1)
        self.page = self.add("document", "Orders", Box(0, 0, 720, 420), self.window)

    def add(self, role: str, name: str, box: Box, parent: int, *states: str) -> int:
        number = len(self.elements)
        self.elements.append(Element(number, role, name, frozenset({SHOWING, *states}), box, parent, "page", 1))
        return number

    @property
    def tree(self) -> ElementTree:
        return ElementTree(tuple(self.elements))

    def finds(self, target: Target | None, **values: str) -> Element:
        assert target is not None
        sight = replace(sight_of(page((20, 10, "ORDERS"))), elements=self.tree)
        box = find(target, values, sight)
        return next(each for each in self.elements if each.box == box)


def target(tree: ElementTree, pressed: Element, *, typed: bool = False) -> Target | None:
    """Return the target that a press on an element compiles to."""
    facts = anchors_of(tree, pressed, lambda element: element)
    picture = Picture("before", Box.whole(SIZE), SIZE)
    step = RecordedStep(1, "click", {}, "", picture, picture, (pressed.box.center,), element=facts, typed_into=typed)
    return target_of(step, 0, Sight((), SIZE), VALUES)


def listed(*captions: str) -> Tree:
    """Return a list of labels with a button at the end of each line."""
    made = Tree()
    for line, (number, name) in enumerate(ORDERS):
        top = 60 + 40 * line
        for left, text in zip((20, 120, 260), (number, name, *captions), strict=False):
            made.add("label", text, Box(left, top, 80, 20), made.page)
        made.add("button", "Edit", Box(400, top, 60, 20), made.page)
    return made


def test_a_button_of_a_list_without_rows_is_found_by_the_key_of_the_item() -> None:
    made = listed("New")
    found = target(made.tree, made.tree.find("button", "Edit")[1])
    assert found == Target(role="button", name="Edit", right_of="{number}")
    for line, (number, _) in enumerate(ORDERS):
        assert made.finds(found, number=number).box.top == 60 + 40 * line


def test_a_button_beside_a_label_of_a_form_is_found_by_this_label() -> None:
    made = Tree()
    for top, label in ((60, "Order:"), (100, "Customer:")):
        made.add("label", "B-2002" if label == "Order:" else "Adler Ltd", Box(20, top, 80, 20), made.page)
        made.add("label", label, Box(120, top, 80, 20), made.page)
        made.add("button", "Change", Box(400, top, 60, 20), made.page)
    found = target(made.tree, made.tree.find("button", "Change")[0])
    assert found == Target(role="button", right_of="Order:")


def table(*headings: str) -> Tree:
    """Return a table of cells, with its headings in the first row, and an unnamed check box in each other row."""
    made = Tree()
    over = made.add("table", "", Box(0, 0, 720, 200), made.page)
    for line, texts in enumerate([headings, *((number, name, "", "") for number, name in ORDERS)]):
        row = made.add("row", "", Box(0, 40 * line, 720, 40), over)
        for column, text in enumerate(texts):
            cell = made.add("cell", text, Box(150 * column, 40 * line, 150, 40), row)
            if line and column == 3:
                made.add("check box", "", Box(150 * column + 60, 40 * line + 10, 12, 12), cell)
    return made


def test_a_cell_is_found_by_a_heading_that_is_a_cell_of_the_first_row() -> None:
    made = table("Number", "Customer", "Contact", "Urgent")
    empty = next(each for each in made.elements if each.box == Box(300, 80, 150, 40))
    assert target(made.tree, empty) == Target(role="cell", row="{number}", column="Contact")
    assert made.finds(target(made.tree, empty), number="B-2007").box == Box(300, 120, 150, 40)
    sign = made.tree.find("check box")[1]
    assert target(made.tree, sign) == Target(role="check box", row="{number}", column="Urgent")
    assert made.finds(target(made.tree, sign), number="B-2007").box.top == 130


@pytest.mark.parametrize("typed", [True, False])
def test_a_text_for_a_cell_without_a_heading_is_never_typed_into_the_key(typed: bool) -> None:
    """A press alone chooses the row."""
    made = table("B-2000", "Ulm Clocks", "", "")
    empty = next(each for each in made.elements if each.box == Box(300, 80, 150, 40))
    if typed:
        with pytest.raises(InvalidUsage, match="no heading"):
            target(made.tree, empty, typed=True)
    else:
        assert target(made.tree, empty) == Target(name="{number}")


@pytest.mark.parametrize(
    "first", [("B-2000", "Ulm Clocks", "Ada", "No"), ("Number", "Adler Ltd", "Contact", "Urgent"), ("Number", "Name")]
)
def test_the_first_row_of_a_table_without_headings_has_none(first: tuple[str, ...]) -> None:
    made = table(*first)
    cells = [each for each in made.elements if each.role == "cell" and each.box.top == 80]
    assert all(made.tree.heading_of(each) is None for each in cells)


@pytest.mark.parametrize("other", [None, ("label", "Now"), ("check box", "Paid")])
def test_the_drawn_parts_of_a_switch_are_the_switch(other: tuple[str, str] | None) -> None:
    made = Tree()
    area = made.add("section", "", Box(200, 100, 50, 24), made.page)
    made.add("section", "", Box(201, 112, 48, 2), area)
    made.add("check box", "Urgent", Box(201, 101, 22, 22), area)
    if other is not None:
        made.add(*other, Box(226, 101, 22, 22), area)
    pressed = made.tree.at(Point(225, 113) if other is None else Point(224, 113))
    assert pressed is not None
    assert pressed.role == "section"
    facts = anchors_of(made.tree, pressed, lambda element: element)
    assert facts["role"] == ("check box" if other is None else "section")
    assert facts.get("checked") == ("no" if other is None else None)


@pytest.mark.parametrize(("part", "is_known"), [("list item", True), ("button", False)])
def test_a_dialog_of_options_without_a_title_is_an_open_list(part: str, is_known: bool) -> None:
    made = Tree()
    over = made.add("dialog", "", Box(200, 100, 200, 80), made.page)
    made.add("list item", "New", Box(200, 100, 200, 40), over)
    made.add(part, "Paid", Box(200, 140, 200, 40), over)
    sight = Sight((), SIZE, elements=made.tree)
    assert (unknown_dialog(["Order"], Box(210, 145, 20, 20), sight, any_place=False) is None) is is_known


@pytest.mark.parametrize(
    ("beside", "key"),
    [
        (("Berg and Sons", "Oslo"), "NO_KEY"),
        (("B-2002", "Berg and Sons"), "{number}"),
        (("Berg and Sons",), "Berg and Sons"),
    ],
)
def test_a_button_of_a_list_without_the_key_of_the_item_is_left_to_the_model(
    tmp_path: Path, beside: tuple[str, ...], key: str
) -> None:
    """One text may be the label in a form."""
    facts = {"role": "button", "name": "Edit", "alike": "3", "right_of": "Berg and Sons"}
    facts |= {f"beside {number}": text for number, text in enumerate(beside, start=1)}
    shown = page((20, 10, "ORDERS"), (20, 100, beside[0]), (200, 100, beside[-1]), (400, 100, "Edit"))
    act, end = Act(shown, click="Edit", element=facts), page((20, 10, "The order B-2002 is open"))
    trace = record(tmp_path, "list", "Open the order B-2002.", [act], end, "done")
    _, _, text = compiled(tmp_path, trace, params=("number=B-2002",))
    assert (NO_KEY in text) is (key == "NO_KEY")
    assert ("right_of" in text) is (key != "NO_KEY")
    assert key == "NO_KEY" or key in text


def test_a_press_beside_a_low_check_box_in_a_cell_is_none_on_it() -> None:
    """The press may open the row, and a press on the check box sets it."""
    made = Tree()
    area = made.add("section", "", Box(200, 100, 80, 44), made.page)
    made.add("check box", "Urgent", Box(230, 112, 20, 20), area)
    facts = anchors_of(made.tree, made.elements[area], lambda element: element)
    assert facts["role"] == "section"
