"""The cell of a value in a table of labels and values is found by its label, and a cell of a list is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from tests.compiler.test_compile import compiled
from tests.compiler.test_rows_and_dialogs import Tree
from tests.support.recorded_runs import Act, page, record, sight_of

SHOWN = page((20, 10, "TAGS"))
TAGS = (("Title", "Fruit"), ("Artist", ""), ("Album", "Cold rooms"))


def tags(rows: tuple[tuple[str, ...], ...] = TAGS, heading: str = "") -> Tree:
    """Return a table without rows in its tree, as Qt reports it."""
    tree = Tree()
    table = tree.add("table", "", Box(0, 60, 720, 320), tree.window)
    for column, words in enumerate(heading.split("|")):
        if words:
            tree.add("column header", words, Box(20 + 140 * column, 70, 130, 20), table)
    for place, texts in enumerate(rows):
        for column, text in enumerate(texts):
            tree.add("cell", text, Box(20 + 140 * column, 100 + 30 * place, 130, 24), table)
    return tree


def facts_of(tree: Tree, place: int) -> dict[str, str]:
    cell = tree.tree.find("cell")[place]
    return anchors_of(tree.tree, cell, lambda element: element)


@pytest.mark.parametrize(("place", "label"), [(3, "Artist"), (5, "Album")])
def test_the_cell_of_a_value_is_found_by_its_label(tmp_path: Path, place: int, label: str) -> None:
    cell = tags().tree.find("cell")[place]
    acts = [Act(SHOWN, at=cell.box.center, element=facts_of(tags(), place)), Act(SHOWN, write="Bruno Berg")]
    trace = record(tmp_path, label, "Enter Bruno Berg.", acts, page((20, 10, "SAVED IT")), "done")
    playbook, _, text = compiled(tmp_path, trace, params=("artist=Bruno Berg",))
    target = playbook.goals["look-up"].steps[0].click
    assert target == Target(role="cell", right_of=label), text
    other = replace(sight_of(SHOWN), elements=tags((("Artist", "Ada"), ("Date", ""), ("Album", "Woods"))).tree)
    assert find(target, {}, other).top == (100 if label == "Artist" else 160)
    twice = replace(sight_of(SHOWN), elements=tags((*TAGS, ("Artist", ""), ("Album", ""))).tree)
    with pytest.raises(NotFound):
        find(target, {}, twice)


def test_the_value_of_a_form_that_is_only_pressed_keeps_its_name() -> None:
    facts = facts_of(tags(), 5)
    assert (facts["name"], facts["alike"], facts["right_of"]) == ("Cold rooms", "1", "Album")


@pytest.mark.parametrize(
    ("rows", "heading"),
    [
        (TAGS, "|Remark"),
        (TAGS, "Name|Value"),
        (TAGS, "Property|Remark"),
        ((("Adler", "", "Bonn"), ("Berg", "", "Hamburg")), "Property|Value|Town"),
        ((("Adler", "Bonn", ""), ("Berg", "Hamburg", "")), ""),
        ((("AB-1207", ""), ("CD-3391", "")), ""),
        ((("Adler", "2026"), ("Adler", "")), ""),
        ((("Adler", ""),), ""),
    ],
)
def test_the_text_in_the_row_of_a_list_is_no_label(rows: tuple[tuple[str, ...], ...], heading: str) -> None:
    tree = tags(rows, heading)
    assert not any("in_form" in facts_of(tree, place) for place in range(len(tree.tree.find("cell"))))


@pytest.mark.parametrize("heading", ["Property|Value", "Eigenschaft|Wert"])
def test_the_value_of_a_property_is_found_by_the_property(heading: str) -> None:
    tree = tags((("Size", "4"), ("Tip", ""), ("Name", "Berg")), heading)
    assert facts_of(tree, 3) == {**facts_of(tree, 3), "in_form": "yes", "right_of": "Tip"}
    assert "in_form" not in facts_of(tags((("Tip", "4"), ("Tip", "")), heading), 3), "a property that is there twice"
    target, other = Target(role="cell", right_of="Tip"), tags((("Tip", "Bill"), ("Size", "7")), heading)
    assert find(target, {}, replace(sight_of(SHOWN), elements=other.tree)).top == 100


def with_list(tree: Tree, chosen: str = "Fruit") -> Tree:
    """Put a combo box into the cell next to *Title*. It is named by its option and the sign that removes the option."""
    cell = tree.tree.find("cell")[1]
    combo = tree.add("combo box", "× Fruit", cell.box, cell.id)
    tree.add("text field", chosen, cell.box, combo)
    tree.elements[-1] = replace(tree.elements[-1], states=tree.elements[-1].states | {"read only"})
    return tree


def facts_of_list(tree: Tree) -> dict[str, str]:
    (combo,) = tree.tree.find("combo box")
    return anchors_of(tree.tree, combo, lambda element: element)


def test_a_list_that_is_named_by_its_option_is_found_by_the_label_in_its_form(tmp_path: Path) -> None:
    tree = with_list(tags())
    facts = facts_of_list(tree)
    assert (facts["named_by_value"], facts["right_of"]) == ("yes", "Title")
    acts = [Act(SHOWN, at=tree.tree.find("combo box")[0].box.center, element=facts)]
    trace = record(tmp_path, "list", "Open the list.", acts, page((20, 10, "OPENED IT")), "done")
    playbook, _, text = compiled(tmp_path, trace)
    assert playbook.goals["look-up"].steps[0].click == Target(role="combo box", right_of="Title"), text


@pytest.mark.parametrize(
    "tree",
    [
        with_list(tags(), chosen="Another"),
        with_list(tags((("Adler", "Fruit", "1"), ("Baker", "Fruit", "2")))),
        with_list(tags((("Adler", "Fruit"), ("Baker", "Fruit")), heading="Customer|Tag")),
    ],
    ids=["its own name", "a list of items", "a list with a heading"],
)
def test_a_list_elsewhere_has_no_label_of_a_form(tree: Tree) -> None:
    assert "right_of" not in facts_of_list(tree)
