"""A row with a color of its own, in a program without elements, is pressed by its text and not by the row above it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from holo_tasks.compiler.parameters import parameters_of
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.vision.screen_text import Line, Sight

SIZE = Size(640, 400)
ROW = Box(20, 98, 500, 24)
AT = Point(50, 110)


def line(text: str, left: int, top: int) -> Line:
    return Line(text, Box(left, top, 8 * len(text), 16))


def listed() -> Sight:
    """Return a list of which the second row is shaded."""
    rows = [("Adler Portal", "user0"), ("Berg Bank", "user1"), ("Cedar Mail", "user2")]
    cells = [
        line(text, left, 80 + 22 * n) for n, row in enumerate(rows) for text, left in zip(row, (24, 260), strict=True)
    ]
    return Sight(cells, SIZE, colored_fields=(ROW,))


@pytest.mark.parametrize(("values", "text"), [({}, "Berg Bank"), ({"title": "Berg Bank"}, "{title}")])
def test_a_shaded_row_is_pressed_by_its_text(values: Mapping[str, str], text: str) -> None:
    target = target_at(AT, listed(), values, typed=False)
    assert target is not None
    assert (target.text, target.field) == (text, None)


def test_a_shaded_row_with_one_column_is_pressed_by_the_value_of_the_item() -> None:
    shown = Sight((line("Adler Portal", 24, 80), line("Berg Bank", 24, 102)), SIZE, colored_fields=(ROW,))
    target = target_at(AT, shown, {"title": "Berg Bank"}, typed=False)
    assert target is not None
    assert target.text == "{title}"


def test_a_field_with_a_label_on_its_left_stays_a_field() -> None:
    field = Box(120, 98, 400, 24)
    shown = Sight((line("Amount", 20, 102), line("12.50", 126, 102), line("kg", 490, 102)), SIZE, (field,))
    for typed in (False, True):
        target = target_at(Point(140, 110), shown, {}, typed=typed)
        assert target is not None
        assert target.field == "Amount"


def test_a_field_below_its_label_stays_a_field() -> None:
    shown = Sight((line("Address", 24, 80), line("12 Main", 24, 102), line("Street", 90, 102)), SIZE, (ROW,))
    target = target_at(AT, shown, {}, typed=False)
    assert target is not None
    assert target.field == "Address"


def recording(at: Point) -> tuple[Recording, dict[str, ReadPicture]]:
    told = Picture("before", Box.whole(SIZE), SIZE)
    step = RecordedStep(1, "double_click", {"element": "the field user0"}, "", told, told, (at,))
    one = Recording("runs/1", "0" * 64, "work", "work", {}, (step,), "", told)
    return one, {"before": ReadPicture(told, listed())}


def test_a_value_that_was_written_where_a_person_pressed_is_a_parameter() -> None:
    one, seen = recording(AT)
    assert parameters_of([one], seen, [("title", "Berg Bank")]).values == ({"title": "Berg Bank"},)


def test_a_value_elsewhere_on_the_screen_is_refused() -> None:
    one, seen = recording(Point(50, 88))
    with pytest.raises(InvalidUsage, match="No run contains the value"):
        parameters_of([one], seen, [("title", "Berg Bank")])
