"""A click whose element was not read in time goes to the field that got the text after it, but not one elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.core.screen.geometry import Box, Point
from tests.compiler.test_compile import calls, compiled, decisions
from tests.support.recorded_runs import Act, Page, page, record

EMPTY = page((20, 10, "Order"), (20, 60, "Way 1"), (300, 60, "Town"))
FILLED = page((20, 10, "Order"), (20, 60, "Lane 5"), (300, 60, "Town"))
STREET = {"role": "text field", "name": "Street", "within": "Delivery", "alike": "1"}
CELL = {"role": "cell", "name": "B7", "alike": "1"}
LABEL = {"role": "label", "name": "Street:", "alike": "1"}
IN_FIELD, TYPED, SCREEN = Point(180, 70), Box(20, 60, 80, 18), Box(0, 0, 720, 420)
NEW = {"role": "label", "name": "New", "alike": "1"}
LINK = page((20, 10, "Order"), (20, 60, "Way 1"), (300, 60, "Town"), (400, 300, "New"))
EMPTIED = page((20, 10, "Order"), (300, 60, "Town"), (400, 300, "New"))
IN_DELIVERY = "- click: {within: Delivery, role: text field, name: Street}"


def made(
    folder: Path,
    clicked: dict[str, str],
    typed: dict[str, str],
    at: Point = IN_FIELD,
    pages: tuple[Page, Page] = (EMPTY, EMPTY),
    boxes: tuple[Box | None, Box | None] = (None, TYPED),
) -> str:
    acts = [
        Act(pages[0], at=at, element=clicked, changed=boxes[0]),
        Act(pages[1], write="Lane 5", element=typed, changed=boxes[1]),
    ]
    trace = record(folder, "one", "Enter it. Answer done.", acts, FILLED, "done")
    return compiled(folder, trace)[2]


@pytest.mark.parametrize(
    ("clicked", "field"),
    [
        pytest.param({}, STREET, id="not read"),
        pytest.param(LABEL, STREET, id="its name"),
        pytest.param(LABEL, {**STREET, "right_of": "Street"}, id="its label"),
    ],
)
def test_the_field_that_got_the_text_is_the_target(
    tmp_path: Path, clicked: dict[str, str], field: dict[str, str]
) -> None:
    assert "name: Street}" in made(tmp_path, clicked, field)


@pytest.mark.parametrize("clicked", [NEW, {}], ids=["label", "not read"])
def test_a_link_that_puts_the_keyboard_into_a_field_is_pressed(tmp_path: Path, clicked: dict[str, str]) -> None:
    text = made(tmp_path, clicked, STREET, Point(410, 310), (LINK, EMPTIED), (TYPED, TYPED))
    assert "name: Street" not in text
    assert "New" in text


@pytest.mark.parametrize(
    ("boxes", "is_field"),
    [
        pytest.param((Box(22, 60, 2, 18), SCREEN), True, id="Enter changes the screen"),
        pytest.param((SCREEN, TYPED), False, id="the click opens something"),
        pytest.param((Box(20, 200, 200, 18), TYPED), False, id="the click changes another row"),
        pytest.param((None, None), False, id="nothing seen"),
    ],
)
def test_an_unread_click_changes_the_row_of_its_field_only(
    tmp_path: Path, boxes: tuple[Box | None, Box | None], is_field: bool
) -> None:
    assert ("name: Street}" in made(tmp_path, {}, STREET, boxes=boxes)) is is_field


def test_words_beside_a_field_are_pressed(tmp_path: Path) -> None:
    """The click was in the row of the field, and on other words than its label."""
    text = made(tmp_path, {}, STREET, Point(310, 70))
    assert "name: Street" not in text
    assert "Town" in text


def test_the_label_of_a_field_is_no_other_control(tmp_path: Path) -> None:
    assert "name: Town}" in made(tmp_path, {}, {**STREET, "name": "Town"}, Point(310, 70))


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


@pytest.mark.parametrize("gap", [1, 4, 12])
def test_a_label_joined_to_the_text_of_its_field_is_found_for_another_text(tmp_path: Path, gap: int) -> None:
    def form(amount: str) -> Page:
        return page((20, 10, "ORDER RECORD"), (22 - gap, 62, "Amount"), (20, 300, "Store"), fields=[(84, 60, amount)])

    steps = [
        Act(form("10.00"), at=Point(120, 72)),
        Act(form("10.00"), write="48.25"),
        Act(form("48.25"), click="Store"),
    ]
    trace = record(tmp_path, "joined", "Enter the amount, and store it.", steps, page((20, 10, "ALL STORED")), "done")
    playbook, _, text = compiled(tmp_path, trace, params=("amount=48.25",))
    assert "field: Amount}" in text
    pages = [form("977.20"), form("977.20"), form("7.95")]
    assert calls(decisions(playbook, {"amount": "7.95"}, *pages)) == ["click", "write", "click"]
