"""A date in words gets placeholders, and so do the other values of the same text."""

from __future__ import annotations

import pytest

from holo_tasks.compiler.parameters import occurs_in, parameters_of
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.targets import templated
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.vision.screen_text import Sight

DUE = {"due": "2026-12-24"}
WORDS = "{due:MMMM} {due:D}, {due:YYYY}"


@pytest.mark.parametrize(
    ("others", "text", "expected"),
    [
        pytest.param({"customer": "ACME"}, "Bill ACME, December 24, 2026", f"Bill {{customer}}, {WORDS}", id="a name"),
        pytest.param({"day": "24"}, "December 24, 2026", WORDS, id="a value that the date has"),
        pytest.param({"word": "due"}, "December 24, 2026 due", f"{WORDS} {{word}}", id="a name of a placeholder"),
    ],
)
def test_the_other_values_of_a_text_with_a_date_are_replaced(others: dict[str, str], text: str, expected: str) -> None:
    assert templated(text, {**DUE, **others}) == expected


SIZE = Size(640, 400)
SHOWN = Picture("shown", Box.whole(SIZE), SIZE)


def typing(text: str) -> Recording:
    step = RecordedStep(1, "write", {"content": text}, "", SHOWN, SHOWN)
    return Recording("runs/1", "0" * 64, "add", "add", DUE, (step,), "", SHOWN)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Thursday, December 24, 2026", {"due"}),
        ("Call Bob on December 24, 2026", {"due", "text_1"}),
        ("20-24 December 2026", {"due", "text_1"}),
        ("December 25, 2026", {"due", "text_1"}),
    ],
)
def test_a_typed_date_in_words_is_the_value_of_the_data(text: str, names: set[str]) -> None:
    """Further words may be of the item, so such a text is a value of its own."""
    assert {*parameters_of([typing(text)], {"shown": ReadPicture(SHOWN, Sight((), SIZE))}).kinds} == names


def test_a_date_that_was_typed_in_words_may_be_named() -> None:
    one = Recording("runs/1", "0" * 64, "add", "add", {}, typing("Call Bob on May 5, 2026").steps, "", SHOWN)
    assert (occurs_in([one], "2026-05-05"), occurs_in([one], "2026-05-06")) == (True, False)


@pytest.mark.parametrize(("facts", "is_held"), [({"day_of": "24 of 31"}, True), ({}, False)], ids=["a day", "a number"])
def test_a_day_that_was_pressed_in_a_calendar_holds_its_date(facts: dict[str, str], is_held: bool) -> None:
    element = {"role": "link", "name": "24", **facts}
    press = RecordedStep(1, "click", {"element": "24"}, "", SHOWN, SHOWN, (), element=element)
    recording = Recording("runs/1", "0" * 64, "add", "add", {}, (press,), "", SHOWN)
    assert occurs_in([recording], "2026-12-24") is is_held
    assert not occurs_in([recording], "2026-12-23")
