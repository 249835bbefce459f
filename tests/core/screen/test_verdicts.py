"""The effect of an action is judged by where the screen changed."""

from __future__ import annotations

import pytest
from PIL import Image

from holo_tasks.core.input.gestures import Click, Drag, Gesture, Hotkey, Move, Pause, Write
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.verdicts import changed_outside, expected, judge
from holo_tasks.loop.presses.click_retry import fits, may_repeat, shifted_click

SIZE = Size(640, 400)
WINDOW = Box(300, 100, 200, 200)
SPOT = Point(100, 100)
NEAR, FAR, IN_WINDOW, CARET = Box(120, 90, 30, 20), Box(500, 350, 40, 20), Box(310, 110, 9, 9), Box(500, 340, 2, 18)


def frame(*changed: Box, settled: bool = True) -> Frame:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    for box in changed:
        image.paste("navy", (box.left, box.top, box.right, box.bottom))
    return Frame(image.tobytes(), SIZE, ":0", settled=settled)


@pytest.mark.parametrize(
    ("gesture", "changed", "outcome"),
    [
        (Click(SPOT), NEAR, "changed"),
        (Click(SPOT), FAR, "elsewhere"),
        (Click(SPOT), CARET, "unchanged"),
        (Click(Point(510, 350)), CARET, "changed"),
        (Move(SPOT), FAR, "elsewhere"),
        (Drag(SPOT, Point(510, 350)), FAR, "changed"),
        (Write("a", at=SPOT), NEAR, "changed"),
        (Write("a"), IN_WINDOW, "changed"),
        (Write("a"), NEAR, "elsewhere"),
        (Hotkey(("f1",)), FAR, "elsewhere"),
        (Pause(1), FAR, "changed"),
    ],
)
def test_a_change_is_near_the_target_or_elsewhere(gesture: Gesture, changed: Box, outcome: str) -> None:
    where = expected(gesture, WINDOW)
    assert judge(frame(), frame(changed), where).outcome == outcome
    assert judge(frame(), frame(), where).outcome == "unchanged"
    assert judge(frame(), frame(changed, settled=False), where).outcome == "unsettled"


@pytest.mark.parametrize(
    "changed",
    [
        (Box(0, 0, 640, 400),),
        (Box(0, 0, 1, 1),),
        (Box(639, 399, 1, 1),),
        (Box(7, 0, 3, 1), Box(600, 399, 2, 1)),
        (Box(50, 200, 1, 3), Box(40, 201, 2, 1)),
    ],
)
def test_the_box_bounds_exactly_the_changed_pixels(changed: tuple[Box, ...]) -> None:
    left, top = min(box.left for box in changed), min(box.top for box in changed)
    right, bottom = max(box.right for box in changed), max(box.bottom for box in changed)
    assert judge(frame(), frame(*changed)).box == Box(left, top, right - left, bottom - top)
    assert judge(frame(*changed), frame()).box == Box(left, top, right - left, bottom - top)


def test_the_sentence_names_the_place_without_a_change() -> None:
    said = [judge(frame(), frame(NEAR), expected(g, WINDOW)).sentence for g in (Click(Point(500, 300)), Write("a"))]
    assert said == [
        "The screen changed, but not where you clicked.",
        "The screen changed, but not in the window you wrote into.",
    ]


def test_keys_without_a_known_window_may_change_anything() -> None:
    assert judge(frame(), frame(FAR), expected(Write("a"), None)).outcome == "changed"


@pytest.mark.parametrize(
    ("label", "text", "fit"),
    [
        ("Search", "  SEARCH ", True),
        ("Search", "Search and delete", False),
        ("Search", "", False),
        ("Open*", "Open entry 7", True),
        ("* entry", "Open entry", True),
        ("Row 7", "Row 8", False),
        ("*", "", False),
        ("a.c", "abc", False),
    ],
)
def test_a_label_must_match_the_whole_text(label: str, text: str, fit: bool) -> None:
    assert fits(label, text) is fit


class Says:
    """Reads one text on the control, and a longer one around it."""

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return "Search Delete"

    async def on_target(self, frame: Frame, at: Point) -> str:
        return "Search"


class Broken(Says):
    async def on_target(self, frame: Frame, at: Point) -> str:
        raise OSError("the model's file is gone")


@pytest.mark.parametrize(
    ("gesture", "after", "labels", "reader", "may"),
    [
        (Click(SPOT), frame(), ("Search",), Says(), True),
        (Click(SPOT), frame(FAR), ("Search",), Says(), True),
        (Click(SPOT), frame(NEAR), ("Search",), Says(), False),
        (Click(SPOT), frame(), ("Delete",), Says(), False),
        (Click(SPOT), frame(), (), Says(), False),
        (Click(SPOT), frame(), ("*",), None, False),
        (Click(SPOT), frame(), ("*",), Broken(), False),
        (Click(SPOT, "right"), frame(), ("Search",), Says(), False),
        (Click(SPOT, count=2), frame(), ("Search",), Says(), False),
        (Write("a", at=SPOT), frame(), ("Search",), Says(), False),
        (None, frame(), ("Search",), Says(), False),
    ],
)
async def test_only_a_single_click_on_a_safe_label_may_be_repeated(
    gesture: Gesture | None, after: Frame, labels: tuple[str, ...], reader: Says | None, may: bool
) -> None:
    assert await may_repeat(gesture, frame(), after, labels, reader) is may


def test_the_second_click_stays_on_the_screen() -> None:
    for at in (SPOT, Point(639, 399), Point(0, 399)):
        click, dx, dy = shifted_click(Click(at), SIZE)
        assert click.at.inside(SIZE)
        assert click.at == Point(at.x + dx, at.y + dy) != at


def test_a_change_outside_some_boxes_is_told_from_one_inside() -> None:
    assert not changed_outside(frame(), frame(NEAR, FAR), [NEAR.grown(2), FAR])
    assert changed_outside(frame(), frame(NEAR, FAR), [NEAR])
    assert changed_outside(frame(NEAR), frame(), [FAR, Box(-50, -50, 10, 10)])
    assert not changed_outside(frame(NEAR), frame(NEAR), [])
