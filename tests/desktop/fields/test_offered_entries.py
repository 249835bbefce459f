"""The wait before Enter for the list of a field ends with the list, and not with another window or an animation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.offered_entries import OfferedEntries
from tests.support.element_trees import element, focused, tree_of, window

WINDOW = Box(0, 0, 300, 200)
INSIDE, LIST_BELOW, ELSEWHERE = Box(40, 60, 60, 20), Box(20, 210, 60, 20), Box(700, 20, 60, 20)


class Screen:
    """A screen with a field. Each look takes ``looks_s``, and draws in one of the given areas."""

    def __init__(self, drawn: Iterator[Box | None], *states: str, settled: bool = True, looks_s: float = 0.0) -> None:
        field = focused(element("text field", "Town", Box(20, 20, 100, 20), "editable", *states))
        self.tree: ElementTree | None = tree_of(window(WINDOW), field)
        self.drawn, self.settled, self.looks_s = drawn, settled, looks_s
        self.picture, self.looks, self.now = Image.new("RGB", (800, 600), "white"), 0, 0.0

    def read(self) -> None:
        pass

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def windows(self) -> list[Box | None]:
        return [None, WINDOW]  # no text was replaced before

    def look(self, last_event_ns: int) -> tuple[Image.Image, bool]:
        self.looks, self.now = self.looks + 1, self.now + self.looks_s
        if (box := next(self.drawn, None)) is not None:
            self.picture = self.picture.copy()
            self.picture.paste((0, 40 * self.looks % 256, 0), box.corners)
        return self.picture, self.settled


def looks(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("holo_tasks.desktop.fields.offered_entries.time.monotonic", lambda: screen.now)
    every: Any = screen
    OfferedEntries(every, every, every).await_entries(0)
    return screen.looks


@pytest.mark.parametrize(
    ("drawn", "number"),
    [
        pytest.param([], 2, id="nothing"),
        pytest.param([None, INSIDE, INSIDE], 4, id="a list that changes twice"),
        pytest.param([None, LIST_BELOW], 3, id="a list below its window"),
        pytest.param([ELSEWHERE] * 99, 2, id="another window that keeps changing"),
        pytest.param([INSIDE] * 99, 10, id="a list that keeps changing"),
    ],
)
def test_the_list_of_a_field_is_complete(drawn: list[Box | None], number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(Screen(iter(drawn), "supports autocompletion"), monkeypatch) == number


def test_an_animation_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(iter([INSIDE] * 99), "supports autocompletion", settled=False, looks_s=2.0)
    assert (looks(screen, monkeypatch), screen.now) == (1, 2.0)


def test_a_field_without_a_list_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(Screen(iter([])), monkeypatch) == 0
    terminal = Screen(iter([]), "supports autocompletion")
    terminal.tree = None
    assert looks(terminal, monkeypatch) == 0
