"""Programs are asked for elements during the wait for a picture, as early as possible without waking them in vain."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.accessibility.bus import Bus
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop.capture.screen import Picture
from holo_tasks.desktop.capture.settle import Repaint, Settle
from holo_tasks.desktop.capture.settled_screen import SettledScreen, TakenPicture
from holo_tasks.desktop.elements.element_reader import Elements
from holo_tasks.desktop.programs.sleeping_clients import SleepInterval
from holo_tasks.desktop.stop.interrupt import Interrupt

SIZE = Size(40, 30)
BOX = Box(0, 0, 40, 30)


class Told:
    """A screen with its repaints and the sleep of its programs, as set by a test. ``log`` is the order of calls."""

    exact, gone, size = True, False, SIZE

    def __init__(self, *, sleeps: bool | None, draws: bool = True) -> None:
        self.sleeps, self.log = sleeps, list[str]()
        self.drawn = [Repaint(time.monotonic_ns(), BOX)] if draws else []
        self.as_taken: Callable[[], None] = lambda: None
        self.late: list[Repaint] = []
        self.log_at_check: list[str] = []

    def take(self) -> Picture:
        self.log.append("picture")
        self.as_taken()
        return Picture(SIZE, bytes(4 * SIZE.width * SIZE.height))

    def latest(self) -> list[Repaint]:
        return list(self.drawn)

    def catch_up(self) -> None:
        self.drawn += self.late
        self.late = []

    def compare(self) -> None: ...
    def check(self) -> None: ...

    def wait(self, timeout_ns: int, **_: Any) -> None:
        self.log += ["wait"] * (self.log[-1:] != ["wait"])
        time.sleep(timeout_ns / 1e9)

    def ask(self) -> None: ...

    def asleep(self) -> SleepInterval | None:
        """Return whether programs sleep. A request for elements wakes them."""
        self.log_at_check = [*self.log]
        if self.sleeps is None:
            return None
        awake = "asks" in self.log
        return SleepInterval(self.drawn[-1].at_ns if self.drawn else 0, 0.0 if awake else float("inf"))

    def look(self) -> TakenPicture:
        eyes = SettledScreen(self, self, self, Settle(), self, dict, self.asleep)  # type: ignore[arg-type]
        return eyes.look(after_action=False, asks=lambda: self.log.append("asks"))


def test_without_sleep_information_programs_are_asked_while_the_screen_settles() -> None:
    told = Told(sleeps=None)
    assert told.look().settled
    assert told.log[:2] == ["asks", "wait"]


def test_programs_are_asked_once_all_sleep_and_one_picture_is_taken() -> None:
    told = Told(sleeps=True)
    assert told.look().settled
    assert [each for each in told.log if each != "wait"] == ["asks", "picture"]
    assert told.log[-2:] == ["asks", "picture"]


@pytest.mark.parametrize("sleeps", [True, None])
def test_a_picture_during_a_repaint_is_taken_again(sleeps: bool | None) -> None:
    told = Told(sleeps=sleeps)

    def drawn_on() -> None:
        told.as_taken = lambda: None
        told.drawn.append(Repaint(time.monotonic_ns(), BOX))

    told.as_taken = drawn_on
    assert told.look().settled
    assert told.log.count("picture") == 2


def test_a_repaint_that_is_reported_only_after_the_picture_is_noticed() -> None:
    told = Told(sleeps=True)

    def drawn_on() -> None:
        told.as_taken = lambda: None
        told.late = [Repaint(time.monotonic_ns(), BOX)]

    told.as_taken = drawn_on
    assert told.look().settled
    assert told.log.count("picture") == 2


def test_sleep_is_not_checked_after_the_picture_of_a_screen_that_was_not_drawn_on() -> None:
    told = Told(sleeps=True)
    assert told.look().settled
    assert "picture" not in told.log_at_check


def test_elements_are_read_ahead_once_for_each_picture() -> None:
    begun: list[str] = []

    class Reads(Elements):
        def __init__(self) -> None:
            self._reader, self._ahead, self._wanted, self._early = self, None, 9, False  # type: ignore[assignment]
            self.opened = self

        def _view(self) -> Any: ...

        def read(self, view: Any) -> None:
            begun.append("read")

    elements = Reads()
    for early in (True, True, False):  # while the picture is awaited, while it is taken, and afterwards
        elements.read_ahead(early=early)
    assert len(begun) == 1
    elements.read_ahead(early=False)
    elements.read_ahead(early=True)
    assert len(begun) == 3


@pytest.mark.parametrize("pid", [0, 7])
def test_a_reading_ahead_that_is_not_done_is_not_awaited(pid: int) -> None:
    asked: list[int] = []

    class Reads(Elements):
        def __init__(self) -> None:
            self._reader, self._ahead = self, Future()  # type: ignore[assignment]
            self.bus = Bus(None, "", -1, "")

        def _view(self) -> Any: ...

        def open(self) -> Any:
            return SimpleNamespace(read=self.begin)

        def begin(self, view: Any, pid: int) -> Future[ElementTree]:
            asked.append(pid)
            done = Future[ElementTree]()
            done.set_result(ElementTree(took_ms=5.0))
            return done

    elements = Reads()
    with ThreadPoolExecutor(1) as thread:
        try:
            assert thread.submit(elements.read, Interrupt(), pid).result(1.0).took_ms == 5.0
        finally:
            elements._ahead.cancel()  # type: ignore[union-attr]
    assert asked == [pid]
