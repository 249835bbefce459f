"""Replies are untrusted until they are a Step; a wrong coordinate is never moved into range."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.actions import ClickCall, WaitCall, label
from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.frame import Shot
from holo_tasks.core.geometry import Point, Size
from holo_tasks.core.gestures import Click, Drag, Scroll
from holo_tasks.core.scaling import to_gesture, to_pixel
from holo_tasks.core.step import FinalStep, Step, parse_step

SCREEN = Size(1280, 800)


def shot(screen: Size = SCREEN, sent: Size | None = None) -> Shot:
    return Shot(b"", "image/jpeg", "0" * 64, sent or screen, screen, "0" * 64)


def reply(**tool_call: object) -> str:
    return json.dumps({"note": None, "thought": "t", "tool_call": tool_call})


def test_a_step_is_read_with_its_typed_call() -> None:
    step = parse_step(reply(tool_name="click", element="OK", x=500, y=1000))
    assert step.tool_call == ClickCall(tool_name="click", element="OK", x=500, y=1000)


def test_a_fence_around_the_object_changes_nothing() -> None:
    text = reply(tool_name="wait", seconds=1)
    assert parse_step(f"```json\n{text}\n```") == parse_step(text)


def test_reasoning_left_in_front_of_the_object_changes_nothing() -> None:
    text = reply(tool_name="wait", seconds=1)
    assert parse_step(f"<think>I might {{click}}.</think>\n\n{text}") == parse_step(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<think>" + reply(tool_name="wait", seconds=1),
        "I will click the button now.",
        "[]",
        "null",
        '{"note": null, "thought": "t"}',
        reply(tool_name="launch_missiles"),
        reply(tool_name="click", element="OK", x=1001, y=5),
        reply(tool_name="click", element="OK", x=-1, y=5),
        reply(tool_name="click", element="OK", x=10**9, y=5),
        reply(tool_name="click", element="OK", x="5", y=5),
        reply(tool_name="click", element="OK", x=5.5, y=5),
        reply(tool_name="click", element="OK", x=True, y=5),
        reply(tool_name="click", element="OK", x=[480, 520], y=[10, 20]),
        reply(tool_name="click", element="OK", x=5, y=5, force=True),
        reply(tool_name="hotkey", keys=[]),
        reply(tool_name="hotkey", keys=["a"] * 6),
        reply(tool_name="wait", seconds=-1),
        reply(tool_name="answer", content="\ud800"),
        '{"note": null, "thought": "t", "tool_call": {"tool_name": "wait", "seconds": NaN}}',
        '{"thought": "a", "thought": "b", "tool_call": {"tool_name": "wait", "seconds": 1}}',
        reply(tool_name="answer", content="yes") + reply(tool_name="answer", content="no"),
    ],
)
def test_what_is_not_exactly_a_step_is_refused_with_a_correction(text: str) -> None:
    with pytest.raises(UnusableReply) as caught:
        parse_step(text)
    assert caught.value.correction


def test_a_correction_speaks_about_the_tool_that_was_meant() -> None:
    with pytest.raises(UnusableReply) as caught:
        parse_step(reply(tool_name="click", element="OK", x=1001, y=5))
    assert caught.value.tool == "click"
    assert "tool_call.x" in caught.value.correction
    assert "drag" not in caught.value.correction


def test_at_the_step_limit_only_an_answer_is_a_step() -> None:
    with pytest.raises(UnusableReply):
        parse_step(reply(tool_name="click", element="OK", x=1, y=1), FinalStep)
    assert parse_step(reply(tool_name="answer", content="x"), FinalStep).tool_call.tool_name == "answer"


@given(
    st.text(max_size=300)
    | st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(
        json.dumps
    )
)
def test_babble_never_becomes_an_action(text: str) -> None:
    with pytest.raises(UnusableReply):
        parse_step(text)


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
def test_off_the_picture_is_an_error_and_never_clamped(x: int, y: int) -> None:
    with pytest.raises(UnusableReply):
        to_pixel(x, y, shot())


def test_calls_become_gestures() -> None:
    def gesture(**call: object) -> object:
        return to_gesture(parse_step(reply(**call)).tool_call, shot())

    assert gesture(tool_name="double_click", element="e", x=0, y=0) == Click(Point(0, 0), count=2)
    assert gesture(tool_name="click", element="e", x=0, y=0, button="right") == Click(Point(0, 0), "right")
    assert gesture(tool_name="drag_and_drop", element="e", x1=0, y1=0, x2=1000, y2=0) == Drag(
        Point(0, 0), Point(1279, 0)
    )
    assert gesture(tool_name="scroll", element="e", x=0, y=0, direction="down", scroll_size=2) == Scroll(
        Point(0, 0), "down", 2
    )
    assert gesture(tool_name="answer", content="e") is None


def test_labels_read_like_a_story() -> None:
    assert label(ClickCall(tool_name="click", element="Search button", x=1, y=1)) == "click ‘Search button’"
    assert label(WaitCall(tool_name="wait", seconds=0.5)) == "wait 0.5 s"


def test_the_schema_tags_every_tool_and_allows_nothing_else() -> None:
    schema = Step.model_json_schema()
    variants = [schema["$defs"][item["$ref"].split("/")[-1]] for item in schema["properties"]["tool_call"]["anyOf"]]
    names = {variant["properties"]["tool_name"]["const"] for variant in variants}
    assert {"click", "write", "answer", "scroll", "drag_and_drop", "hotkey", "wait"} <= names
    assert all(variant["additionalProperties"] is False for variant in [*variants, schema])
