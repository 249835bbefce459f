"""A click whose element was not read in time goes to the field that got the text after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.core.screen.geometry import Point
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, page, record

EMPTY = page((20, 10, "Order"), (20, 60, "Way 1"), (300, 60, "Town"))
FILLED = page((20, 10, "Order"), (20, 60, "Lane 5"), (300, 60, "Town"))
STREET = {"role": "text field", "name": "Street", "within": "Delivery", "alike": "1"}
CELL = {"role": "cell", "name": "B7", "alike": "1"}
LABEL = {"role": "label", "name": "Road", "alike": "1"}
IN_DELIVERY = "- click: {within: Delivery, role: text field, name: Street}"


def made(folder: Path, clicked: dict[str, str], typed: dict[str, str]) -> str:
    acts = [Act(EMPTY, at=Point(60, 70), element=clicked), Act(EMPTY, write="Lane 5", element=typed)]
    trace = record(folder, "one", "Enter it. Answer done.", acts, FILLED, "done")
    return compiled(folder, trace)[2]


@pytest.mark.parametrize("clicked", [{}, LABEL], ids=["not read", "label"])
def test_the_field_that_got_the_text_is_the_target(tmp_path: Path, clicked: dict[str, str]) -> None:
    assert IN_DELIVERY in made(tmp_path, clicked, STREET)


@pytest.mark.parametrize(
    ("clicked", "typed"),
    [
        pytest.param(CELL, STREET, id="a cell opens its editor"),
        pytest.param({}, CELL, id="no field"),
        pytest.param({}, {}, id="nothing read"),
        pytest.param({"role": "button", "name": "Search", "alike": "1"}, STREET, id="a button"),
    ],
)
def test_other_clicks_keep_their_target(tmp_path: Path, clicked: dict[str, str], typed: dict[str, str]) -> None:
    assert IN_DELIVERY not in made(tmp_path, clicked, typed)
