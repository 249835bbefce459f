"""A person's statements about a recording: names of parameters, and texts that never change."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from holo_tasks.compiler.answers import RecordedAnswer, answer_of
from holo_tasks.compiler.compile import _once
from holo_tasks.compiler.parameters import Parameters, parameters_of
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.steps import actions_of
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Line, Sight, matches

SIZE = Size(640, 400)
TYPED = Parameters({"name": "text", "currency": "text"}, ({"name": "Baker Ltd", "currency": "GBP"},))


def line(text: str, left: int, top: int) -> Line:
    return Line(text, Box(left, top, 8 * len(text), 16))


def sight(*lines: Line, fields: tuple[Box, ...] = ()) -> Sight:
    return Sight(lines, SIZE, fields)


def picture(name: str) -> Picture:
    return Picture(name, Box.whole(SIZE), SIZE)


def test_parameters_are_renamed_and_constant_texts_dropped() -> None:
    named = TYPED.renamed({"name": "supplier", "currency": ""})
    assert named == Parameters({"supplier": "text"}, ({"supplier": "Baker Ltd"},))
    with pytest.raises(InvalidUsage, match="'A b' is not a valid parameter name"):
        TYPED.renamed({"name": "A b"})
    with pytest.raises(InvalidUsage, match="cannot have one name"):
        TYPED.renamed({"name": "same", "currency": "same"})


def test_a_parameter_name_is_asked_for_only_once() -> None:
    asked: list[Mapping[str, Value]] = []

    def ask(values: Mapping[str, Value]) -> Mapping[str, str]:
        asked.append(values)
        return {name: name.upper() for name in values}

    once = _once(ask)
    assert once({"name": "Baker Ltd"}) == once({"name": "Baker Ltd"}) == {"name": "NAME"}
    assert once({"name": "Baker Ltd", "city": "Leeds"}) == {"name": "NAME", "city": "CITY"}
    assert asked == [{"name": "Baker Ltd"}, {"city": "Leeds"}]


def test_an_empty_answer_compiles_to_an_empty_answer() -> None:
    found = answer_of([RecordedAnswer("", sight(line("SAVED", 10, 10)), {})])
    assert (found.content, found.reads, found.unread) == ("", {}, ())


def test_a_field_reached_by_keys_is_named_after_its_label() -> None:
    city = Box(120, 78, 200, 24)
    after = sight(line("City", 20, 82), line("Leeds", 126, 82), fields=(city,))
    step = RecordedStep(1, "write", {"content": "Leeds"}, "", picture("before"), picture("after"))
    one = Recording("runs/1", "0" * 64, "add", "add", {}, (step,), "", picture("after"))
    seen = {"before": ReadPicture(picture("before"), sight()), "after": ReadPicture(picture("after"), after)}
    assert parameters_of([one], seen).values == ({"city": "Leeds"},)


def test_a_text_selected_by_dragging_is_refused() -> None:
    shown = sight(line("Comment", 20, 82), fields=(Box(120, 78, 200, 24),))
    told = picture("before")
    step = RecordedStep(4, "drag_and_drop", {}, "", told, told, (Point(130, 90), Point(220, 90)))
    with pytest.raises(InvalidUsage, match="Step 4 drags inside the field Comment"):
        actions_of(step, shown, {})


def test_a_light_button_is_identified_by_its_text_and_not_by_a_label_nearby() -> None:
    field, button = Box(120, 78, 200, 24), Box(60, 120, 80, 30)
    shown = sight(line("Password", 20, 82), line("Save", 84, 127), fields=(field, button))
    pressed = target_at(button.center, shown, {})
    assert pressed is not None
    assert (pressed.text, pressed.field) == ("Save", None)
    filled = sight(line("Name", 20, 82), line("Baker", 200, 82), fields=(field,))
    named = target_at(field.center, filled, {})
    assert named is not None
    assert named.field == "Name"


def test_a_capital_i_and_a_small_l_look_alike() -> None:
    assert matches("Ulm", "UIm")
    assert matches("Illinois", "lllinois")
    assert not matches("Tin", "Tln")
