"""Arrow keys and days of a calendar that choose for the recorded item are left to the model, and others are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from holo_tasks.compiler.chosen_by_keys import BY_KEYS, BY_PART, CHOOSE, with_choices
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.steps import target_of
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Line, Sight

SIZE = Size(640, 400)
NAMES = ("Adler Ltd", "Berg and Sons", "Cedar Foods")
SHOWN = Picture("0" * 64, Box.whole(SIZE), SIZE)
LIST = Sight(tuple(Line(name, Box(40, 40 + 20 * place, 150, 14)) for place, name in enumerate(NAMES)), SIZE)
FORM = Sight((Line("Berg and Sons", Box(40, 40, 150, 14)), Line("Purpose:", Box(40, 60, 150, 14))), SIZE)


def step(tool: str, changed: Box | None = None, at: Point | None = None, **arguments: object) -> RecordedStep:
    points = () if at is None else (at,)
    return RecordedStep(1, tool, arguments, "", SHOWN, SHOWN, points, changed=changed)


def arrow(changed: Box | None, key: str = "down") -> RecordedStep:
    return step("hotkey", changed, keys=[key])


ENTER = step("hotkey", keys=["enter"])
FIRST, SECOND = Box(38, 38, 160, 40), Box(38, 58, 160, 40)
"""The two rows that change if the selection goes to the second or to the third name."""


def tools(*steps: RecordedStep, sight: Sight = LIST, data: Mapping[str, str]) -> list[str]:
    recording = Recording("", "", "", "", data, steps, "", SHOWN, 1)
    return [one.tool for one in with_choices(recording, {SHOWN: sight}, ()).steps]


def test_arrow_keys_that_come_to_a_value_of_the_item_are_one_step_of_the_model() -> None:
    recording = Recording(
        "", "", "", "", {"customer": "Cedar Foods"}, (arrow(FIRST), arrow(SECOND), ENTER), "", SHOWN, 1
    )
    choice, enter = with_choices(recording, {SHOWN: LIST}, ()).steps
    assert (choice.tool, choice.unsure) == (CHOOSE, BY_KEYS)
    assert str(choice.arguments["element"]).startswith("Cedar Foods")
    assert enter.tool == "hotkey"


def test_the_key_that_takes_the_first_entry_has_such_a_step_before_it() -> None:
    assert tools(ENTER, data={"customer": "Adler Ltd"}) == [CHOOSE, "hotkey"]
    pressed = step("click", at=Point(60, 47), button="left")
    assert tools(pressed, ENTER, data={"customer": "Adler Ltd"}) == ["click", "hotkey"], "a press chose it"
    typed = step("write", content="4711")
    data = {"number": "4711", "customer": "Adler Ltd"}
    assert tools(typed, ENTER, data=data) == ["write", "hotkey"], "the number names the item"
    assert tools(ENTER, typed, data={"number": "4711"}) == ["hotkey", "write"], "nothing of the item is shown"


@pytest.mark.parametrize(
    ("steps", "sight"),
    [
        ((arrow(FIRST, "up"),), LIST),
        ((arrow(None),), LIST),
        ((step("write", content="Berg and Sons"), arrow(FIRST)), LIST),
        ((arrow(FIRST),), FORM),
        ((step("hotkey", FIRST, keys=["ctrl", "down"]),), LIST),
    ],
)
def test_other_arrow_keys_stay(steps: tuple[RecordedStep, ...], sight: Sight) -> None:
    """The keys left the item, changed nothing, came after its typed name, or went from one field to the next."""
    assert CHOOSE not in tools(*steps, sight=sight, data={"customer": "Berg and Sons"})


def press(name: str, **facts: str) -> RecordedStep:
    return replace(step("click", at=Point(60, 47), button="left"), element={"role": "button", "name": name, **facts})


DUE = {"number": "V-118", "due": "2026-12-24", "at": "14:30"}


@pytest.mark.parametrize("name", ["24", "December 24", "December", "14", "30"])
def test_a_day_or_an_hour_of_the_item_is_chosen_by_the_model(name: str) -> None:
    """The next item has another day, and the calendar may show another month."""
    recording = Recording("", "", "", "", DUE, (press("Open"), press(name)), "", SHOWN, 1)
    opened, choice = with_choices(recording, {SHOWN: FORM}, ()).steps
    assert (opened.tool, choice.tool, choice.unsure) == ("click", CHOOSE, BY_PART)
    assert str(choice.arguments["element"]).startswith(DUE["at" if name in ("14", "30") else "due"])


def test_a_day_that_may_be_of_two_dates_names_neither() -> None:
    data = {"from": "2026-12-24", "to": "2027-01-24"}
    recording = Recording("", "", "", "", data, (press("24"),), "", SHOWN, 1)
    (choice,) = with_choices(recording, {SHOWN: FORM}, ()).steps
    assert (choice.unsure, choice.arguments["element"]) == (BY_PART, "")


@pytest.mark.parametrize(
    "steps",
    [
        (press("24"), step("write", content="24.12.2026")),
        (press("2026-12-24"),),
        (press("Choose Thursday, December 24th, 2026"),),
        (press("Edit V-118 of 24"),),
        (press("24", **{"cell 1": "V-118"}),),
        (press("Next month"),),
        (press("7"),),
        (replace(press("24"), typed_into=True),),
    ],
)
def test_other_presses_stay(steps: tuple[RecordedStep, ...]) -> None:
    """The date is typed or pressed as a whole, the row is the item's, no number or another one, or a field."""
    assert CHOOSE not in tools(*steps, sight=FORM, data=DUE)


