"""A label with a value of the item keeps the end of a longer name, and no icon that OCR took for a letter."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.compiler.marks import is_label
from holo_tasks.compiler.step_list import StepsBuilder
from holo_tasks.compiler.steps import _may_be
from holo_tasks.compiler.targets import is_of_item, templated
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.vision.screen_text import Line, Sight
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, page, record


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Draft of order now", "Draft of {file}*"),
        ("Draft of order", "Draft of {file}"),
        ("Draft of order.txt now", "Draft of {file}.txt*"),
        ("Draft of order.txt", "Draft of {file}.txt"),
        ("Draft of order. Saved", "Draft of {file}*"),
        ("X Draft of order", "*Draft of {file}"),
        ("My draft of order", "My draft of {file}"),
    ],
)
def test_the_label_of_an_item_is_as_the_next_item_has_it(text: str, label: str) -> None:
    builder: Any = SimpleNamespace(_private=[])
    line = Line(text, Box(0, 0, 200, 20))
    assert StepsBuilder._label_of_item(builder, line, {"file": "order"}) == label


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Job J-2002 saved as entry 7.", "Job {number} saved as entry 7."),
        ("Job j-2002 saved as entry 7.", "Job {number} saved as entry 7."),
        ("Job J-2003 saved as entry 7.", "Job J-2003 saved as entry 7."),
        ("Open jobs are open", "Open jobs are {state}"),
        ("a1 is not A1", "a1 is not {place}"),
    ],
)
def test_a_key_is_found_in_a_text_if_ocr_misread_its_capital(text: str, said: str) -> None:
    assert templated(text, {"number": "J-2002", "state": "open", "place": "A1"}) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Line 120", "Line 120"),
        ("Line 312", "Line 312"),
        ("Ref 120261", "Ref 120261"),
        ("Total 12.50", "Total 12.50"),
        ("Total 0,12", "Total 0,12"),
        ("Total 12,000.00", "Total 12,000.00"),
        ("Line 12", "Line {line}"),
        ("Line 12.", "Line {line}."),
        ("R-12/2026", "R-{line}/{year}"),
        ("12.11.2026", "{line}.11.{year}"),
        ("A12 in 2026", "A{line} in {year}"),
        ("Due 2026.12", "Due 2026.12"),
        ("2026.11.12", "{year}.11.{line}"),
        ("12, 14", "{line}, 14"),
        ("Sum 1,284.50", "Sum 1,284.50"),
        ("Sum 284.50", "Sum {sum}"),
    ],
)
def test_a_value_is_no_part_of_a_longer_number(text: str, said: str) -> None:
    assert templated(text, {"line": "12", "year": "2026", "sum": "284.50"}) == said


@pytest.mark.parametrize(
    ("text", "is_of"),
    [
        ("Berg Sh... olduser", True),
        ("Berg Sh…", True),
        ("Cedar M... olduser", False),
        ("Be...", False),
        ("Print...", False),
        ("Berg", False),
    ],
)
def test_a_value_that_a_narrow_column_cut_off_is_of_the_item(text: str, is_of: bool) -> None:
    """A press on such a text would open the recorded item for every other one."""
    assert is_of_item(text, ["Berg Shop"]) is is_of


@pytest.mark.parametrize(
    ("text", "may_be"), [("Berg Sh... olduser", True), ("Berg Shop", True), ("Cedar M... olduser", False)]
)
def test_a_name_that_a_narrow_column_cut_off_is_still_that_of_its_element(text: str, may_be: bool) -> None:
    assert _may_be(text, "Berg Shop") is may_be


def test_a_row_with_a_name_that_was_cut_off_is_no_label() -> None:
    line = Line("Cedar ... olduser", Box(0, 0, 200, 20))
    assert not is_label(line, Sight([line], Size(400, 300)), {}, [])


@pytest.mark.parametrize(
    ("role", "press_once", "by_model"), [("button", ["New..."], False), ("cell", [], True)], ids=["a button", "a cell"]
)
def test_a_button_with_an_ellipsis_is_no_beginning_of_a_value(
    tmp_path: Path, role: str, press_once: list[str], by_model: bool
) -> None:
    """A cell with these words may show the beginning of the recorded item's city."""
    jobs = page((20, 10, "ALL JOBS"), (20, 200, "New..."))
    form = page((20, 10, "THE JOB"), (20, 100, "New York"), (20, 300, "Save"))
    new = Act(jobs, click="New...", element={"role": role, "name": "New...", "alike": "1", "dialogs": "0"})
    steps, end = [new, Act(form, click="Save")], page((20, 10, "ALL JOBS"), (20, 380, "Job is saved"))
    trace = record(tmp_path, "ellipsis", "Add a job in New York.", steps, end, "done", press_once=press_once)
    _, _, text = compiled(tmp_path, trace, params=("city=New York",))
    assert ("its target is a value of the recorded item" in text) is by_model
