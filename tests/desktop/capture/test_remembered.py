"""The recent frames that input is compared with: older ones are compressed, and all keep their content."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.errors import ScreenChanged
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.repaints.repaint_rhythm import RepaintingArea
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.recheck import InputTarget, Sighting, StackedWindow, WindowStack
from holo_tasks.desktop.capture import recent_frames
from holo_tasks.desktop.capture.recent_frames import AT_HAND, FEWEST, HOLD_S, NAP_S, PATIENCE_S, RecentFrames
from holo_tasks.desktop.capture.screen import Picture

SIZE = Size(640, 400)
RAW = 4 * SIZE.width * SIZE.height


def taken(text: str) -> Picture:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    ImageDraw.Draw(image).text((20, 20), text, fill="black")
    return Picture(SIZE, image.tobytes("raw", "BGRX"))


def remembered() -> Any:
    nothing = cast("Any", SimpleNamespace())
    return RecentFrames(nothing, nothing, nothing, nothing)


def until_packed(pictures: Any) -> None:
    until = time.monotonic() + 30
    while not all(known.packed for known in list(pictures._kept.values())[:-AT_HAND]):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_older_frames_are_compressed_and_unchanged() -> None:
    pictures = remembered()
    numbers = {pictures.keep(taken(f"screen {number}")): number for number in range(8)}
    until_packed(pictures)
    assert len(numbers) == 8
    for key, number in numbers.items():
        assert pictures._kept[key].sighting().pixels == taken(f"screen {number}")
        times = pictures._kept[key]._state[1]
        assert sum(times) in {0, SIZE.height}
        assert len(times) < SIZE.height / 2, "equal rows are compressed once"
    assert sum(known.bytes for known in pictures._kept.values()) < (AT_HAND + 1) * RAW


def test_equal_frames_have_one_number_also_when_compressed() -> None:
    pictures = remembered()
    first = pictures.keep(taken("first"))
    for number in range(3):
        pictures.keep(taken(f"screen {number}"))
    until_packed(pictures)
    assert pictures._kept[first].packed
    assert pictures.keep(taken("first")) == first
    assert pictures.keep(taken("First")) != first


def test_memory_for_frames_is_bounded_except_for_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_frames, "MOST_BYTES", RAW)
    pictures, size = remembered(), Size(400, 200)
    for _ in range(FEWEST + 3):
        pictures.keep(Picture(size, os.urandom(4 * size.width * size.height)))
    assert len(pictures._kept) == FEWEST
    assert FEWEST * 4 * size.width * size.height > RAW


class _Watched(RecentFrames):
    """Frames of a screen with one clock. Only sleeping advances the time."""

    def __init__(self, patch: pytest.MonkeyPatch, *, proven_at_s: float, hopeful_until_s: float) -> None:
        self.now_s, self.acted, self.row = 0.0, False, "row"
        self.proven_at_s, self.hopeful_until_s = proven_at_s, hopeful_until_s
        patch.setattr(recent_frames, "time", SimpleNamespace(monotonic=lambda: self.now_s))
        gate = SimpleNamespace(sleep=self._sleep)
        watch = SimpleNamespace(steady=self._steady, likely_steady=self._likely_steady, acts=self._acts)
        super().__init__(cast("Any", None), cast("Any", SimpleNamespace(size=SIZE)), cast("Any", gate), watch)
        self._windows = WindowStack((StackedWindow(1, Box.whole(SIZE)),), 1)
        self.number = self.keep(self._screenshot("09:41:07"))

    def _sleep(self, nap_s: float) -> None:
        self.now_s += nap_s

    def _acts(self) -> None:
        self.acted = True

    def _steady(self, since_s: float) -> tuple[RepaintingArea, ...]:
        return self._likely_steady(since_s) if self.now_s >= self.proven_at_s else ()

    def _likely_steady(self, since_s: float) -> tuple[RepaintingArea, ...]:
        return (RepaintingArea(CLOCK),) if self.now_s <= self.hopeful_until_s else ()

    def _screenshot(self, clock: str) -> Picture:
        image = Image.new("RGB", (SIZE.width, SIZE.height), "#555555")
        pencil = ImageDraw.Draw(image)
        pencil.rectangle((0, 0, 294, 209), fill="white")
        pencil.rectangle((300, 0, 459, 209), fill="white")
        for y in (60, 100, 140):
            pencil.rectangle((200, y - 12, 260, y + 12), fill="#dddddd", outline="black")
            pencil.text((216, y - 6), "Open", fill="black")
        pencil.text((20, 94), self.row, fill="black")
        pencil.text((306, 94), "Time left:", fill="black")
        pencil.text((380, 94), clock, fill="black")
        return Picture(SIZE, image.tobytes("raw", "BGRX"))

    def _read_windows(self, where: InputTarget) -> WindowStack:
        return self._windows

    def _capture_rows(self, where: InputTarget, windows: WindowStack) -> Sighting:
        return Sighting(self._screenshot("09:41:08"), windows)

    def pressed(self) -> str:
        """Press next to the clock; return the reason if the press is refused."""
        try:
            self.compare(self.number, Click(Point(230, 100)))
        except ScreenChanged as error:
            return str(error)
        return ""


CLOCK = Box(376, 88, 72, 16)


def test_a_press_waits_until_a_changing_area_beside_it_is_proven_to_be_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Watched(monkeypatch, proven_at_s=2.5, hopeful_until_s=9)
    assert screen.pressed() == ""
    assert 2.5 <= screen.now_s <= 2.6
    assert screen.acted


@pytest.mark.parametrize(("hopeful_until_s", "waited_s"), [(-1, PATIENCE_S), (2.0, 2.0), (60, HOLD_S)])
def test_a_press_is_refused_once_no_area_can_become_a_clock(
    monkeypatch: pytest.MonkeyPatch, hopeful_until_s: float, waited_s: float
) -> None:
    screen = _Watched(monkeypatch, proven_at_s=60, hopeful_until_s=hopeful_until_s)
    assert "its row looks different" in screen.pressed()
    assert waited_s <= screen.now_s <= waited_s + 3 * NAP_S
    assert not screen.acted, "repaints during the wait must not count as effects of input"


def test_a_press_is_refused_if_its_row_changes_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Watched(monkeypatch, proven_at_s=2.5, hopeful_until_s=9)
    screen.row = "row of another"
    assert "its row looks different" in screen.pressed()
    assert screen.now_s <= PATIENCE_S + 3 * NAP_S
