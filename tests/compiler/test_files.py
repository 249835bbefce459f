"""A file that was chosen or saved in a file dialog becomes a parameter with its name as the value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.params import Kind
from tests.compiler.test_compile import compiled
from tests.compiler.test_rows_and_dialogs import Tree, decided
from tests.support.recorded_runs import Act, Page, page, record

NAMES = ["letter-0417.pdf", "photo.png", "invoice-2210.pdf"]
GOAL = "Attach the letter."


def shown(*names: str, said: str = "", title: str = "Open File", more: str = "") -> Page:
    """Return a page with a list of files in a dialog."""
    texts = [(20, 10, "MESSAGES"), (220, 90, title), *((220, 130 + 30 * at, name) for at, name in enumerate(names))]
    return page(*texts, *([(20, 390, said)] if said else []), *([(220, 250, more)] if more else []))


def dialog(*names: str, role: str = "file chooser", field: str = "") -> Tree:
    """Return a tree with a file dialog or with another dialog."""
    tree = Tree()
    over = tree.add(role, "Open File", Box(200, 80, 400, 300), tree.window)
    rows = tree.add("table", "", Box(210, 120, 380, 200), over)
    for at, name in enumerate(names):
        tree.add("cell", name, Box(220, 130 + 30 * at, 200, 20), rows)
    if field:
        tree.add("text field", field, Box(300, 330, 200, 22), over)
    return tree


def attached(home: Path, tree: Tree, name: str) -> tuple[dict[str, Kind], str]:
    """Return the parameters and the text of a playbook made of one press in a list."""
    act = Act(shown(*NAMES), click=name, element=tree.facts("cell", name))
    trace = record(home, "one", GOAL, [act], page((20, 10, "MESSAGES"), (20, 390, "File attached")), "File attached")
    playbook, _, text = compiled(home, trace)
    return dict(playbook.goals["look-up"].params), text


@pytest.mark.parametrize("tree", [dialog(*NAMES), dialog(*NAMES, role="dialog", field="File name:")], ids=["GTK", "Qt"])
def test_the_file_that_was_chosen_is_a_parameter_and_another_one_is_chosen_for_another_item(
    tmp_path: Path, tree: Tree
) -> None:
    parameters, text = attached(tmp_path, tree, NAMES[0])
    assert parameters == {"file": "text"}, text
    assert NAMES[0] not in text
    assert "name: '{file}'" in text


def test_a_file_that_is_not_in_the_dialog_stops_the_playbook(tmp_path: Path) -> None:
    act = Act(shown(*NAMES), click=NAMES[0], element=dialog(*NAMES).facts("cell", NAMES[0]))
    last = page((20, 10, "MESSAGES"), (20, 390, "File attached"))
    playbook, _, _ = compiled(tmp_path, record(tmp_path, "one", GOAL, [act], last, "File attached"))
    chosen = decided(playbook, NAMES[2], shown(*NAMES), dialog(*NAMES), name="file")
    assert chosen.step["tool_call"]["element"].startswith(NAMES[2])
    assert decided(playbook, "other.pdf", shown(*NAMES), dialog(*NAMES), name="file").action is None


def test_a_name_with_a_dot_outside_file_dialogs_is_a_label(tmp_path: Path) -> None:
    parameters, text = attached(tmp_path, dialog(*NAMES, role="dialog"), NAMES[0])
    assert not parameters, text
    act = Act(shown("Documents"), click="Documents", element=dialog("Documents").facts("cell", "Documents"))
    last = page((20, 10, "MESSAGES"), (20, 390, "File attached"))
    playbook, _, _ = compiled(tmp_path, record(tmp_path, "two", GOAL, [act], last, "File attached"))
    assert not playbook.goals["look-up"].params, "a folder is no file"


def test_without_elements_the_dialog_is_known_by_its_texts(tmp_path: Path) -> None:
    one = replace(shown(*NAMES), texts={**shown(*NAMES).texts, (220, 300): "Cancel", (320, 300): "Other Locations"})
    last = page((20, 10, "MESSAGES"), (20, 390, "File attached"))
    trace = record(tmp_path, "one", GOAL, [Act(one, click=NAMES[0])], last, "File attached")
    playbook, _, text = compiled(tmp_path, trace)
    assert playbook.goals["look-up"].params == {"file": "text"}, text


def test_a_name_that_was_typed_in_a_file_dialog_is_the_file(tmp_path: Path) -> None:
    tree = dialog(*NAMES, field="File name:")
    facts = tree.facts("text field", "File name:")
    one = replace(shown(*NAMES, more="File name:"), fields={(320, 245): ""})
    typed = replace(one, fields={(320, 245): "report-17.pdf"})
    acts = [Act(one, click="File name:", element=facts), Act(one, write="report-17.pdf", element=facts)]
    last = page((20, 10, "MESSAGES"), (20, 390, "File saved"))
    enter = Act(typed, click="Open File", element={"role": "button", "name": "Save", "alike": "1"})
    playbook, _, text = compiled(tmp_path, record(tmp_path, "one", "Save it.", [*acts, enter], last, "File saved"))
    assert playbook.goals["look-up"].params == {"file": "text"}, text
