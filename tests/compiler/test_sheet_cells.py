"""Cells of a spreadsheet are found by the next free row, by the item's key and a heading, or by their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.elements.elements import SHEET, SHOWING, Element, ElementTree, SheetPlace
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.scripts.element_search import ContradictedTarget, NotFound, check_focus
from holo_tasks.scripts.playbook import Playbook
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import ElementTarget, Target
from holo_tasks.vision.screen_text import Sight
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import SIZE, Act, page, record

LIST = [["Number", "Customer", "Remark"], ["AB-1207", "Fischer", ""], ["CD-3391", "Market", ""]]
FORM = [["Number", ""], ["Customer", "Fischer"], ["Remark", ""]]
COLUMNS = "ABCDE"
SHOWN = page((20, 10, "ORDERS"), (300, 10, "CD-3391"))


def sheet(rows: Sequence[Sequence[str]], focused: str = "") -> ElementTree:
    """Return the tree of a spreadsheet with the empty row below its last one."""
    states = frozenset({SHOWING})
    found = [
        Element(0, "window", "Sheet", states, Box(0, 0, 720, 420), -1, "office", 1),
        Element(1, "table", "Orders", states | SHEET, Box(0, 40, 720, 320), 0, "office", 1),
    ]
    for row, texts in enumerate([*rows, [""] * len(rows[0])], start=1):
        for place, text in enumerate(texts):
            name, box = f"{COLUMNS[place]}{row}", Box(20 + 120 * place, 20 + 30 * row, 110, 24)
            own = states | {"focused"} if name == focused else states
            found.append(Element(len(found), "cell", name, own, box, 1, "office", 1, text))
    return ElementTree(tuple(found), complete=False)


def facts(tree: ElementTree, name: str) -> dict[str, str]:
    (cell,) = tree.find("cell", name)
    return anchors_of(tree, cell, lambda element: element)


def pressed(tree: ElementTree, target: Target, **values: str) -> str:
    """Return the name of the cell that a target finds."""
    box = find(target, values, Sight((), SIZE, elements=tree))
    return next(each.name for each in tree.elements if each.box == box)


def made(home: Path, name: str, tree: ElementTree, cell: str, typed: str = "late") -> tuple[Playbook, str]:
    """Return the playbook of a press on a cell and of typing, and its text."""
    (there,) = tree.find("cell", cell)
    acts = [Act(SHOWN, click="ORDERS", at=there.box.center, element=facts(tree, cell)), Act(SHOWN, write=typed)]
    trace = record(home, name, "Enter the remark of CD-3391.", acts, page((20, 10, "SAVED")), "done")
    playbook, _, text = compiled(home, trace, params=("number=CD-3391", "remark=late"))
    return playbook, text


def target_of(playbook: Playbook) -> Target:
    target = playbook.goals["look-up"].steps[0].click
    assert target is not None
    return target


def test_the_next_free_row_is_found_wherever_it_is(tmp_path: Path) -> None:
    playbook, text = made(tmp_path, "next", sheet(LIST), "A4")
    assert "next_row: true" in text
    target = target_of(playbook)
    longer = [*LIST, ["EF-1", "Baker", ""]]
    assert pressed(sheet(longer), target) == "A5", "a colleague has added a row"
    moved = [[row[1], row[0], row[2]] for row in LIST]
    assert pressed(sheet(moved), target) == "B4", "the heading has moved"
    full = sheet(longer)
    with pytest.raises(NotFound):  # the next row is not visible
        pressed(replace(full, elements=full.elements[:-3]), target)


def test_a_cell_in_the_row_of_the_item_is_found_by_key_and_heading(tmp_path: Path) -> None:
    playbook, text = made(tmp_path, "key", sheet(LIST), "C3")
    assert "row: '{number}'" in text
    assert "CD-3391" not in text
    target = target_of(playbook)
    assert pressed(sheet(LIST), target, number="AB-1207") == "C2"
    with pytest.raises(NotFound):
        pressed(sheet(LIST), target, number="AB-120")
    with pytest.raises(NotFound):
        pressed(sheet([*LIST, ["CD-3391", "Other", ""]]), target, number="CD-3391")  # the key is there twice
    with pytest.raises(ContradictedTarget, match="not empty"):
        pressed(sheet([*LIST[:2], ["CD-3391", "Market", "paid"]]), target, number="CD-3391")


def test_a_cell_of_a_form_is_found_by_its_place_and_label(tmp_path: Path) -> None:
    playbook, text = made(tmp_path, "form", sheet(FORM), "B3")
    assert "name: B3" in text
    target = target_of(playbook)
    assert pressed(sheet(FORM), target) == "B3"
    with pytest.raises(NotFound):  # a new line above it has moved the form
        pressed(sheet([FORM[0], ["Clerk", ""], *FORM[1:]]), target)


@pytest.mark.parametrize(("written", "by_name"), [("", False), ("A4", True)])
def test_a_cell_outside_a_sheet_is_found_by_a_name_like_a_place_only_if_that_is_written_on_it(
    tmp_path: Path, written: str, by_name: bool
) -> None:
    """The table of a letter has such names. With its rows in another order, A4 is another field."""
    tree = ElementTree(
        (
            Element(0, "window", "Letter", frozenset({SHOWING}), Box(0, 0, 720, 420), -1, "office", 1),
            Element(1, "table", "Fields", frozenset({SHOWING}), Box(0, 40, 720, 320), 0, "office", 1),
            Element(2, "cell", "A4", frozenset({SHOWING}), Box(140, 55, 220, 34), 1, "office", 1),
        )
    )
    shown = page((20, 10, "ORDERS"), (20, 62, "Remark"), *([(150, 62, written)] if written else []))
    acts = [Act(shown, click="ORDERS", at=Point(160, 72), element=facts(tree, "A4")), Act(shown, write="late")]
    trace = record(tmp_path, "letter", "Enter the remark of CD-3391.", acts, page((20, 10, "SAVED")), "done")
    _, _, text = compiled(tmp_path, trace, params=("remark=late",))
    assert ("name: A4" in text) is by_name, text


def test_a_cell_that_was_filled_may_be_filled_again(tmp_path: Path) -> None:
    playbook, text = made(tmp_path, "filled", sheet(FORM), "B2")
    assert "empty" not in text
    assert pressed(sheet([FORM[0], ["Customer", "Market"], FORM[2]]), target_of(playbook)) == "B2"


def test_a_row_of_a_list_without_a_key_is_left_to_the_model(tmp_path: Path) -> None:
    unnamed = [row if row is LIST[0] else ["XY-1", *row[1:]] for row in LIST]
    playbook, _ = made(tmp_path, "unnamed", sheet(unnamed), "C2")
    assert playbook.goals["look-up"].steps[0].by_model


def test_typing_after_a_key_requires_the_recorded_column(tmp_path: Path) -> None:
    tree = sheet([*LIST[:2], ["CD-3391", "", ""]], focused="B3")
    acts = [Act(SHOWN, write="CD-3391"), Act(SHOWN, write="late", element=facts(tree, "B3"))]
    playbook, _, text = compiled(
        tmp_path,
        record(tmp_path, "typed", "Enter it.", acts, page((20, 10, "SAVED")), "done"),
        params=("number=CD-3391",),
    )
    assert "focus: {role: cell, row: '{number}', column: Customer}" in text
    focus = playbook.goals["look-up"].steps[1].focus
    assert focus is not None
    filled = focus.model_copy(update={"row": "CD-3391"})
    check(filled, tree)
    elsewhere = [[row[0], "", *row[1:]] for row in LIST]
    elsewhere[0][1] = "Clerk"
    with pytest.raises(NotFound, match="keyboard"):
        check(filled, sheet(elsewhere, focused="B3"))
    with pytest.raises(NotFound, match="keyboard"):
        check(filled, sheet([*LIST[:2], ["CD-3391", "", ""]], focused="B2"))


def check(focus: ElementTarget, tree: ElementTree) -> None:
    check_focus(focus, Sight((), SIZE, elements=tree))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("A4", {"empty": "yes", "next_row": "yes", "column": "Number"}),
        ("C2", {"empty": "yes", "cell 1": "AB-1207", "cell 2": "Fischer", "column": "Remark"}),
        ("B1", {"cell 1": "Number", "cell 2": "Remark"}),
    ],
)
def test_a_trace_tells_the_texts_of_a_sheet_and_not_the_places(name: str, wanted: Mapping[str, str]) -> None:
    told = facts(sheet(LIST), name)
    names = ("empty", "next_row", "column", "cell 1", "cell 2")
    assert {key: told[key] for key in names if told.get(key)} == wanted


def test_a_cell_of_another_table_is_named_by_its_text() -> None:
    tree = sheet(LIST)
    plain = ElementTree(tuple(replace(each, states=frozenset({SHOWING})) for each in tree.elements))
    (cell,) = plain.find("cell", "B3")
    assert plain.place_in_sheet(cell) is None
    assert plain.text_on(cell) == "B3"
    (cell,) = tree.find("cell", "B3")
    assert tree.place_in_sheet(cell) == SheetPlace(3, "B")
    assert tree.at(Point(cell.box.left, cell.box.top)) == cell
