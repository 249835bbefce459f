"""A date replaces the whole text of a date field of Qt from the clipboard. Numbers and other texts are typed."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, SHOWING, Application, Element, ElementTree
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.focused_field import focus_in
from holo_tasks.desktop.fields.pasted_text import PastedText, value_to_paste


@pytest.mark.parametrize("text", ["05.12.2026", "2026-12-05", "12/5/26", "10:15", "5 Dec 2026", "05.12.2026 10:15"])
@pytest.mark.parametrize("rest", ["", "\t", "\n", "\r\n", "\t17:30", "\t5\n"])
def test_a_date_and_a_time_are_pasted_and_what_comes_after_them_is_typed(text: str, rest: str) -> None:
    assert value_to_paste(text + rest) == text


@pytest.mark.parametrize(
    "text", ["12", "-3", "12.50", "1284,50", "1,284.50", "1.284.000,5", "12 345", "7 kg", "Dec 2026", ""]
)
@pytest.mark.parametrize("rest", ["", "\t10", "\n10\n", "\t05.12.2026"])
def test_numbers_are_typed_with_what_comes_after_them(text: str, rest: str) -> None:
    assert value_to_paste(text + rest) == ""


@pytest.mark.parametrize(("is_taken", "typed"), [(True, ["\t345"]), (False, [])])
def test_nothing_is_typed_after_a_date_that_the_program_does_not_take(
    monkeypatch: pytest.MonkeyPatch, is_taken: bool, typed: list[str]
) -> None:
    unused: Any = None
    pasted, done = PastedText(unused, unused, unused, unused), list[str]()
    monkeypatch.setattr(pasted, "paste", lambda _: is_taken)
    said = pasted.write("05.03.2026", "\t345", done.append)
    assert ("did not take 05.03.2026" in said, done) == (not is_taken, typed)
    assert "The text up to" not in said


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
