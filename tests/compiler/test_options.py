"""An option that the item's step presses does not count as the effect of another step. Neither does the mark before
it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.core.screen.geometry import Point
from holo_tasks.scripts.playbook import ListStep
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, page, record

LIST = page((20, 10, "ALL JOBS"), (20, 60, "Open"), (20, 380, "Ready"))
GOAL = "Set the priority high, and save the job."


@pytest.mark.parametrize(
    ("row", "at", "required"),
    [
        ("Priority LowNormal High", Point(190, 110), ""),
        ("Priority is High", Point(30, 310), "Priority is {priority}"),
    ],
    ids=["an option that a later step presses", "a text that no step presses"],
)
def test_a_row_of_options_is_no_effect(tmp_path: Path, row: str, at: Point, required: str) -> None:
    """OCR joins options to a text such as ``LowNormal{priority}``, which no other item has."""
    form = page((20, 100, row), (20, 300, "High"), (20, 340, "Save"))
    saved = page((20, 10, "ALL JOBS"), (20, 60, "Open"), (20, 380, "Job is saved"))
    radio = {"role": "radio button", "name": "High", "alike": "1", "checked": "no", "dialogs": "0"}
    steps = [
        Act(LIST, click="Open"),
        Act(form, click="High", at=at, element=radio),
        Act(form, click="Save"),
    ]
    trace = record(tmp_path, "options", GOAL, steps, saved, "done")
    _, _, text = compiled(tmp_path, trace, params=("priority=High",))
    first = text.partition("steps:")[2].partition("radio button")[0]
    assert ("{priority}" in first) is bool(required)
    assert required in first


@pytest.mark.parametrize("element", [{}, {"role": "link", "name": "Anna Berg", "alike": "1", "dialogs": "0"}])
def test_a_heading_that_a_later_step_presses_names_the_item(tmp_path: Path, element: dict[str, str]) -> None:
    """Without it, the form of another customer would be approved."""
    customers = page((20, 10, "ALL CUSTOMERS"), (20, 100, "Anna Berg"))
    form = page((20, 10, "CUSTOMER"), (20, 60, "Anna Berg"), (20, 200, "Approve"))
    approved = page((20, 10, "CUSTOMER"), (20, 60, "Anna Berg"), (20, 160, "Approved now"))
    steps = [Act(customers, click="Anna Berg"), Act(form, click="Approve")]
    steps += [Act(approved, click="Anna Berg", element=element)]
    trace = record(tmp_path, "heading", "Approve Anna Berg.", steps, page((20, 380, "Customer is approved")), "done")
    _, _, text = compiled(tmp_path, trace, params=("name=Anna Berg",))
    assert "- before: '{name}'\n        click: {text: Approve" in text


@pytest.mark.parametrize(("option", "required"), [("O Low", False), ("My Low", True)])
def test_a_text_with_the_mark_of_an_option_is_no_effect(tmp_path: Path, option: str, required: bool) -> None:
    """OCR reads the circle of the chosen option in another way."""
    form = page((20, 100, option), (20, 300, "Save"))
    steps = [Act(LIST, click="Open"), Act(form, click="Save")]
    trace = record(tmp_path, "marks", GOAL, steps, page((20, 10, "ALL JOBS"), (20, 380, "Job is saved")), "done")
    _, _, text = compiled(tmp_path, trace)
    assert (option in text) is required


@pytest.mark.parametrize(("head", "required"), [("Number J-2002", False), ("THE RECORD", True)])
def test_of_one_run_the_label_of_the_item_is_enough_of_an_effect(tmp_path: Path, head: str, required: bool) -> None:
    """A text below it may be a remark of the recorded item. Without a label of the item, new texts show the effect."""
    jobs = page((20, 10, "ALL JOBS"), (20, 60, "J-2002"), (20, 200, "Open"), (20, 300, "Save"))
    form = page((20, 10, head), (20, 100, "Call back soon"), (20, 300, "Save"))
    steps = [Act(jobs, click="J-2002"), Act(jobs, click="Open"), Act(form, click="Save")]
    trace = record(tmp_path, "remark", GOAL, steps, page((20, 380, "Job is saved")), "done")
    _, _, text = compiled(tmp_path, trace, params=("number=J-2002",))
    assert ("Number {number}" in text) is not required
    assert ("after: THE RECORD" in text or "Call back soon" in text) is required, text


@pytest.mark.parametrize(
    ("element", "step"),
    [
        ({"role": "cell", "name": "Berg Shop", "alike": "1", "in_row": "1", "dialogs": "0"}, "name: '{title}'"),
        ({}, "by_model: Click "),
    ],
    ids=["a cell", "a program without elements"],
)
def test_a_row_whose_name_is_cut_off_is_not_pressed_for_another_item(
    tmp_path: Path, element: dict[str, str], step: str
) -> None:
    """OCR joins the cut-off name to the next column."""
    texts = (20, 10, "ALL ENTRIES"), (20, 60, "Find"), (20, 150, "Berg Sh... olduser"), (20, 300, "Close")
    table, asked = (page(*texts, fields=[(120, 60, text)]) for text in ("", "Berg Shop"))
    find = [Act(table, click="Find"), Act(table, write="Berg Shop")]
    steps = [*find, Act(asked, click="Berg Sh... olduser", element=element)]
    last = page((20, 10, "ONE ENTRY"), (20, 100, "Title Berg Shop"), (20, 300, "Ready"))
    trace = record(tmp_path, "cut", "Open the entry.", steps, last, "done")
    _, _, text = compiled(tmp_path, trace, params=("title=Berg Shop",))
    assert "Berg Sh" not in text
    assert step in text, text


COMBO = {"role": "combo box", "name": "State", "alike": "1", "dialogs": "0"}
OPTION = {"role": "menu item", "alike": "1", "dialogs": "0"}


@pytest.mark.parametrize(
    ("name", "facts", "shown", "effect"),
    [
        pytest.param("in work", {"chosen_in": "State"}, "in work", True, id="a value"),
        pytest.param("In Work", {"chosen_in": "State"}, "In Work", True, id="a value in other case"),
        pytest.param("in work", {"chosen_in": "State"}, "Actions", False, id="a list of commands"),
        pytest.param("in work", {"chosen_in": "Kind"}, "in work", False, id="another combo box"),
        pytest.param("in work", {}, "in work", False, id="a box without a value"),
    ],
)
def test_the_effect_of_an_option_is_the_value_of_its_combo_box(
    tmp_path: Path, name: str, facts: dict[str, str], shown: str, effect: bool
) -> None:
    """OCR reads the arrow of the box as a letter, as in ``waiting for partsv``."""
    form, chosen = (page((20, 10, "ONE JOB"), (20, 60, f"State {text}"), (20, 300, "Save")) for text in ("open", shown))
    listed = page((20, 10, "ONE JOB"), (20, 60, "State open"), (80, 100, name), (80, 130, "closed"), (20, 300, "Save"))
    steps = [
        Act(form, click="State open", element=COMBO),
        Act(listed, click=name, element={**OPTION, "name": name, **facts}),
        Act(chosen, click="Save"),
    ]
    last = page((20, 10, "ONE JOB"), (20, 380, "Job is saved"))
    trace = record(tmp_path, "select", "Set the state to ‘in work’, and save the job.", steps, last, "done")
    playbook, _, text = compiled(tmp_path, trace, params=("state=in work",))
    first, option, *_ = playbook.goals["look-up"].steps
    assert first.click is not None
    assert (first.click.role, first.click.name) == ("combo box", "State")
    assert option.click is not None, text
    assert (option.click.role, option.click.name) == ("menu item", "{state}")
    assert ("{role: combo box, name: State, holds: '{state}'}" in text) is effect, text
    assert not effect or "State {state}" not in text


@pytest.mark.parametrize("again", [True, False])
def test_a_typed_value_is_required_after_the_open_list_that_may_cover_it(tmp_path: Path, again: bool) -> None:
    """Where the list opens depends on the window. Without a later step that requires the value, it is required now."""
    head, save = (20, 10, "NEW VISIT"), (20, 300, "Save")
    form = page(head, (20, 60, "Hours"), (20, 140, "Kind"), save)
    typed = page(head, (20, 60, "Hours"), (20, 140, "Kind"), save)
    listed = page((20, 10, "CHOOSE"), (20, 60, "J-25"), (80, 180, "Repair"), (80, 210, "Service"))
    chosen = page(head, (20, 60, "J-25" if again else "Hours"), (20, 140, "Repair now"), save)
    steps = [
        Act(form, click="Hours"),
        Act(form, write="J-25"),
        Act(typed, click="Kind"),
        Act(listed, click="Repair", element={"role": "list item", "name": "Repair", "alike": "1", "dialogs": "0"}),
        Act(chosen, click="Save"),
    ]
    trace = record(tmp_path, "covered", "Book a visit.", steps, page((20, 380, "The visit is booked")), "done")
    playbook, _, text = compiled(tmp_path, trace, params=("hours=J-25",))
    option, save_it = (one for one in playbook.goals["look-up"].steps[3:5] if isinstance(one, ListStep))
    assert "{hours}" in repr(save_it.before if again else option.before), text
    assert ("{hours}" in repr(option.before)) is not again, text
