"""A button without a name in the cell of the item's key is found by its row, and never by the words next to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.scripts.element_search import AmbiguousTarget, NotFound, find_element
from holo_tasks.scripts.playbook import ListStep
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Sight
from tests.compiler.test_compile import compiled
from tests.support.element_trees import element, tree_of, window
from tests.support.recorded_runs import Act, page, record, sight_of

ON = ("enabled", "sensitive")
PARTS = (("P-3101", "bolt M6"), ("P-3102", "bolt M8"), ("P-3107", "washer"))


def listed(parts: Sequence[tuple[str, str]] = PARTS, *, icons: int = 1, whole: bool = True) -> ElementTree:
    """Return a table of parts with icons next to the number, as a page tells it: ``whole`` cells have their text."""
    found: list[Element] = [window(Box(0, 0, 720, 420)), element("table", "", Box(16, 60, 451, 240), *ON)]
    for place, (number, part) in enumerate(parts):
        top, row = 100 + 48 * place, len(found)
        found.append(element("row", "", Box(16, top, 451, 48), *ON, parent=1))
        name = number if whole else f"{number} edit"
        found.append(element("cell", name, Box(16, top, 108, 48), *ON, parent=row))
        if not whole:
            found.append(element("label", number, Box(16, top + 16, 44, 17), *ON, parent=row + 1))
        for icon in range(icons):
            found.append(element("button", "", Box(76 + 34 * icon, top + 8, 32, 32), *ON, parent=row + 1))
        found.append(element("cell", part, Box(200, top, 80, 48), *ON, parent=row))
    return tree_of(*found)


def facts(tree: ElementTree, place: int) -> dict[str, str]:
    return anchors_of(tree, tree.find("button")[place], lambda each: each)


def pressed(tree: ElementTree, number: str) -> Box:
    target = Target(role="button", row=number)
    sight = Sight((), sight_of(page()).size, elements=tree, disagrees=lambda each, also: "")
    found = find_element(target, target.relations, sight)
    assert found is not None
    return found.box


@pytest.mark.parametrize("whole", [True, False])
def test_the_button_is_found_in_the_row_of_the_next_key(tmp_path: Path, whole: bool) -> None:
    """The number in the search field above is the same, so a press on the number would have two places."""
    tree = listed(whole=whole)
    shown = page((20, 20, "P-3102"), (20, 108, "P-3101"), (20, 156, "P-3102"), (20, 204, "P-3107"))
    act = Act(shown, at=Point(92, 172), element=facts(tree, 1))
    trace = record(tmp_path, "icon", "Open the part P-3102.", [act], page((20, 20, "Part P-3102 is open")), "done")
    playbook, _, text = compiled(tmp_path, trace, params=("number=P-3102",))
    step = playbook.goals["look-up"].steps[0]
    assert isinstance(step, ListStep)
    assert step.click == Target(role="button", row="{number}"), text
    again = listed([*reversed(PARTS)], whole=whole)
    assert pressed(again, "P-3101").top == 100 + 2 * 48 + 8
    with pytest.raises(NotFound):
        pressed(again, "P-310")


def test_one_of_two_buttons_without_names_is_not_found_by_the_row_alone() -> None:
    """Another button may delete the part."""
    tree = listed(icons=2)
    assert facts(tree, 2)["in_row"] == "2"
    with pytest.raises(AmbiguousTarget):
        pressed(tree, "P-3102")


def test_a_button_with_the_text_of_its_cell_has_no_other_words_in_it() -> None:
    """The cell of a link or button often has the same name, and nothing else."""
    tree = tree_of(
        window(Box(0, 0, 720, 420)),
        element("table", "", Box(16, 60, 451, 240), *ON),
        element("row", "", Box(16, 100, 451, 48), *ON, parent=1),
        element("cell", "Open", Box(16, 100, 108, 48), *ON, parent=2),
        element("button", "Open", Box(16, 100, 108, 48), *ON, parent=3),
        element("cell", "bolt M8", Box(200, 100, 80, 48), *ON, parent=2),
    )
    told = facts(tree, 0)
    assert (told["cell 1"], "cell 2" in told) == ("bolt M8", False)
