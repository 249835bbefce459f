"""An option is found below the field that has its words, and need not be in view before its step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.compiler.recording import Picture, RecordedStep
from holo_tasks.compiler.steps import target_of
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Line, Sight
from tests.compiler.test_compile import compiled
from tests.support.elements import tree_of
from tests.support.recorded_runs import Act, page, record

SIZE = Size(640, 400)
VALUES = {"owner": "Ada Winter"}
OPTION = Target(text="{owner}", below="{owner}")


def sight(*lines: tuple[str, int, int]) -> Sight:
    return Sight(tuple(Line(text, Box(left, top, 8 * len(text), 16)) for text, left, top in lines), SIZE)


def test_an_option_below_the_field_with_its_words_is_described_by_that_text() -> None:
    shown = sight(("Status", 40, 10), ("A", 400, 60), ("Ada Winter", 40, 60), ("Ada Winter", 44, 110))
    assert target_at(Point(60, 118), shown, VALUES) == OPTION


def test_the_only_text_and_the_upper_one_of_two_are_described_as_before() -> None:
    assert target_at(Point(60, 118), sight(("Ada Winter", 44, 110)), VALUES) == Target(text="{owner}")
    shown = sight(("Owner", 40, 10), ("Ada Winter", 40, 60), ("Ada Winter", 44, 110))
    assert target_at(Point(60, 68), shown, VALUES) == Target(text="{owner}", below="Owner")


@pytest.mark.parametrize(("icon", "found"), [("A", None), ("Draft", Target(text="Edit", below="Draft"))])
def test_an_icon_that_ocr_took_for_one_letter_is_no_neighbor(icon: str, found: Target | None) -> None:
    shown = sight((icon, 400, 60), ("Edit", 40, 110), ("Edit", 40, 210))
    assert target_at(Point(50, 118), shown, VALUES) == found


def test_a_neighbor_of_one_character_counts_if_it_is_a_value() -> None:
    shown = sight(("7", 40, 110), ("Edit", 90, 110), ("8", 40, 210), ("Edit", 90, 210))
    assert target_at(Point(100, 118), shown, {"number": "7"}) == Target(text="Edit", right_of="{number}")


def test_the_lower_one_of_exactly_two_texts_in_a_column_is_pressed() -> None:
    assert find(OPTION, VALUES, sight(("Ada Winter", 40, 60), ("Ada Winter", 44, 110))).top == 110
    assert find(OPTION, VALUES, sight(("Ada Winter", 40, 20), ("Ada Winter", 44, 226))).top == 226, "a long list"


@pytest.mark.parametrize(
    "shown",
    [
        sight(("Ada Winter", 40, 60)),
        sight(("Ada Winter", 40, 60), ("Ada Winters", 44, 110)),
        sight(("Ada Winter", 40, 60), ("Ada Winter", 300, 110)),
        sight(("Ada Winter", 40, 60), ("Ada Winter", 44, 110), ("Ada Winter", 44, 300)),
        sight(("Ada Winter", 40, 20), ("Ada Winter", 44, 230)),
    ],
    ids=["no option", "a longer option", "in another column", "three", "a row of a table far below"],
)
def test_no_option_is_pressed_if_another_text_may_be_meant(shown: Sight) -> None:
    with pytest.raises(NotFound):
        find(OPTION, VALUES, shown)


@pytest.mark.parametrize(("owner", "is_required"), [("Ada Winter", False), ("AB-1207", True)])
def test_an_option_need_not_be_in_view_before_it_is_typed_or_pressed(
    tmp_path: Path, owner: str, is_required: bool
) -> None:
    form = page((20, 10, "TICKET OF THE YEAR"), (20, 60, "Owner"))
    listed = page((20, 10, "TICKET OF THE YEAR"), (20, 60, "Owner"), (300, 120, "Jon Summer"), (300, 160, owner))
    acts = [Act(form, click="Owner"), Act(listed, click=owner)]
    goal = "Choose it.\n\n" + quoted({"owner": owner})
    trace = record(tmp_path, "one", goal, acts, page((20, 10, "STORED IT WELL")), "")
    playbook, _, text = compiled(tmp_path, trace)
    step = playbook.goals["look-up"].steps[1]
    assert step.click is not None
    assert step.click.text == "{owner}"
    assert ("{owner}" in str(step.before)) is is_required, text


ROW = Box(40, 100, 400, 32)


@pytest.mark.parametrize(
    ("text", "row", "told"),
    [
        (("label", "Ada Winter", Box(44, 106, 80, 20)), ROW, "Ada Winter"),
        (("section", "Ada Winter", ROW), ROW, "Ada Winter"),
        (("label", "Ada Winter", Box(44, 206, 80, 20)), ROW, ""),
        (("label", "Ada Winter", Box(44, 106, 80, 20)), Box(40, 100, 400, 200), ""),
    ],
    ids=["a text in it", "a name around it", "a text elsewhere", "a large area"],
)
def test_the_only_text_of_an_area_of_one_row_is_told(text: tuple[str, str, Box], row: Box, told: str) -> None:
    """A web page may draw an option as an area, and a person may press right of its words."""
    pressed, other = tree_of(("section", "", row), text).elements[1:]
    is_around = other.box == row
    first, second = (other, pressed) if is_around else (pressed, other)
    inside = is_around or row.contains(other.box.center)
    parts = [replace(first, id=1, parent=0), replace(second, id=2, parent=1 if inside else 0)]
    tree = replace(tree_of(), elements=(*tree_of().elements, *parts))
    facts = anchors_of(tree, parts[1 if is_around else 0], lambda element: element)
    assert facts.get("area_text", "") == told


def test_an_area_with_two_texts_tells_none() -> None:
    tree = tree_of(
        ("section", "", ROW), ("label", "Save", Box(44, 106, 60, 20)), ("label", "Cancel", Box(200, 106, 60, 20))
    )
    window, area, *texts = tree.elements
    tree = replace(tree, elements=(window, area, *(replace(each, parent=area.id) for each in texts)))
    assert "area_text" not in anchors_of(tree, area, lambda element: element)


@pytest.mark.parametrize(("told", "found"), [("Ada Winter", Target(text="{owner}")), ("", None), ("Bo Hall", None)])
def test_an_option_that_was_pressed_beside_its_words_is_found_by_them(told: str, found: Target | None) -> None:
    shown, seen = sight(("Owner", 40, 10), ("Ada Winter", 44, 110)), Picture("one", Box.whole(SIZE), SIZE)
    element = {"role": "section", "name": "", **({"area_text": told} if told else {})}
    step = RecordedStep(1, "click", {"button": "left"}, "", seen, seen, (Point(300, 118),), element=element)
    assert target_of(step, 0, shown, VALUES) == found


@pytest.mark.parametrize(("top", "found"), [(88, Target(text="Due")), (50, None)])
def test_a_field_that_was_pressed_below_its_label_is_found_by_it(top: int, found: Target | None) -> None:
    """The label of a filled field is at the upper edge of its area. A text far above it is another one."""
    shown, seen = sight(("Due", 44, top), ("2026-12-01", 44, 112)), Picture("one", Box.whole(SIZE), SIZE)
    element = {"role": "section", "name": "", "area_text": "Due"}
    step = RecordedStep(1, "click", {"button": "left"}, "", seen, seen, (Point(300, 112),), element=element)
    assert target_of(step, 0, shown, {}) == found


@pytest.mark.parametrize(
    ("place", "found"), [(Point(330, 118), Target(text="{owner}")), (Point(500, 118), Target(text="Weight"))]
)
def test_an_option_over_another_field_is_not_described_by_the_label_of_this_field(place: Point, found: Target) -> None:
    """The page draws its list over the areas of the fields below, and publishes no options."""
    shown, seen = sight(("Weight", 44, 110), ("Ada Winter", 300, 110)), Picture("one", Box.whole(SIZE), SIZE)
    element = {"role": "section", "name": "", "area_text": "Weight"}
    step = RecordedStep(1, "click", {"button": "left"}, "", seen, seen, (place,), element=element)
    assert target_of(step, 0, shown, VALUES) == found


@pytest.mark.parametrize(("role", "found"), [("notification", False), ("button", True)])
def test_an_area_that_was_pressed_is_not_found_by_its_label(role: str, found: bool) -> None:
    """The program had not reported the option in time, and the area below it is another place."""
    shown, seen = sight(("Rows:", 44, 10)), Picture("one", Box.whole(SIZE), SIZE)
    element = {"role": role, "name": "", "below": "Rows:"}
    step = RecordedStep(1, "click", {"button": "left"}, "", seen, seen, (Point(300, 118),), element=element)
    assert (target_of(step, 0, shown, {}) is not None) is found


def test_a_press_beside_the_words_of_an_option_is_compiled(tmp_path: Path) -> None:
    listed = page((20, 10, "TICKET OF THE YEAR"), (60, 120, "Jon Summer"), (60, 160, "Ada Winter"))
    element = {"role": "section", "name": "", "area_text": "Ada Winter"}
    acts = [Act(listed, click="Ada Winter", at=Point(500, 168), element=element)]
    goal = "Choose it.\n\n" + quoted({"owner": "Ada Winter"})
    trace = record(tmp_path, "one", goal, acts, page((20, 10, "STORED IT WELL")), "")
    playbook, _, text = compiled(tmp_path, trace)
    assert playbook.goals["look-up"].steps[0].click == Target(text="{owner}"), text


@pytest.mark.parametrize(
    ("texts", "target"),
    [
        (("Contract {number}", "Cancel", "Save"), Target(text="Save")),
        (("Save",), Target(field="Choose")),
    ],
)
def test_a_bar_with_the_title_of_an_item_is_no_field(texts: tuple[str, ...], target: Target) -> None:
    """The frame of the bar looks like that of a field, and no button is in its middle."""
    values = {"number": "C-118"}
    lines = [(text.format(**values), 10 + 200 * place, 100) for place, text in enumerate(texts)]
    shown = replace(sight(("Choose", 200, 60), *lines), fields=(Box(0, 90, 600, 40),))
    assert target_at(Point(lines[-1][1] + 10, 108), shown, values) == target
