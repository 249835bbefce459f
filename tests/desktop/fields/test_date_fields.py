"""A date replaces the whole text of a date field of Qt from the clipboard. Numbers and other texts are typed."""

from __future__ import annotations

import pytest

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, SHOWING, Application, Element, ElementTree
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.focused_field import focus_in
from holo_tasks.desktop.fields.wide_characters import has_parts


@pytest.mark.parametrize("text", ["05.12.2026", "2026-12-05", "12/5/26", "10:15", "5 Dec 2026", "05.12.2026 10:15"])
def test_dates_and_times_have_parts(text: str) -> None:
    assert has_parts(text)


@pytest.mark.parametrize(
    "text", ["12", "-3", "12.50", "1284,50", "1,284.50", "1.284.000,5", "12 345", "7 kg", "Dec 2026"]
)
def test_numbers_have_none(text: str) -> None:
    assert not has_parts(text)


@pytest.mark.parametrize(
    ("toolkit", "role", "is_spin"),
    [("Qt 5.15.8", "spin button", True), ("GTK 3.24", "spin button", False), ("Qt 5.15.8", "text field", False)],
)
def test_only_a_spin_box_of_qt_takes_a_date_as_a_whole(toolkit: str, role: str, is_spin: bool) -> None:
    def element(place: int, role: str, parent: int, *states: str) -> Element:
        return Element(place, role, "Due", frozenset({SHOWING, *states}), Box(0, 0, 99, 20), parent, "orders", 7)

    tree = ElementTree(
        (element(0, "window", -1, ACTIVE), element(1, role, 0, FOCUSED, "editable")),
        (Application("orders", 7, toolkit, "walk", 1.0),),
    )
    assert focus_in(tree, 7).qt_spin is is_spin
