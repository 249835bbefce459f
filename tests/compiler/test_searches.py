"""A value that was searched for by keys must be on the screen; a value that was entered need not."""

from __future__ import annotations

import pytest

from holo_tasks.compiler.recording import Picture, RecordedStep
from holo_tasks.compiler.searches import searched_value
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.params import Kind
from holo_tasks.vision.screen_text import Line, Sight

SIZE = Size(400, 300)
KINDS: dict[str, Kind] = {"article": "text", "stock": "int"}
VALUES = {"article": "Tables", "stock": 81}


def stock(*rows: str) -> Sight:
    return Sight(tuple(Line(text, Box(20, 20 + 20 * n, 80, 16)) for n, text in enumerate(rows)), SIZE)


def searched(content: str, before: Sight, after: Sight, role: str = "") -> list[str]:
    told = Picture("one", Box.whole(SIZE), SIZE)
    arguments = {"content": content, "press_enter": True}
    element = {"role": role} if role else {}
    step = RecordedStep(1, "write", arguments, "", told, told, element=element)
    return searched_value(step, [(before, after, VALUES)], KINDS)


LIST = stock("Chairs", "Tables", "Lamps")


@pytest.mark.parametrize(("content", "role"), [("Tables", ""), ("/Tables", ""), ("Tables", "terminal")])
def test_a_row_that_was_searched_by_keys_is_required(content: str, role: str) -> None:
    assert searched(content, LIST, LIST, role) == ["{article}"]


def test_a_value_that_was_entered_is_not_required() -> None:
    assert searched("Tables", stock("Chairs"), LIST) == [], "the value is new on the screen"
    assert searched("Tables", LIST, stock("Tables")) == [], "the row is gone"
    assert searched("Tables", LIST, LIST, "text field") == [], "the field is known"
    assert searched("order of Tables", LIST, LIST) == []
    assert searched("81", stock("81"), stock("81")) == [], "a number may be on the screen by chance"
