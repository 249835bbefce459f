"""Distinguish areas that repaint by themselves from effects of input, on an artificial screen and clock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import xcffib
from PIL import Image

from holo_tasks.core.repaints.repaint_rhythm import TILE
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop.capture import repaint_watch
from holo_tasks.desktop.capture.repaint_watch import (
    CONFIRM_NAP_S,
    CONFIRM_S,
    QUEUED,
    QUIET_S,
    UNSETTLED_S,
    RepaintWatch,
)

PLACE = Box(80, 40, 16, 16)
FAR = Box(240, 160, 16, 16)


class Shown:
    """A watched screen. Only this class advances its time."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now_s, self.away, self.size = 100.0, False, Size(320, 200)
        self.picture = Image.new("L", (320, 200), 255)
        self.taken: list[Box] = []
        self.ticks = 0
        self.broken: Exception | None = None
        self.on_taking: Any = lambda: None
        clock = SimpleNamespace(monotonic=lambda: self.now_s, monotonic_ns=lambda: round(self.now_s * 1e9))
        patch.setattr(repaint_watch, "time", clock)
        patch.setattr(
            repaint_watch, "threading", SimpleNamespace(**vars(repaint_watch.threading) | {"Thread": _NoThread})
        )
        patch.setattr(RepaintWatch, "_taken", lambda _, box: self._take(box))
        self.repaints: Any = SimpleNamespace(exact=True, also=None, rearranged=None)
        link: Any = SimpleNamespace(size=lambda: self.size)
        self.stirs = RepaintWatch(self.repaints, link, lambda: self.away)
        self.stirs.looked(self.now_s, settled=True)
        self.now_s += QUIET_S
        self.learned()

    def _take(self, box: Box) -> Image.Image:
        if self.broken is not None:
            raise self.broken
        self.taken.append(box)
        self.on_taking()
        return self.picture.crop((box.left, box.top, box.right, box.bottom))

    def paint(self, place: Box, level: int, drawn: Box | None = None) -> None:
        self.picture.paste(level, (place.left, place.top, place.right, place.bottom))
        self.repaints.also(drawn or place)

    def tick(self, times: int = 1, *, every_s: float = 1.0, place: Box = PLACE, by: int = 100) -> None:
        for _ in range(times):
            self.now_s += every_s
            self.ticks += 1
            self.paint(place, 200 - by * (self.ticks % 2))
            self.learned()

    def learned(self, since_s: float | None = None) -> list[Box]:
        """Return the learned areas without their margins."""
        boxes = [area.box for area in self.stirs.steady(self.now_s if since_s is None else since_s)]
        return [Box(box.left + TILE, box.top + TILE, box.width - 2 * TILE, box.height - 2 * TILE) for box in boxes]


class _NoThread:
    def __init__(self, **_: object) -> None: ...

    def start(self) -> None: ...


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    return Shown(monkeypatch)


def test_a_ticking_area_is_learned_and_a_change_after_a_long_silence_ends_it(shown: Shown) -> None:
    shown.tick(3)
    assert shown.learned() == []
    shown.tick()
    assert shown.learned() == [PLACE]
    seen_s = shown.now_s
    shown.now_s += 60
    shown.paint(PLACE, 0)
    assert shown.learned(seen_s) == []


def test_effects_of_input_are_not_learned_until_a_capture_and_a_while_after_it(shown: Shown) -> None:
    for settled, quiet_s in ((True, QUIET_S), (False, UNSETTLED_S)):
        shown.stirs.acts()
        shown.tick(5)
        shown.stirs.looked(shown.now_s, settled=settled)
        shown.tick(5, every_s=quiet_s / 6)
        assert shown.learned() == []
        shown.now_s += 60


def test_a_repaint_during_a_press_does_not_unlearn_an_area_but_one_after_the_capture_does(shown: Shown) -> None:
    shown.tick(5)
    shown.stirs.acts()
    shown.tick(every_s=0.3)
    shown.now_s += 0.1
    shown.stirs.looked(shown.now_s, settled=True)
    shown.tick(every_s=0.6)
    assert shown.learned() == [PLACE]
    shown.tick(every_s=0.3)
    assert shown.learned() == []


def test_a_slight_shimmer_is_not_learned(shown: Shown) -> None:
    shown.tick(8, every_s=0.1, by=1)
    shown.tick(8, by=20)
    assert shown.learned() == []


def test_moved_windows_and_scrolling_clear_the_learned_areas(shown: Shown) -> None:
    for move in (shown.stirs.moves, shown.repaints.rearranged):
        shown.tick(5)
        seen_s = shown.now_s
        assert shown.learned() == [PLACE]
        move()
        assert shown.learned(seen_s) == []
        shown.tick(1)
        assert shown.learned(seen_s) == []


