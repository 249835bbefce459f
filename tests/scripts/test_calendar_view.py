"""A playbook turns a calendar to the month of its date, by a control that certainly does so."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.elements.calendar_days import CalendarDay, day_of
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.calendar_view import MOST_MONTHS, shown_month
from holo_tasks.scripts.into_view import MOST_WAITS, IntoView
from holo_tasks.scripts.misfit import misfit_of
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.value_formats import days_of_month
from holo_tasks.vision.screen_text import Line, Sight
from tests.support.element_trees import element, tree_of, window

PLAYBOOK = """
name: form
goals:
  pay:
    params: {due: date}
    steps:
      - {click: {role: cell, name: "{due:D}", month: "{due:MMMM YYYY}"}}
      - {answer: done}
"""
ON = ("enabled", "sensitive")
BOTH = ("Previous Month", "Next Month")


def calendar(shown: str, *controls: str, states: tuple[str, ...] = ON) -> Sight:
    """Return a calendar of a month with controls in its header."""
    days = [
        element("cell", str(day), Box(30 * (day % 7), 80 + 30 * (day // 7), 30, 30), *ON, parent=2)
        for day in range(1, days_of_month(shown) + 1)
    ]
    buttons = [
        element("button", name, Box(300 + 60 * n, 50, 40, 20), *states, parent=1) for n, name in enumerate(controls)
    ]
    tree = tree_of(
        window(Box(0, 0, 640, 400)),
        element("panel", "", Box(0, 40, 640, 300), *ON),
        element("table", "", Box(0, 40, 210, 300), *ON, parent=1),
        *days,
        *buttons,
    )
    return Sight((Line(shown, Box(20, 50, 160, 16)),), Size(640, 400), elements=tree)


class Turned:
    """The moves for a step on a day of a date."""

    def __init__(self, due: str, *press_once: str) -> None:
        self.values = {"due": due}
        self.rules = parse_playbook(PLAYBOOK).rules_of("pay")
        self.view = IntoView(self.rules, self.values, press_once)

    def move(self, sight: Sight) -> dict[str, Any]:
        misfit = misfit_of(self.rules, self.values, (), sight)
        assert misfit is not None
        move = self.view.move(misfit, sight, False)
        return {} if move is None else move["tool_call"]

    def pressed(self, sight: Sight) -> str:
        return str(self.move(sight).get("element", ""))


@pytest.mark.parametrize(
    ("shown", "due", "pressed"),
    [
        pytest.param("November 2026", "2027-02-17", "Next Month button", id="later"),
        pytest.param("November 2026", "2026-10-31", "Previous Month button", id="earlier, a day that November lacks"),
        pytest.param("Januar 2027", "2026-12-17", "Previous Month button", id="in German"),
    ],
)
def test_a_calendar_of_another_month_is_turned(shown: str, due: str, pressed: str) -> None:
    assert Turned(due).pressed(calendar(shown, *BOTH)) == pressed


@pytest.mark.parametrize(
    ("back", "forth"),
    [
        ("Go to the previous month", "Go to the next month"),
        ("Voriger Monat", "Nächster Monat"),
        ("Mois précédent", "Mois suivant"),
        ("Mes anterior", "Mes siguiente"),
        ("Mese precedente", "Mese successivo"),
        ("Vorige maand", "Volgende maand"),
        ("Poprzedni miesiąc", "Następny miesiąc"),
        ("Mês anterior", "Próximo mês"),
        ("Prev month (PageUp)", "Next month (PageDown)"),
    ],
)
def test_the_control_may_have_a_name_in_another_language(back: str, forth: str) -> None:
    assert Turned("2026-12-17").pressed(calendar("November 2026", back, forth)) == f"{forth} button"
    assert Turned("2026-10-17").pressed(calendar("November 2026", back, forth)) == f"{back} button"


def test_it_is_turned_month_by_month_until_its_days_are_those_of_the_date() -> None:
    turned = Turned("2027-01-17")
    assert turned.pressed(calendar("November 2026", *BOTH)) == "Next Month button"
    assert turned.move(calendar("November 2026", *BOTH))["tool_name"] == "wait"
    assert turned.pressed(calendar("December 2026", *BOTH)) == "Next Month button"
    misfit = misfit_of(turned.rules, turned.values, (), calendar("January 2027", *BOTH))
    assert misfit is not None
    assert "another step" in misfit.why, "the day is found"


@pytest.mark.parametrize(
    ("controls", "states"),
    [
        pytest.param(("Next", "Previous"), ON, id="a button that may be of a wizard"),
        pytest.param((">", "<"), ON, id="signs"),
        pytest.param(("Next year", "Previous year"), ON, id="years"),
        pytest.param(("Pay next month", "Previous month"), ON, id="another action"),
        pytest.param(("Next month", "Next month"), ON, id="two of them"),
        pytest.param(BOTH, (), id="a disabled one"),
        pytest.param((), ON, id="none"),
    ],
)
def test_no_control_is_pressed_that_may_do_something_else(controls: tuple[str, ...], states: tuple[str, ...]) -> None:
    assert Turned("2026-12-17").move(calendar("November 2026", *controls, states=states)) == {}


def test_a_control_that_is_pressed_once_and_a_date_far_away_are_no_reason_to_turn() -> None:
    shown = calendar("November 2026", *BOTH)
    assert Turned("2026-12-17", "Next month").move(shown) == {}
    assert Turned(f"{2027 + MOST_MONTHS // 12}-12-17").move(shown) == {}


def test_a_calendar_whose_month_is_not_certain_is_not_turned() -> None:
    one, other = calendar("November 2026", *BOTH), calendar("January 2027", *BOTH)
    assert one.elements is not None
    assert Turned("2026-12-17").move(Sight(other.lines, one.size, elements=one.elements)) == {}, "30 days in January"
    assert Turned("2026-12-17").move(Sight((), one.size, elements=one.elements)) == {}
    root = len(one.elements.elements) - 1
    more = [
        Element(
            each.id + root,
            each.role,
            each.name,
            each.states,
            each.box,
            each.parent + root if each.id > 1 else 0,
            each.application,
            each.pid,
        )
        for each in one.elements.elements[1:]
    ]
    both = ElementTree((*one.elements.elements, *more))
    assert Turned("2026-12-17").move(Sight(one.lines, one.size, elements=both)) == {}, "two calendars"


def test_only_first_days_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet has thousands of cells that are named like days."""
    looked = list[str]()

    def counted(tree: ElementTree, day: Element) -> CalendarDay | None:
        looked.append(day.name)
        return day_of(tree, day)

    monkeypatch.setattr("holo_tasks.scripts.calendar_view.day_of", counted)
    assert shown_month("cell", calendar("November 2026")) is not None
    assert looked == ["1"]


@pytest.mark.parametrize("then", ["November 2027", "October 2026", "January 2027"])
def test_a_control_that_did_something_else_is_not_pressed_again(then: str) -> None:
    turned = Turned("2027-05-17")
    turned.move(calendar("November 2026", *BOTH))
    assert turned.move(calendar(then, *BOTH)) == {}
    assert turned.move(calendar("December 2026", *BOTH)) == {}
    assert "did not turn by one month" in turned.view.told


def test_a_calendar_that_does_not_turn_is_waited_for_and_then_left() -> None:
    turned, shown = Turned("2027-05-17"), calendar("November 2026", *BOTH)
    turned.move(shown)
    assert [turned.move(shown).get("tool_name") for _ in range(MOST_WAITS + 1)] == [*["wait"] * MOST_WAITS, None]
