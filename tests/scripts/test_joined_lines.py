"""A value in a line is read although OCR reads that line in several pieces."""

from __future__ import annotations

import pytest

from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.playbook import Read
from holo_tasks.scripts.values import read_values
from holo_tasks.vision.screen_text import Line, Sight
from tests.support.elements import tree_of

BUTTON = Line("Save changes", Box(22, 498, 99, 28))
MESSAGE = Read.model_validate({"line": r"(Save ?changes ?\d+ ?rows ?saved)", "as": "text"})


@pytest.mark.parametrize(
    ("left", "text", "value"),
    [(119, "1 rows saved", "Save changes 1 rows saved"), (300, "1 rows saved", None), (119, "1 rows lost", None)],
    ids=["beside it", "far from it", "another text"],
)
def test_pieces_of_a_line_are_joined_if_they_are_neighbors(left: int, text: str, value: str | None) -> None:
    sight = Sight([BUTTON, Line(text, Box(left, 499, 101, 24))], Size(1280, 800))
    found = read_values({"message": MESSAGE}, sight, {})
    assert (None if found is None else found["message"]) == value


@pytest.mark.parametrize(
    ("texts", "value"),
    [(["Total:", "12"], 12), (["Total:", "1", "234"], None), (["Sub", "Total:", "12"], None)],
    ids=["a label and its number", "a number in two pieces", "the end of another label"],
)
def test_a_part_of_a_phrase_is_no_value(texts: list[str], value: int | None) -> None:
    lines = [Line(text, Box(10 + 50 * place, 100, 40, 16)) for place, text in enumerate(texts)]
    wanted = Read.model_validate({"line": r"Total: ?(\d+)", "as": "int"})
    found = read_values({"total": wanted}, Sight(lines, Size(640, 480)), {})
    assert (None if found is None else found["total"]) == value


@pytest.mark.parametrize(
    ("read", "value"),
    [
        ("Order 5 was changed successfu1ly.", "Order 5 was changed successfully."),
        ("Order 5 has changed successfully.", None),
        ("Order 5 was changed successully.", "Order 5 was changed successfully."),
        ("Order 6 was changed successully.", None),
        ("Order 5 was not changed successfully.", None),
        ("", None),
    ],
    ids=["alike", "another letter", "a letter is missing", "another number", "another word", "nothing there"],
)
def test_a_message_that_ocr_misread_is_taken_from_the_program(read: str, value: str | None) -> None:
    place = Box(300, 100, 240, 18)
    tree = tree_of(("label", "Order 5 was changed successfully.", place))
    wanted = Read.model_validate({"line": r"(Order ?\d+ ?was ?changed ?successfully\.)"})
    lines = [Line(read, place)] if read and value else []
    sight = Sight(lines, Size(640, 480), elements=tree, written=lambda box: read if box == place else "")
    found = read_values({"message": wanted}, sight, {})
    assert (None if found is None else found["message"]) == value
