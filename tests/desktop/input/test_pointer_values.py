"""The waits of the pointer between its events, with artificial parts instead of a screen, so that machine speed is
irrelevant.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop.input.double_click import DoubleClick
from holo_tasks.desktop.input.pointer import Pointer

HERE, THERE = Point(10, 10), Point(300, 200)


class Scene:
    """Replaces pyautogui, the screen captures and the gate, and records the order of their calls."""

    is_one_program = names_item = False

    def __init__(self) -> None:
        self.order: list[str] = []
        self.slept: list[float] = []

    def mouseDown(self, *_: Any, **__: Any) -> None:
        self.order.append("down")

    def mouseUp(self, *_: Any, **__: Any) -> None:
        self.order.append("up")

    def moveTo(self, *_: Any, **__: Any) -> None:
        self.order.append("move")

    def await_manager(self) -> None:
        self.order.append("manager")

    def await_answer(self, _: int, *, other_than: None = None) -> bool:
        self.order.append("answer")
        return True

    def at(self, _: Point) -> None:
        return None

    around = at

    def check(self) -> None:
        pass

    compare = check

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def pointer(scene: Scene) -> Pointer:
    found = Pointer(":0", Path("authority"), scene, scene, scene)  # type: ignore[arg-type]
    found._mouse = scene
    return found


def test_no_event_follows_a_press_that_the_window_manager_still_holds_back(pointer, scene):
    pointer.click(HERE, "left", 2)
    assert scene.order == ["move", *["down", "manager", "up"] * 2]


def test_a_drag_continues_after_it_has_begun_and_drops_after_it_has_arrived(pointer, scene):
    pointer.drag(HERE, THERE, "left")
    kinds = "".join(event[0] for event in scene.order)
    assert kinds == "m" + "dm" + "m" * 4 + "a" + "m" * 12 + "a" + "u"


@pytest.mark.parametrize(("across", "waits"), [(0, True), (25, True), (31, False)])
def test_a_second_click_waits_for_the_double_click_time_of_programs(pointer, scene, across, waits, monkeypatch):
    monkeypatch.setattr(
        "holo_tasks.desktop.input.pointer.time", SimpleNamespace(monotonic=lambda: 7.0, monotonic_ns=lambda: 7)
    )
    pointer._double = lambda: DoubleClick(3.0, 30)
    pointer.click(HERE, "left", 1)
    pointer.click(Point(HERE.x + across, HERE.y), "left", 1)
    assert scene.slept == ([3.0] if waits else [])


@pytest.mark.parametrize(("answers_after_s", "presses"), [(0.1, 2), (0.3, 2), (0.45, 3)])
def test_a_double_click_whose_second_press_is_late_is_made_anew(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, answers_after_s: float, presses: int
) -> None:
    now = [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], monotonic_ns=lambda: round(now[0] * 1e9))
    monkeypatch.setattr("holo_tasks.desktop.input.pointer.time", clock)
    changes: list[bool] = []

    def answer(_: int) -> bool:
        now[0] += answers_after_s
        return True

    glance = SimpleNamespace(
        at=lambda at: at,
        await_answer=answer,
        changed=lambda before: any(changes),
        await_manager=lambda: scene.order.append("manager"),
    )
    pointer = Pointer(":0", Path("authority"), scene, glance, scene)  # type: ignore[arg-type]
    pointer._mouse = scene
    assert not pointer.click(HERE, "left", 2)
    assert scene.order.count("down") == scene.order.count("up") == presses
    assert bool(scene.slept) == (presses == 3), "the late press is kept apart from the first one"
    changes.append(True)
    scene.order.clear()
    assert pointer.click(THERE, "left", 2), "something else came up, so no further press is made"
    assert scene.order.count("down") == 1
