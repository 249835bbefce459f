"""A wrong coordinate is never moved into range, and a valid one maps to the pixel that the model means."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.input.gestures import Click, Drag, Move, Scroll, Write
from holo_tasks.core.prompts.call_to_gesture import to_gesture, to_pixel, to_thousandths
from holo_tasks.core.prompts.tool_calls import AnyCall, ClickCall, WaitCall, label
from holo_tasks.core.prompts.toolbox import Toolbox
from holo_tasks.core.screen.calibration import Axis, Correction
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Box, Point, Size

SCREEN = Size(1280, 800)


def shot(screen: Size = SCREEN, sent: Size | None = None, region: Box | None = None) -> Shot:
    return Shot(b"", "image/jpeg", "0" * 64, sent or screen, screen, "0" * 64, region=region)


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 5000), st.integers(1, 5000))
def test_every_valid_coordinate_is_a_pixel_of_the_screen(x: int, y: int, width: int, height: int) -> None:
    assert to_pixel(x, y, shot(Size(width, height))).inside(Size(width, height))


def test_pixels_are_truncated_and_a_thousand_is_the_last_one() -> None:
    assert to_pixel(500, 333, shot()) == Point(640, 266)
    assert to_pixel(1000, 1000, shot()) == Point(1279, 799)
    assert to_pixel(0, 0, shot()) == Point(0, 0)


def test_a_resized_picture_still_means_the_whole_screen() -> None:
    assert to_pixel(500, 500, shot(Size(2560, 1600), Size(1280, 800))) == Point(1280, 800)


@pytest.mark.parametrize(("x", "y"), [(1001, 0), (-1, 0), (0, 10**9)])
def test_coordinates_off_the_picture_raise_an_error_and_are_never_clamped(x: int, y: int) -> None:
    with pytest.raises(UnusableReply):
        to_pixel(x, y, shot())


def test_coordinates_on_a_region_map_to_the_whole_screen() -> None:
    part = shot(region=Box(640, 400, 320, 200))
    assert to_pixel(0, 0, part) == Point(640, 400)
    assert to_pixel(500, 500, part) == Point(800, 500)
    assert to_pixel(1000, 1000, part) == Point(959, 599)


@given(st.integers(0, 319), st.integers(0, 199), st.sampled_from([1.0, 0.98, 1.03]), st.sampled_from([0.0, 4.0, -7.0]))
def test_the_coordinates_of_a_pixel_lead_back_to_it(x: int, y: int, factor: float, offset: float) -> None:
    at, part = Point(640 + x, 400 + y), shot(region=Box(640, 400, 320, 200))
    assert to_pixel(*to_thousandths(at, part) or (0, 0), part) == at
    axis = Axis(factor, offset)
    corrected = replace(part, correction=Correction(axis, axis))
    if 20 < x < 300 and 20 < y < 180:
        found = to_pixel(*to_thousandths(at, corrected) or (0, 0), corrected)
        assert abs(found.x - at.x) + abs(found.y - at.y) <= 1
    assert to_thousandths(Point(639, 400), part) is None


@given(st.decimals(0, 1, places=4), st.integers(1, 5000))
def test_fractions_of_the_screen_are_not_rounded_to_thousandths(x: Decimal, width: int) -> None:
    call: AnyCall = Toolbox(space="unit").read({"tool_name": "move_to", "element": "e", "x": float(x), "y": 0})
    found = to_gesture(call, shot(Size(width, 100)))
    assert found == Move(Point(min(int(x * width), width - 1), 0))


def test_calls_become_gestures() -> None:
    def gesture(**call: object) -> object:
        return to_gesture(Toolbox().read(call), shot())

    assert gesture(tool_name="double_click", element="e", x=0, y=0) == Click(Point(0, 0), count=2)
    assert gesture(tool_name="click", element="e", x=0, y=0, button="right") == Click(Point(0, 0), "right")
    assert gesture(tool_name="drag_and_drop", element="e", x1=0, y1=0, x2=1000, y2=0) == Drag(
        Point(0, 0), Point(1279, 0)
    )
    assert gesture(tool_name="scroll", element="e", x=0, y=0, direction="down", scroll_size=2) == Scroll(
        Point(0, 0), "down", 2
    )
    assert gesture(tool_name="answer", content="e") is None
    everything = Toolbox(offered=("write_at",))
    call = everything.read({"tool_name": "write_at", "element": "e", "x": 0, "y": 0, "content": "ä"})
    assert to_gesture(call, shot()) == Write("ä", at=Point(0, 0))


def test_labels_describe_calls_in_words() -> None:
    assert label(ClickCall(tool_name="click", element="Search button", x=1, y=1)) == "click ‘Search button’"
    assert label(WaitCall(tool_name="wait", seconds=0.5)) == "wait 0.5 s"
