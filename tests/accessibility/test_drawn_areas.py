"""A tiny control of a web page has the box of its area; every other control keeps its own."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from holo_tasks.accessibility.drawn_areas import with_drawn_areas
from holo_tasks.core.elements.elements import NOWHERE, SHOWING, Element
from holo_tasks.core.screen.geometry import Box
from tests.support.element_trees import element

AREA, WHOLE, OWN = Box(20, 80, 220, 32), Box(20, 60, 250, 56), Box(20, 96, 1, 2)


def chooser(own: Box = OWN, *further: Element, label: str = "") -> list[Element]:
    """Return a label with an area that has a combo box, and further elements. The ids start at 10."""
    made = [
        element("section", "", Box(0, 0, 600, 400), parent=3),
        element("label", label, WHOLE, parent=10),
        element("section", "", AREA, parent=11),
        element("combo box", "Room", own, parent=12),
        *further,
    ]
    return [replace(each, id=number) for number, each in enumerate(made, 10)]


def test_a_tiny_control_in_an_area_of_a_label_has_the_box_of_the_area() -> None:
    made = chooser()
    found = with_drawn_areas(made, 10)
    assert found[3] == replace(made[3], box=AREA)
    assert found[:3] == made[:3]


def test_a_label_may_be_named_by_the_texts_in_it() -> None:
    """Firefox does so: the name of the label has the control's name and its value."""
    made = chooser(label="Room Rose Rose")
    made[3] = replace(made[3], value="Rose")
    assert with_drawn_areas(made, 10)[3].box == AREA
    made[3] = replace(made[3], value="Tulip")
    assert with_drawn_areas(made, 10)[3].box == OWN


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(chooser(AREA), id="a control that can be seen"),
        pytest.param(chooser(OWN, label="Room"), id="no label without a name is around it"),
        pytest.param(chooser(OWN, element("button", "Clear", Box(200, 84, 20, 20), parent=12)), id="two controls"),
        pytest.param(chooser(Box(0, 0, 0, 0)), id="a control that is not on the screen"),
        pytest.param([replace(chooser()[3], id=10, parent=3)], id="no area"),
    ],
)
def test_any_other_control_keeps_its_box(made: list[Element]) -> None:
    assert with_drawn_areas(made, 10) == made


@pytest.mark.parametrize(
    ("role", "area", "is_drawn"),
    [("check box", AREA, True), ("check box", NOWHERE, False), ("combo box", AREA, False)],
    ids=["in a visible label", "in a label out of view", "another control"],
)
def test_a_check_box_without_a_size_is_where_its_label_is(role: str, area: Box, is_drawn: bool) -> None:
    """Element Plus draws the box itself and hides the control."""
    made = chooser(NOWHERE)
    hidden = replace(made[3], role=role, states=made[3].states - {SHOWING})
    made = [*made[:1], replace(made[1], box=area), replace(made[2], box=area), hidden]
    found = with_drawn_areas(made, 10)[3]
    assert (found.box == AREA and found.on_screen) is is_drawn


def test_a_page_with_thousands_of_hidden_check_boxes_is_read_fast() -> None:
    """Each look at the page does this, so its time must not grow with the square of their number."""
    made: list[Element] = []
    for number in range(6_000):
        boxes = element("label", "", AREA, parent=-1), element("check box", "", NOWHERE, parent=2 * number)
        made += [replace(each, id=2 * number + place) for place, each in enumerate(boxes)]
    began_s = time.process_time()
    found = with_drawn_areas(made, 0)
    assert time.process_time() - began_s < 0.3
    assert all(each.box == AREA for each in found)


def apart(*labels: str) -> list[Element]:
    """Return a hidden check box that a page draws as a label elsewhere, with texts like that of jQuery UI."""
    made = [element("section", "", WHOLE), element("check box", "Urgent", Box(20, 96, 2, 2), parent=10)]
    made += [element("label", text, Box(120, 20 + 40 * n, 40, 16), parent=10) for n, text in enumerate(labels)]
    return [replace(each, id=number) for number, each in enumerate(made, 10)]


def test_a_hidden_check_box_has_the_box_of_the_only_text_with_its_name() -> None:
    made = apart("Urgent", "Delivery")
    assert with_drawn_areas(made, 10)[1].box == made[2].box


@pytest.mark.parametrize("labels", [("Urgent", "Urgent"), ("Delivery",)], ids=["two such texts", "no such text"])
def test_without_a_single_text_of_its_name_a_hidden_check_box_keeps_its_box(labels: tuple[str, ...]) -> None:
    made = apart(*labels)
    assert with_drawn_areas(made, 10) == made


@pytest.mark.parametrize("other", [Box(20, 140, 2, 2), Box(20, 140, 20, 20)], ids=["hidden", "visible"])
def test_of_two_check_boxes_with_a_name_none_has_the_box_of_its_only_text(other: Box) -> None:
    made = [*apart("Urgent"), replace(element("check box", "Urgent", other, parent=10), id=13)]
    assert with_drawn_areas(made, 10) == made
