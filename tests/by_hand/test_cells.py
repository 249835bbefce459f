"""Text typed into an empty table cell is recorded without overwriting; in an empty field of a form, with it."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from holo_tasks.audit.recorder import now
from holo_tasks.by_hand.step_collector import HandStep, InputStart, RecordedScreen
from holo_tasks.by_hand.typed_secrets import into_empty
from holo_tasks.core.elements.elements import SHOWING, Element, ElementTree
from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.vision.ocr_reader import Reader

SIZE = Size(800, 600)
LEFT, TOP, WIDE, HIGH = 100, 200, 120, 24


def screen(columns: int, rows: int, *elements: Element) -> RecordedScreen:
    """Return a screen with cells, each joined to the next, with two columns of separate fields above them."""
    picture = Image.new("RGB", (SIZE.width, SIZE.height), "#e8e8e8")
    draw = ImageDraw.Draw(picture)
    for row in range(rows):
        for column in range(columns):
            left, top = LEFT + column * WIDE, TOP + row * HIGH
            draw.rectangle((left, top, left + WIDE, top + HIGH), fill="white", outline="#808080")
    for top in (40, 90):
        for left in (LEFT, LEFT + 200):
            draw.rectangle((left, top, left + 150, top + 28), fill="white", outline="#404040")
    return RecordedScreen.of(Frame(picture.tobytes(), SIZE, ":0"), ElementTree(elements), 0, now())


def replaced(before: RecordedScreen, at: Point) -> bool:
    steps = [
        HandStep(number, act, InputStart(0.0, now(), 0, before, False))
        for number, act in enumerate((Click(at), Write("7")), 1)
    ]
    write = into_empty(steps, Reader())[1].gesture
    assert isinstance(write, Write)
    return write.overwrite


CELL, FIELD = Point(LEFT + WIDE + 60, TOP + 3 * HIGH + 12), Point(LEFT + 60, 54)
CORNER = Point(LEFT + 60, TOP + 12)


@pytest.mark.parametrize("at", [CELL, CORNER])
def test_an_empty_cell_between_cells_is_not_overwritten(at):
    assert not replaced(screen(4, 8), at)


@pytest.mark.parametrize(("columns", "rows"), [(4, 8), (0, 0)])
def test_an_empty_field_of_a_form_is_overwritten(columns, rows):
    assert replaced(screen(columns, rows), FIELD)


def test_a_field_with_another_joined_to_it_is_overwritten():
    assert replaced(screen(2, 1), CORNER)  # like a field with a button, or the parts of a date
    assert replaced(screen(1, 4), CORNER)


@pytest.mark.parametrize(
    ("role", "states", "overwrites"),
    [("cell", (), False), ("table", ("editable",), False), ("text field", ("editable",), True)],
)
def test_the_role_in_the_accessibility_tree_decides_if_there_is_one(role, states, overwrites):
    whole = Element(0, "window", "", frozenset({SHOWING}), Box(0, 0, 800, 600), -1, "app", 1)
    box = Box(LEFT, TOP, WIDE, HIGH)
    told = Element(1, role, "", frozenset({SHOWING, *states}), box, 0, "app", 1)
    assert replaced(screen(4, 8, whole, told), CORNER) == overwrites
    alone = Element(1, role, "", frozenset({SHOWING, *states}), Box(LEFT, 40, 150, 28), 0, "app", 1)
    assert replaced(screen(0, 0, whole, alone), FIELD) == overwrites
