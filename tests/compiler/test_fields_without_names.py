"""A field without a name is found by its role and container if no other field there accepts text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.core.elements import element_anchors
from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.input.pressed_elements import pressed_at
from holo_tasks.core.screen.geometry import Box, Point
from tests.compiler.test_compile import compiled
from tests.compiler.test_rows_and_dialogs import Tree, decided
from tests.support.recorded_runs import Act, page, record

PAGE = page((20, 10, "STATEMENTS"), (20, 380, "Ready"))
EDITOR, LOG, OTHER = Box(20, 60, 600, 100), Box(20, 180, 600, 60), Box(20, 260, 600, 60)
INSIDE, RING = Point(300, 110), Box(24, 64, 21, 21)


def editors(*, others: int = 0) -> Tree:
    """Return a page with an editor, a log that accepts no text, and further editors. No field has a name."""
    tree = Tree()
    area = tree.add("panel", "Execute SQL", Box(0, 50, 720, 300), tree.window)
    editor = tree.add("text field", "", EDITOR, area, "editable")
    tree.add("panel", "", Box(22, 62, 596, 96), editor)
    tree.add("text field", "", LOG, area, "read only")
    for _ in range(others):
        tree.add("text field", "", OTHER, area, "editable")
    return tree


def facts_at(tree: Tree, at: Point) -> dict[str, str]:
    hit = pressed_at(tree.tree, at)
    assert hit is not None
    return anchors_of(tree.tree, hit, lambda element: element)


def test_the_only_field_of_a_container_is_a_target(tmp_path: Path) -> None:
    facts = facts_at(editors(), INSIDE)
    assert (facts["role"], facts["within"], facts["alike"]) == ("text field", "Execute SQL", "1")
    act = Act(PAGE, at=INSIDE, element=facts)
    trace = record(tmp_path, "one", "Enter AB-1207.", [act], page((20, 10, "DONE")), "done")
    playbook, _, text = compiled(tmp_path, trace, params=("number=AB-1207",))
    assert "click: {within: Execute SQL, role: text field}" in text
    call = decided(playbook, "CD-3391", PAGE, editors()).step["tool_call"]
    assert (call["tool_name"], call["x"] * 720 // 1000, call["y"] * 420 // 1000) == ("click", 320, 110)
    assert decided(playbook, "CD-3391", PAGE, editors(others=1)).step["tool_call"]["tool_name"] == "wait", "two fields"


@pytest.mark.parametrize(("others", "at"), [(1, INSIDE), (0, Point(300, 200))])
def test_one_of_two_fields_and_a_field_that_accepts_no_text_are_no_targets(others: int, at: Point) -> None:
    facts = facts_at(editors(others=others), at)
    assert facts["role"] == "text field"
    assert "within" not in facts
    assert "alike" not in facts


@pytest.mark.parametrize(("name", "role"), [("AdwGizmo", "text field"), ("Suggestions", "panel")])
def test_an_area_with_the_name_of_its_class_is_a_part_of_its_field(name: str, role: str) -> None:
    tree = Tree()
    field = tree.add("text field", "Name", EDITOR, tree.window, "editable")
    tree.add("panel", name, Box(22, 62, 596, 96), field)
    assert facts_at(tree, INSIDE)["role"] == role


def test_a_named_part_of_a_field_is_pressed_itself() -> None:
    tree = editors()
    tree.add("label", "insert", Box(30, 70, 60, 20), 2)
    hit = pressed_at(tree.tree, Point(40, 80))
    assert hit is not None
    assert hit.role == "label"


def test_only_labels_near_a_field_are_looked_up_in_the_whole_page(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree()
    for number in range(40):
        word = "".join("abcdefghij"[int(digit)] for digit in f"{number:02}")
        tree.add("label", f"Label {word}", Box(7 * number, 10, 6, 8), tree.window)
    tree.add("label", "Amount", Box(200, 355, 80, 20), tree.window)
    for top in (380, 420):
        tree.add("text field", "", Box(300, top, 80, 20), tree.window, "editable")
    asked: list[str] = []
    is_label = element_anchors._is_label
    monkeypatch.setattr(element_anchors, "_is_label", lambda *of: asked.append(of[1].name) or is_label(*of))
    facts = facts_at(tree, Point(310, 390))
    assert (facts["below"], facts["place"]) == ("Amount", "1 of 2")
    assert {*asked} == {"Amount"}


def drawn(*, words: str = "", ring: Box = RING, others: int = 0) -> Tree:
    """Return a radio button over which a page draws a ring, as Angular Material does."""
    tree = Tree()
    area = tree.add("section", "", Box(20, 60, 120, 41), tree.window)
    for _ in range(1 + others):
        tree.add("radio button", "Courier", Box(20, 60, 41, 41), area)
    tree.add("section", words, ring, area)
    return tree


def test_a_press_on_the_drawing_of_a_radio_button_is_one_on_the_button() -> None:
    assert facts_at(drawn(), Point(34, 74))["role"] == "radio button"


@pytest.mark.parametrize(
    ("tree", "across"),
    [
        pytest.param(drawn(words="Costs 5 euros"), 34, id="an area with words"),
        pytest.param(drawn(ring=Box(24, 64, 90, 21)), 80, id="an area beyond the button"),
        pytest.param(drawn(others=1), 34, id="two buttons"),
    ],
)
def test_a_press_on_another_area_is_on_no_radio_button(tree: Tree, across: int) -> None:
    assert facts_at(tree, Point(across, 74))["role"] == "section"


@pytest.mark.parametrize("value", ["", "2026-12-14"])
def test_a_part_of_a_page_that_is_named_by_its_texts_describes_no_field(value: str) -> None:
    """Chromium names the cell of a form so, and the next item may have another value in it."""
    tree = Tree()
    for place, label in enumerate(("Due date", "Amount")):
        tree.add("label", label, Box(20, 60 + 40 * place, 80, 20), tree.window)
    tree.add("text field", "Amount", Box(120, 98, 120, 24), tree.window, "editable")
    cell = tree.add("section", f"{value} (YYYY-MM-DD)".strip(), Box(120, 56, 300, 28), tree.window)
    field = tree.add("text field", "", Box(120, 58, 120, 24), cell, "editable")
    tree.elements[field] = replace(tree.elements[field], value=value)
    tree.add("label", "(YYYY-MM-DD)", Box(250, 60, 90, 20), cell)
    facts = facts_at(tree, Point(140, 70))
    assert (facts.get("right_of"), facts.get("within")) == ("Due date", None)


def letter(text: str = "", *states: str, frame: str = "internal frame") -> Tree:
    """Return a letter whose body is a document in a frame, as Thunderbird and the text editors of pages report it."""
    tree = Tree()
    above = tree.add(frame, "Message body", EDITOR, tree.window)
    body = tree.add("document", "Message body", EDITOR, above, *states)
    if text:
        tree.add("label", text, Box(24, 64, 200, 20), body)
    return tree


def test_the_empty_document_of_an_editor_is_a_target(tmp_path: Path) -> None:
    facts = facts_at(letter("", "editable"), INSIDE)
    acts = [Act(PAGE, at=INSIDE, element=facts), Act(PAGE, write="Two boxes are missing.", element=facts)]
    trace = record(tmp_path, "letter", "Write the letter.", acts, page((20, 10, "SENT")), "done")
    _, _, text = compiled(tmp_path, trace, params=("text=Two boxes are missing.",))
    assert "click: {role: document, name: Message body}" in text
    assert "write: {text: '{text}'" in text


@pytest.mark.parametrize(
    "tree",
    [
        letter("Regards, the office", "editable"),  # a press there means a place in the text
        letter(),
        letter("", "editable", frame="scroll pane"),  # the pages of a word processor
    ],
)
def test_a_document_with_contents_or_outside_of_a_frame_is_an_area(tmp_path: Path, tree: Tree) -> None:
    hit = next(each for each in tree.tree.elements if each.role == "document")
    act = Act(PAGE, at=INSIDE, element=anchors_of(tree.tree, hit, lambda element: element))
    trace = record(tmp_path, "area", "Write the letter.", [act, Act(PAGE, write="Hello")], PAGE, "done")
    _, _, text = compiled(tmp_path, trace, params=("text=Hello",))
    assert "role: document" not in text
