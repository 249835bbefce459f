"""What counts as the answer of a program to a press, on a screen that is told of."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.desktop.capture.settle import Repaint
from holo_tasks.desktop.input import gesture_looks
from holo_tasks.desktop.input.gesture_looks import BUSY_NS, Glance

SIZE, AT = Size(400, 300), Point(200, 150)
MS = 1_000_000


class Told:
    """A screen that is drawn as it was after 5 ms, and otherwise later, if at all; time goes by as it is waited."""

    def __init__(self, otherwise_ns: int) -> None:
        self.now_ns, self._otherwise_ns = 0, otherwise_ns

    def monotonic_ns(self) -> int:
        return self.now_ns

    def size(self) -> Size:
        return SIZE

    def pixels(self, box: Box) -> bytes:
        return b"other" if self.now_ns >= self._otherwise_ns else b"same"

    def latest(self) -> list[Repaint]:
        drawn = [at_ns for at_ns in (5 * MS, self._otherwise_ns) if at_ns <= self.now_ns]
        return [Repaint(at_ns, Box.whole(SIZE)) for at_ns in drawn]

    def wait(self, timeout_ns: int, **_: Any) -> None:
        self.now_ns += timeout_ns

    def ask(self) -> None:
        """Nobody answers pings here."""

    def check(self) -> None:
        """Input may be sent."""


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(gesture_looks, "top_at", lambda link, at: 1)

    def wait(otherwise_ns: int) -> tuple[bool, int]:
        told: Any = Told(otherwise_ns)
        monkeypatch.setattr(gesture_looks, "time", told)
        glance = Glance(told, told, told, told, told)
        return glance.await_answer(0, other_than=glance.around(AT)), told.now_ns

    return wait


def test_what_is_drawn_as_it_was_is_no_answer(waited: Any) -> None:
    answered, when_ns = waited(600 * MS)
    assert answered
    assert when_ns >= 600 * MS


def test_a_program_that_shows_nothing_else_is_not_waited_for_for_ever(waited: Any) -> None:
    assert waited(2 * BUSY_NS) == (False, BUSY_NS)
