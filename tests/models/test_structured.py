"""Replies in structured mode are untrusted until they are parsed to a `Step`."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import ClickCall
from holo_tasks.core.prompts.toolbox import Toolbox
from holo_tasks.models.dialects.structured import Structured
from holo_tasks.models.profile import profile_for

DIALECT = Structured(profile_for("holo3-1-35b-a3b"))


def parse_step(text: str, *, answer_only: bool = False) -> Step:
    return DIALECT.parse(Reply(text, "stop", None), answer_only=answer_only)


def reply(**tool_call: object) -> str:
    return json.dumps({"note": None, "thought": "t", "tool_call": tool_call})


def test_a_step_is_read_with_its_typed_call() -> None:
    step = parse_step(reply(tool_name="click", element="OK", x=500, y=1000))
    assert step.tool_call == ClickCall(tool_name="click", element="OK", x=500, y=1000)


def test_a_code_fence_is_ignored() -> None:
    text = reply(tool_name="wait", seconds=1)
    assert parse_step(f"```json\n{text}\n```") == parse_step(text)


def test_leading_reasoning_is_ignored() -> None:
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
def test_an_invalid_step_gets_a_correction(text: str) -> None:
    with pytest.raises(UnusableReply) as caught:
        parse_step(text)
    assert caught.value.correction


def test_a_correction_names_the_intended_tool() -> None:
    with pytest.raises(UnusableReply) as caught:
        parse_step(reply(tool_name="click", element="OK", x=1001, y=5))
    assert caught.value.tool == "click"
    assert "x: '1001'" in caught.value.correction
    assert "drag" not in caught.value.correction


def test_at_the_step_limit_only_an_answer_is_accepted() -> None:
    with pytest.raises(UnusableReply):
        parse_step(reply(tool_name="click", element="OK", x=1, y=1), answer_only=True)
    assert parse_step(reply(tool_name="answer", content="x"), answer_only=True).tool_call.tool_name == "answer"


@given(
    st.text(max_size=300)
    | st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(
        json.dumps
    )
)
def test_free_text_never_becomes_an_action(text: str) -> None:
    with pytest.raises(UnusableReply):
        parse_step(text)


def test_the_schema_tags_every_tool_and_allows_nothing_else() -> None:
    schema = Toolbox().step_schema()
    variants = [schema["$defs"][item["$ref"].split("/")[-1]] for item in schema["properties"]["tool_call"]["anyOf"]]
    names = {variant["properties"]["tool_name"]["const"] for variant in variants}
    assert {"click", "write", "answer", "scroll", "drag_and_drop", "hotkey", "wait"} <= names
    assert all(variant["additionalProperties"] is False for variant in [*variants, schema])
