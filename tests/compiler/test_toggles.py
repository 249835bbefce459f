"""A press that may have set a check box is left to the model if the program did not report its element in time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.compiler.recording import Picture, RecordedStep
from holo_tasks.compiler.toggles import may_toggle
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.playbook import ListStep
from holo_tasks.scripts.rules import find
from holo_tasks.vision.picture_targets import with_pictures
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, Page, page, record, sight_of

FORM = page((20, 10, "ORDER FORM"), (40, 70, "Urgent"), (200, 200, "Store"))
OTHER = page((20, 10, "ORDER FORM"), (40, 70, "Urgent"), (40, 120, "Choose a carrier"), (200, 200, "Store"))
STORE = {"role": "button", "name": "Store", "alike": "1", "application": "Orders"}


@pytest.mark.parametrize(
    ("after", "element", "is_left"),
    [
        pytest.param(FORM, STORE, True, id="no text changed"),
        pytest.param(OTHER, STORE, False, id="a text came"),
        pytest.param(FORM, {}, False, id="no element is ever reported"),
    ],
)
def test_a_press_without_its_element_may_toggle(
    tmp_path: Path, after: Page, element: dict[str, str], is_left: bool
) -> None:
    done = page((20, 10, "ORDER IS STORED"))
    acts = [Act(FORM, at=Point(50, 80)), Act(after, at=Point(210, 210), element=element)]
    _, _, text = compiled(tmp_path, record(tmp_path, "toggle", "Store it as urgent.", acts, done, "done"))
    assert ("it may be a check box" in text) is is_left, text


@pytest.mark.parametrize(
    ("role", "changed", "may"),
    [
        pytest.param("label", Box(20, 72, 14, 14), True, id="a small sign beside words"),
        pytest.param("label", Box(20, 72, 200, 90), False, id="a larger change"),
        pytest.param("label", None, False, id="no change"),
        pytest.param("button", Box(20, 72, 14, 14), False, id="a control"),
    ],
)
def test_words_may_set_a_box_that_is_not_reported(role: str, changed: Box | None, may: bool) -> None:
    shown = Picture("0" * 64, Box(0, 0, 640, 400), Size(640, 400))
    element = {"role": role, "name": "Urgent"}
    pressed = RecordedStep(
        1, "click", {"element": "Urgent"}, "", shown, shown, (Point(50, 80),), element=element, changed=changed
    )
    assert may_toggle(pressed, None, (), {}) is may


TICK = {
    "role": "cell",
    "name": "",
    "image": "yes",
    "cell 1": "T-702",
    "column": "Checked",
    "in_row": "1",
    "dialogs": "0",
}


@pytest.mark.parametrize(
    ("facts", "after", "dialogs", "is_left"),
    [
        pytest.param({}, "T-702", "0", True, id="an image alone in its cell"),
        pytest.param({"image": ""}, "T-702", "0", False, id="a cell with a text"),
        pytest.param({}, "T-702", "1", False, id="a dialog opened"),
        pytest.param({}, "One article", "0", False, id="its row is gone"),
    ],
)
def test_an_image_in_a_cell_may_be_a_tick(
    tmp_path: Path, facts: dict[str, str], after: str, dialogs: str, is_left: bool
) -> None:
    """The next item may be ticked already. A text such as *1 change* below the list does not show that."""
    rows = page((20, 10, "STOCK LIST"), (20, 60, "T-702"), (200, 60, "x"), (20, 300, "Store"))
    ticked = page((20, 10, "STOCK LIST"), (20, 60, after), (20, 300, "Store"), (200, 300, "There is one change"))
    element = {name: text for name, text in {**TICK, **facts}.items() if text or name == "name"}
    store = STORE | {"dialogs": dialogs}
    acts = [Act(rows, at=Point(205, 70), element=element), Act(ticked, click="Store", element=store)]
    trace = record(tmp_path, "tick", "Tick T-702 and store it.", acts, page((20, 10, "ORDER IS STORED")), "done")
    _, _, text = compiled(tmp_path, trace, params=("number=T-702",))
    assert ("it may be a check box" in text) is is_left, text


FIND = {"role": "toggle button", "name": "Find", "alike": "1", "application": "Notes", "checked": "no"}
SEARCH = {"role": "text field", "name": "Search", "alike": "1", "application": "Notes", "empty": "yes"}


@pytest.mark.parametrize("element", [SEARCH, {}], ids=["the field is reported", "no element is reported"])
def test_typing_after_a_toggle_is_compiled(tmp_path: Path, element: dict[str, str]) -> None:
    """The button *Find* of Gnote opens a field that has the keyboard at once. The state of the button is required."""
    closed, opened = page((20, 10, "NOTES"), (400, 10, "Find")), page((20, 10, "NOTES"), (400, 10, "Find"))
    found = page((20, 10, "NOTES"), (400, 10, "Find"), (20, 100, "Found: Berg"))
    acts = [Act(closed, click="Find", element=FIND), Act(opened, write="Berg", element=element)]
    trace = record(tmp_path, "find", "Find this note. Answer done.", acts, found, "done")
    playbook, _, text = compiled(tmp_path, trace, params=("note=Berg",))
    typing = playbook.goals["look-up"].steps[1]
    assert "checked: true" in text
    assert typing.write is not None, text
    assert (typing.focus is not None) is bool(element), text


@pytest.mark.parametrize("is_other", [True, False], ids=["another sign after it", "the same sign after it"])
def test_a_press_on_a_sign_is_repeated_where_the_sign_is_shown(tmp_path: Path, is_other: bool) -> None:
    """A row that is ticked already does not show the sign, so the playbook stops there."""
    listed = page(
        (20, 10, "STOCK LIST"), (400, 10, "Checked"), (20, 60, "T-701"), (20, 140, "T-702"), (20, 300, "Store")
    )
    rows = replace(listed, icons=((410, 60), (410, 140)))
    ticked = replace(listed, icons=((410, 60),) if is_other else rows.icons)
    store = STORE | {"dialogs": "0"}
    set_sign = Act(rows, at=Point(428, 158), element=TICK, changed=Box(410, 140, 36, 36))
    acts = [set_sign, Act(ticked, click="Store", element=store)]
    trace = record(tmp_path, "tick", "Tick T-702 and store it.", acts, page((20, 10, "ORDER IS STORED")), "done")
    playbook, _, text = compiled(tmp_path, trace, params=("number=T-702",))
    assert ("it may be a check box" in text) is not is_other, text
    if not is_other:
        return
    first = playbook.goals["look-up"].steps[0]
    assert isinstance(first, ListStep)
    assert first.click is not None
    assert (first.click.row, first.click.column) == ("{number}", "Checked")
    for number, top in (("T-701", 60), ("T-702", 140)):
        found = find(first.click, {"number": number}, with_pictures(sight_of(rows), rows.picture))
        assert Box(410, top, 36, 36).grown(2).contains(found.center)
    with pytest.raises(NotFound):
        find(first.click, {"number": "T-702"}, with_pictures(sight_of(ticked), ticked.picture))


@pytest.mark.parametrize(
    ("facts", "condition"),
    [
        pytest.param(
            {"name": "", "right_of": "Urgent"}, "{role: check box, right_of: Urgent, checked: true}", id="by its label"
        ),
        pytest.param(
            {"name": "Select", "alike": "2", "cell 1": "T-702", "in_row": "1"},
            "{role: check box, name: Select, row: '{number}', checked: true}",
            id="by its row",
        ),
        pytest.param({"name": "Urgent", "alike": "2"}, "", id="by words that another one has"),
    ],
)
def test_a_check_box_without_a_name_is_not_set_back(tmp_path: Path, facts: dict[str, str], condition: str) -> None:
    """The next item may have it checked already. Then the press is left out."""
    form = page((20, 10, "ORDER FORM"), (20, 70, "Urgent"), (20, 120, "T-702"), (200, 200, "Store"))
    element = {"role": "check box", "checked": "no", "application": "Orders", **facts}
    at = Point(110, 130) if "cell 1" in facts else Point(40, 80)
    acts = [Act(form, at=at, element=element), Act(form, click="Store", element=STORE)]
    trace = record(tmp_path, "box", "Mark T-702 as urgent.", acts, page((20, 10, "ORDER IS STORED")), "done")
    _, _, text = compiled(tmp_path, trace, params=("number=T-702",))
    assert condition in text, text
    assert ("a second press sets it back" in text) is (not condition), text
