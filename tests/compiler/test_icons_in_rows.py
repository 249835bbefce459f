"""Icons of rows are found by a picture and the item's key in their row, and options that are a value by that value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holo_tasks.compiler.steps import name_with_parameters
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.playbook import ListStep
from holo_tasks.scripts.rules import find
from holo_tasks.vision.outlines import icon_left_of
from holo_tasks.vision.picture_targets import with_pictures
from holo_tasks.vision.screen_text import Line, Sight
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, Page, page, record, sight_of

ROWS = {"adler.txt": 70, "berg.txt": 130, "cedar.txt": 190}
DONE = page((20, 10, "STAGED FILES"), (20, 60, "One file is staged"))


def files(*, left: int, icons: bool = True) -> Page:
    """Return a list of files, with an icon this far left of each name."""
    listed = page((20, 10, "CHANGED FILES"), *((120, top, name) for name, top in ROWS.items()))
    return replace(listed, icons=tuple((120 - left, top - 8) for top in ROWS.values()) if icons else ())


@pytest.mark.parametrize(
    ("left", "at", "is_icon"),
    [
        pytest.param(42, Point(98, 140), True, id="an icon beside the name"),
        pytest.param(80, Point(58, 140), True, id="an icon far from the name"),
        pytest.param(42, Point(140, 140), False, id="the name"),
        pytest.param(80, Point(108, 140), False, id="the empty place left of the name"),
    ],
)
def test_an_icon_of_a_row_is_found_by_its_picture_in_the_row(
    tmp_path: Path, left: int, at: Point, is_icon: bool
) -> None:
    listed = files(left=left)
    trace = record(tmp_path, "icons", "Stage berg.txt.", [Act(listed, at=at)], DONE, "done")
    playbook, _, text = compiled(tmp_path, trace, params=("file=berg.txt",))
    assert ("picture: " in text and "row: '{file}'" in text) is is_icon, text
    assert "by_model" not in text
    first = playbook.goals["look-up"].steps[0]
    assert isinstance(first, ListStep)
    target = first.click
    assert target is not None
    for name, top in ROWS.items():
        pressed = find(target, {"file": name}, with_pictures(sight_of(listed), listed.picture)).center
        column = Box(120 - left, top - 8, 36, 36) if is_icon else Box(120, top, 80, 20)
        assert column.grown(2).contains(pressed), name
    bare = files(left=left, icons=False)
    if is_icon:
        with pytest.raises(NotFound):
            find(target, {"file": "cedar.txt"}, with_pictures(sight_of(bare), bare.picture))


def test_the_row_above_or_below_is_no_target_of_a_press_at_the_height_of_a_row_that_is_there_twice() -> None:
    tops = (("Open", 60), ("Paid", 80), ("Open", 100))
    twice = Sight([Line(text, Box(40, top, 60, 18)) for text, top in tops], Size(640, 400))
    assert target_at(Point(50, 75), twice, {}, typed=False) is None
    between = Sight([Line("Paid", Box(40, 80, 60, 18))], Size(640, 400))
    near = target_at(Point(50, 75), between, {}, typed=False)
    assert near is not None
    assert near.text == "Paid"


@pytest.mark.parametrize(("height", "found"), [(14, Box(90, 62, 14, 14)), (3, None)])
def test_an_icon_has_a_size_and_ends_before_the_next_one(height: int, found: Box | None) -> None:
    pixels = np.full((200, 300, 3), 255, np.uint8)
    for left, top in ((60, 62), (90, 62), (90, 78)):
        pixels[top : top + height, left : left + 14] = (0, 0, 90)
    icon = icon_left_of(pixels, 96, Box(110, 58, 90, 24))
    assert (icon is None) is (found is None)
    assert icon is None or found is None or (icon.contains(found.center) and abs(icon.height - 14) < 3)


@pytest.mark.parametrize(
    ("name", "target"), [("Rose", "'{room}'"), ("ROSE", "'{room}'"), ("Rose, two beds", "'*{room}*'")]
)
def test_an_option_that_is_the_value_alone_is_no_pattern_that_a_longer_option_matches(
    tmp_path: Path, name: str, target: str
) -> None:
    options = page((20, 10, "BOOK A ROOM"), (120, 70, name), (120, 110, "Tulip"))
    option = {"role": "list item", "name": name, "alike": "1", "application": "Rooms"}
    acts = [Act(options, at=Point(130, 80), element=option)]
    trace = record(tmp_path, "option", "Book the room Rose.", acts, DONE, "done")
    _, _, text = compiled(tmp_path, trace, params=("room=Rose",))
    assert f"role: list item, name: {target}" in text, text


@pytest.mark.parametrize(
    ("role", "values", "named"),
    [
        pytest.param("list item", {"room": "Rose"}, "{room}", id="an option"),
        pytest.param("button", {"room": "Rose"}, "rose", id="a caption"),
        pytest.param("list item", {"room": "Rose", "guest": "ROSE"}, "rose", id="two values"),
        pytest.param("list item", {"room": "Roses"}, "rose", id="another value"),
    ],
)
def test_only_an_option_is_one_value_in_other_case(role: str, values: dict[str, str], named: str) -> None:
    assert name_with_parameters(role, "rose", values) == named