@pytest.mark.parametrize(("typed", "left"), [("03/03/2026", False), ("3", True)])
def test_a_date_that_was_typed_with_its_month_or_its_day_first_is_chosen_by_no_press(typed: str, left: bool) -> None:
    steps = step("write", content=typed), press("Step 3")
    assert (CHOOSE in tools(*steps, sight=FORM, data={"due": "2026-03-03"})) is left


def test_a_pressed_date_that_may_begin_with_its_month_is_chosen_by_the_model() -> None:
    assert tools(press("03/03/2026"), sight=FORM, data={"due": "2026-03-03"}) == [CHOOSE]


@pytest.mark.parametrize(
    ("month", "facts", "left"),
    [
        pytest.param("December 2026", {"day_of": "24 of 31"}, False, id="the month is shown"),
        pytest.param("« 2026 Dec »", {"day_of": "24 of 31"}, False, id="it is short and after the year"),
        pytest.param("January 2027", {"day_of": "24 of 31"}, True, id="another month is shown"),
        pytest.param("December", {"day_of": "24 of 31"}, True, id="no year is shown"),
        pytest.param("December 2026", {"day_of": "24 of 30"}, True, id="the calendar has too few days"),
        pytest.param("December 2026", {}, True, id="no calendar"),
    ],
)
def test_a_day_in_a_calendar_of_its_month_stays(month: str, facts: dict[str, str], left: bool) -> None:
    sight = Sight((Line(month, Box(40, 10, 150, 14)),), SIZE)
    assert (CHOOSE in tools(press("24", **facts), sight=sight, data=DUE)) is left


def test_the_month_and_the_year_of_a_calendar_may_be_two_texts() -> None:
    """The row of a table behind the calendar has a number that looks like a year."""
    texts = (("B-2021", 10), ("December", 200), ("2026", 300))
    sight = Sight(tuple(Line(text, Box(left, 10, 60, 14)) for text, left in texts), SIZE)
    assert CHOOSE not in tools(press("24", day_of="24 of 31"), sight=sight, data=DUE)


def test_a_day_in_a_calendar_is_found_by_its_month() -> None:
    sight, day = Sight((), SIZE), press("24", day_of="24 of 31", **{"cell 1": "23"})
    found = target_of(day, 0, sight, DUE)
    assert found == Target(role="button", name="{due:D}", month="{due:MMMM YYYY}")
    with pytest.raises(InvalidUsage, match="two dates"):
        target_of(day, 0, sight, {"due": "2026-12-24", "paid": "2027-01-24"})
