"""A selected character tells a text, and a selected cell a table, though buttons of the program change as well."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, SHOWING, Application, Element, ElementTree
from holo_tasks.core.input import keynames
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.caret_probe import CaretProbe
from holo_tasks.desktop.fields.focused_field import focus_in

TABLE, BUTTON = Box(100, 80, 280, 120), Box(20, 10, 60, 24)
CHARACTER, CELL, ELSEWHERE = Box(110, 100, 9, 18), Box(180, 100, 80, 20), Box(20, 240, 9, 18)


class Program:
    """Draws some boxes in another color while Shift and the right arrow select something."""

    def __init__(self, *drawn: Box) -> None:
        self.drawn, self.selected = drawn, 0

    def press(self, *keys: int) -> None:
        self.selected += {keynames.RIGHT: 1, keynames.LEFT: -1}[keys[-1]]

    def picture(self) -> Image.Image:
        screen = Image.new("RGB", (400, 300), "white")
        for box in self.drawn if self.selected > 0 else ():
            ImageDraw.Draw(screen).rectangle((box.left, box.top, box.right - 1, box.bottom - 1), "navy")
        for box in (BUTTON, CELL):
            ImageDraw.Draw(screen).text((box.left + 9, box.top + 5), "Text", "gray")
        return screen

    def windows(self) -> list[Box]:
        return [Box(0, 0, 400, 300)]


@pytest.mark.parametrize(
    ("drawn", "inside", "found"),
    [
        pytest.param((CHARACTER, BUTTON), (TABLE,), "text", id="a character, and a button"),
        pytest.param((CHARACTER, BUTTON), (), "table", id="no table is known"),
        pytest.param((CELL, BUTTON), (TABLE,), "table", id="a cell"),
        pytest.param((CHARACTER, CELL), (TABLE,), "table", id="a cell, and a mark in another"),
        pytest.param((ELSEWHERE,), (TABLE,), "text", id="a text outside the table"),
        pytest.param((), (TABLE,), "nothing", id="nothing"),
    ],
)
def test_changes_in_a_table_count_before_those_elsewhere(
    drawn: tuple[Box, ...], inside: tuple[Box, ...], found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holo_tasks.desktop.fields.caret_probe.SLOW_DRAWN_S", 0.02)
    program = Program(*drawn)
    typist = SimpleNamespace(await_read=lambda: True)
    interrupt = SimpleNamespace(sleep=lambda seconds: None)
    probe = CaretProbe(cast("Any", program), cast("Any", typist), program.press, cast("Any", interrupt))
    assert probe.after_start(inside) == found
    assert program.selected == 0 or not drawn


@pytest.mark.parametrize("role", ["table", "panel"])
def test_the_table_of_a_current_cell_is_known(role: str) -> None:
    def element(place: int, role: str, parent: int, *states: str) -> Element:
        return Element(place, role, "", frozenset({SHOWING, *states}), TABLE, parent, "people", 7)

    tree = ElementTree(
        (element(0, "window", -1, ACTIVE), element(1, role, 0), element(2, "cell", 1, FOCUSED)),
        (Application("people", 7, "Qt 5.15.8", "walk", 1.0),),
    )
    assert focus_in(tree, 7).tables == ((TABLE,) if role == "table" else ())
