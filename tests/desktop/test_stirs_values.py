"""What a screen does by itself, told from what we did: with a made-up screen and clock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from holo_tasks.core.geometry import Box, Size
from holo_tasks.desktop import stirs
from holo_tasks.desktop.stirs import Stirs

PLACE = Box(80, 40, 8, 8)
TILE = (10, 5)


class Shown:
    """A screen that is watched, at a time that only this moves on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now_s, self.away, self.picture = 100.0, False, Image.new("RGB", (320, 200), "white")
        clock = SimpleNamespace(monotonic=lambda: self.now_s, sleep=lambda seconds: None)
        patch.setattr(stirs, "time", clock)
        patch.setattr(stirs, "threading", SimpleNamespace(**vars(stirs.threading) | {"Thread": _NoThread}))
        patch.setattr(Stirs, "_taken", lambda _, x, y, wide, tall: self.picture.crop((x, y, x + wide, y + tall)))
        repaints: Any = SimpleNamespace(exact=True, also=None)
        link: Any = SimpleNamespace(size=lambda: Size(320, 200))
        self.stirs = Stirs(repaints, link, lambda: self.away)
        self.stirs.rests()
        self._drawn = repaints.also

    def tick(self, times: int = 1, *, every_s: float = 1.0) -> None:
        for _ in range(times):
            self.now_s += every_s
            level = int(self.now_s * 16) % 200
            self.picture.paste((level, 0, 0), (PLACE.left, PLACE.top, PLACE.right, PLACE.bottom))
            self._drawn(PLACE)
            self.stirs.seen()

    @property
    def learned(self) -> bool:
        return TILE in self.stirs.seen().tiles


class _NoThread:
    def __init__(self, **_: object) -> None: ...

    def start(self) -> None: ...


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    return Shown(monkeypatch)


def test_what_changes_again_and_again_is_learned_for_as_long_as_it_does(shown: Shown) -> None:
    shown.tick(2)
    assert not shown.learned
    shown.tick()
    assert shown.learned
    assert not shown.stirs.seen().fast
    shown.now_s += 2.5
    assert shown.learned
    shown.now_s += 1.0
    assert not shown.learned


def test_a_short_burst_is_not_learned(shown: Shown) -> None:
    shown.tick(10, every_s=0.125)
    assert not shown.learned
    shown.tick(10, every_s=0.125)
    assert shown.learned
    assert TILE in shown.stirs.seen().fast


def test_what_changes_between_input_and_the_next_look_does_not_count(shown: Shown) -> None:
    for _ in range(5):
        shown.stirs.acts()
        shown.tick()
        shown.stirs.rests()
    assert not shown.stirs.seen(least=1, span_s=0).tiles
    shown.tick(3)
    assert shown.learned


def test_a_screen_that_a_person_has_is_not_looked_at(shown: Shown) -> None:
    shown.tick(3)
    shown.away = True
    shown.tick(3)
    shown.away = False
    assert not shown.learned
