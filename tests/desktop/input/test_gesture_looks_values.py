"""Which change of the screen counts as a program's reaction to a press, on an artificial screen."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.desktop.capture.settle import Repaint
from holo_tasks.desktop.input import gesture_looks
from holo_tasks.desktop.input.gesture_looks import BUSY_NS, PointChecker

SIZE, AT = Size(400, 300), Point(200, 150)
MS = 1_000_000


class Told:
    """A screen that is redrawn unchanged after 5 ms, and changed later or never. Waiting advances the time."""

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
        """Do nothing: no program answers pings here."""

    def check(self) -> None:
        """Permit the input."""


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(gesture_looks, "top_at", lambda link, at: 1)

    def wait(otherwise_ns: int) -> tuple[bool, int]:
        told: Any = Told(otherwise_ns)
        monkeypatch.setattr(gesture_looks, "time", told)
        glance = PointChecker(told, told, told, told, told)
        return glance.await_answer(0, other_than=glance.around(AT)), told.now_ns

    return wait


def test_an_unchanged_redraw_is_not_a_reaction(waited: Any) -> None:
    answered, when_ns = waited(600 * MS)
    assert answered
    assert when_ns >= 600 * MS


def test_the_wait_for_a_reaction_is_limited(waited: Any) -> None:
    assert waited(2 * BUSY_NS) == (False, BUSY_NS)