def test_a_screen_held_by_a_person_is_not_captured(shown: Shown) -> None:
    shown.tick(5)
    shown.away = True
    shown.taken.clear()
    shown.tick(3)
    assert shown.taken == []
    assert shown.learned() == []
    shown.away = False
    shown.learned()
    assert shown.learned() == []


def test_a_picture_taken_while_a_person_gets_the_screen_is_not_kept(shown: Shown) -> None:
    shown.tick(5)
    shown.on_taking = lambda: setattr(shown, "away", True)
    shown.tick()
    assert shown.stirs._known is None
    assert shown.learned() == []


def test_two_clocks_in_two_corners_are_captured_separately(shown: Shown) -> None:
    for number in range(5):
        shown.taken.clear()
        shown.now_s += 1
        for place in (PLACE, FAR):
            shown.paint(place, 100 * (number % 2))
        shown.learned()
        assert sorted(shown.taken, key=str) == sorted([PLACE, FAR], key=str)
    assert sorted(shown.learned(), key=str) == sorted([PLACE, FAR], key=str)


def test_a_clock_is_learned_whole_although_part_of_its_text_stays_the_same(shown: Shown) -> None:
    line = Box(40, 40, 96, 16)
    for number in range(5):
        shown.now_s += 1
        shown.paint(PLACE, 100 * (number % 2), drawn=line)
        shown.learned()
    assert shown.learned() == [line]
    for number in range(5):
        shown.now_s += 1
        shown.paint(FAR, 100 * (number % 2), drawn=Box(0, 0, 320, 200))
        shown.learned()
    assert shown.learned() == [FAR]


def test_a_whole_screen_that_keeps_changing_is_not_learned(shown: Shown) -> None:
    shown.tick(8, place=Box(0, 0, 320, 200))
    assert shown.learned() == []


def test_more_repaints_than_the_queue_holds_are_merged(shown: Shown) -> None:
    for number in range(3 * QUEUED):
        shown.paint(Box(number % 300, 50, 4, 4), number % 2 * 255)
    assert len(shown.stirs._drawn) <= QUEUED
    assert shown.learned() == []


def test_a_resized_screen_is_learned_from_scratch(shown: Shown) -> None:
    shown.tick(5)
    shown.picture, shown.size = Image.new("L", (400, 300), 255), Size(400, 300)
    shown.tick()
    assert shown.learned() == []
    shown.tick(5)
    assert shown.learned() == [PLACE]


@pytest.mark.parametrize("error", [ValueError("unforeseen"), xcffib.ConnectionException(1)])
def test_nothing_is_learned_if_the_screen_cannot_be_captured(shown: Shown, error: Exception) -> None:
    shown.tick(5)
    shown.broken = error
    shown.paint(PLACE, 7)
    assert shown.learned() == []
    shown.broken = None
    shown.tick()
    assert shown.learned() == []


def test_a_screen_without_exact_repaint_events_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    repaints: Any = SimpleNamespace(exact=False)
    assert RepaintWatch(repaints, shown.stirs._link, lambda: False).steady(0) == ()


def test_the_first_capture_waits_for_a_known_clock_to_tick_but_not_for_a_stopped_one(shown: Shown) -> None:
    naps: list[float] = []

    def sleep(nap_s: float) -> None:
        naps.append(nap_s)
        shown.now_s += nap_s
        if len(naps) == 5:
            shown.tick(every_s=0)

    shown.stirs.expect([(PLACE, 1.0)])
    shown.stirs.confirm(sleep)
    assert len(naps) == 5
    seen_s = shown.now_s + 0.01
    shown.tick()
    assert shown.learned(seen_s) == [PLACE]
    shown.stirs.confirm(sleep)
    assert len(naps) == 5
    shown.stirs.expect([(FAR, 1.0)])
    shown.stirs.confirm(sleep)
    assert sum(naps[5:]) < CONFIRM_S + 2 * CONFIRM_NAP_S
    assert shown.stirs.learned() == [(PLACE, 1.0)]


def test_an_area_outside_the_screen_is_not_expected(shown: Shown) -> None:
    shown.stirs.expect([(Box(8000, 40, 16, 16), 1.0)])
    shown.stirs.confirm(lambda _: pytest.fail("there must be no wait"))


def test_no_area_is_expected_on_a_screen_held_by_a_person(shown: Shown) -> None:
    shown.away = True
    shown.taken.clear()
    shown.stirs.expect([(PLACE, 1.0)])
    assert shown.taken == []


def test_an_area_that_takes_another_shape_each_time_is_marked_varied(shown: Shown) -> None:
    for number in range(6):
        shown.now_s += 1
        shown.picture.paste(255, PLACE.corners)
        shown.paint(Box(PLACE.left + 8 * (number % 2), PLACE.top, 8, 16), 0, drawn=PLACE)
        shown.learned()
    [banner] = shown.stirs.steady(shown.now_s)
    assert banner.varied
