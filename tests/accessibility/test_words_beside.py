"""A check box or radio button without a name has the words on its right as its name, if they are surely its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.accessibility.words_beside import with_words_beside
from holo_tasks.core.elements.elements import Element
from holo_tasks.core.screen.geometry import Box
from tests.support.element_trees import element


def line(*parts: str | int, role: str = "radio button", name: str = "") -> list[Element]:
    """Return a line of text: words as texts, and numbers as gaps before a control of 14 pixels."""
    made, left = [element("section", "", Box(0, 80, 600, 22))], 20
    for part in parts:
        if isinstance(part, int):
            left += part
            made.append(element(role, name, Box(left, 89, 14, 14)))
            left += 16
        else:
            made.append(element("label", part, Box(left, 90, 8 * len(part), 16)))
            left += 8 * len(part)
    return [replace(each, id=number, parent=0 if number else -1) for number, each in enumerate(made)]


def names(made: list[Element]) -> list[str]:
    return [each.name for each in with_words_beside(made) if each.role in ("radio button", "check box")]


def test_options_of_an_old_page_have_the_words_on_their_right() -> None:
    assert names(line(0, "Pickup", 4, "Courier", 4, "Post")) == ["Pickup", "Courier", "Post"]
    assert names(line(0, "Urgent", role="check box")) == ["Urgent"]
    assert names(line("Delivery:", 4, "Pickup", 4, "Courier")) == ["Pickup", "Courier"]


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(line("Pickup", 4, "Courier", 4), id="the words may be on the left"),
        pytest.param(line("Pickup", 4, "Courier", 4, "(required)"), id="the first words may be those of a control"),
        pytest.param(line(0, "Pickup", 4), id="a control without words"),
        pytest.param(line("Urgent:", 4, "Remarks:", role="check box"), id="the label of the next field"),
        pytest.param(line(0), id="no words"),
    ],
)
def test_words_that_may_be_of_another_control_name_none(made: list[Element]) -> None:
    assert with_words_beside(made) == made


def test_a_control_with_a_name_keeps_it() -> None:
    made = line(0, "kg", role="check box", name="Weigh it")
    assert with_words_beside(made) == made


def test_words_far_from_a_control_are_not_its_own() -> None:
    made = line(0, "Urgent", role="check box")
    made[2] = replace(made[2], box=Box(90, 90, 48, 16))
    assert with_words_beside(made) == made
