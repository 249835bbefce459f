"""A reply becomes a call only if it is exactly one of the model's tools, under the model's own names."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holo_tasks.core.errors import InvalidUsage, UnusableReply
from holo_tasks.core.prompts.tool_calls import MoveToCall
from holo_tasks.core.prompts.toolbox import CALLS, COORDINATES, STANDARD, Space, Toolbox, point_schema, read_point

SPACES: list[Space] = ["thousandths", "unit"]
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("element", "content", "question"), st.text(st.characters(exclude_categories=["Cs"]), max_size=30)),
    "button": st.sampled_from(["left", "middle", "right"]),
    "direction": st.sampled_from(["up", "down", "left", "right"]),
    **dict.fromkeys(("scroll_size", "repeat_count"), st.integers(1, 50)),
    **dict.fromkeys(("press_enter", "overwrite"), st.booleans()),
    "keys": st.lists(st.sampled_from(["ctrl", "s", "ä"]), min_size=1, max_size=5),
    "hold_keys": st.lists(st.sampled_from(["ctrl", "alt"]), min_size=1, max_size=4),
    "tap_keys": st.lists(st.sampled_from(["tab", "x"]), min_size=1, max_size=20),
    "seconds": st.floats(0.001, 60),
}
PLACES = {"thousandths": st.integers(0, 1000), "unit": st.decimals(0, 1, places=6).map(float)}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "click": {"element": "OK", "x": 0, "y": 1},
    "double_click": {"element": "OK", "x": 0, "y": 1},
    "move_to": {"element": "OK", "x": 0, "y": 1},
    "drag_and_drop": {"element": "OK", "x1": 0, "y1": 1, "x2": 0, "y2": 1},
    "scroll": {"element": "OK", "x": 0, "y": 1, "direction": "down"},
    "write_at": {"element": "OK", "x": 0, "y": 1, "content": "ä"},
}


def everything(**options: Any) -> Toolbox:
    return Toolbox(offered=tuple(CALLS), **options)


@st.composite
def flat_calls(draw: st.DrawFn, tool: str, toolbox: Toolbox) -> dict[str, Any]:
    """A call as a model writes it, with all of its fields."""
    values = {
        name: draw(PLACES[toolbox.space] if name in COORDINATES else FIELDS[name])
        for name in CALLS[tool].model_fields
        if name != "tool_name"
    }
    return {"tool_name": toolbox.name(tool), **values}


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("tool", CALLS)
@settings(max_examples=30)
@given(st.data())
def test_a_replayed_call_equals_the_original(tool: str, space: Space, data: st.DataObject) -> None:
    toolbox = everything(suffix="_desktop", names={"wait": "pause"}, space=space)
    call = toolbox.read(data.draw(flat_calls(tool, toolbox)))
    written = json.loads(json.dumps(toolbox.write(call)))
    assert written["tool_name"] == toolbox.name(tool)
    assert toolbox.read(written) == call


def test_tools_have_only_the_models_names() -> None:
    toolbox = Toolbox(suffix="_desktop", names={"wait": "pause"}, offered=("click", "wait", "ask_human"))
    assert [toolbox.name(tool) for tool in ("click", "wait", "ask_human", "answer")] == [
        "click_desktop",
        "pause",
        "ask_human",
        "answer",
    ]
    assert toolbox.read({"tool_name": "pause", "seconds": 1}).tool_name == "wait"
    for name in ("click", "wait", "wait_desktop", "answer_desktop", "write_desktop", "", None, 7, ["click_desktop"]):
        with pytest.raises(UnusableReply) as caught:
            toolbox.read({"tool_name": name, **ARGUMENTS["click"]})
        assert "click_desktop, pause, ask_human, answer" in caught.value.correction


def test_only_the_selected_tools_and_the_answer_are_offered() -> None:
    toolbox = Toolbox(offered=("wait",))
    assert [made["function"]["name"] for made in toolbox.functions()] == ["wait", "answer"]
    assert set(toolbox.step_schema()["$defs"]) == {"WaitCall", "AnswerCall"}
    assert [made["function"]["name"] for made in Toolbox().functions()] == list(STANDARD)
    assert "write_at" not in STANDARD


@pytest.mark.parametrize(
    "options",
    [
        {"offered": ["fly"]},
        {"names": {"fly": "soar"}},
        {"names": {"click": "write"}},
        {"names": {"click": "answer"}},
        {"names": {"click": ""}},
        {"names": {"click": "press it"}},
        {"suffix": "\n"},
    ],
)
def test_unknown_tools_and_duplicate_names_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidUsage):
        Toolbox(**options)


ODD = ["5", True, None, math.nan, math.inf, -math.inf, -1, 1001, 10**9, [0, 1], [480, 520], {"min": 0}, "", 1000.5]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("tool", ARGUMENTS)
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_invalid_coordinate_never_becomes_a_call(odd: Any, tool: str, space: Space) -> None:
    toolbox = everything(space=space)
    good = {"tool_name": tool, **ARGUMENTS[tool]}
    assert toolbox.read(good)
    for name in COORDINATES & good.keys():
        with pytest.raises(UnusableReply) as caught:
            toolbox.read({**good, name: odd})
        assert caught.value.tool == tool
        assert f"{name}: " in caught.value.correction
        with pytest.raises(UnusableReply):
            toolbox.read({key: value for key, value in good.items() if key != name})


def test_each_space_has_its_own_range() -> None:
    for number in (5.5, 0.5, 500.0):
        with pytest.raises(UnusableReply):
            Toolbox().read({"tool_name": "move_to", "element": "e", "x": number, "y": 0})
    for number in (2, 500, 1.0000001, -0.0001):
        with pytest.raises(UnusableReply):
            Toolbox(space="unit").read({"tool_name": "move_to", "element": "e", "x": number, "y": 0})


def test_the_last_pixel_is_on_the_picture() -> None:
    edge = MoveToCall(tool_name="move_to", element="e", x=1000, y=0)
    assert Toolbox().read({"tool_name": "move_to", "element": "e", "x": 1000, "y": 0}) == edge
    for one in (1, 1.0):
        assert Toolbox(space="unit").read({"tool_name": "move_to", "element": "e", "x": one, "y": 0}) == edge
    assert read_point({"x": 1000, "y": 0}, "thousandths") == (1000, 0)
    assert read_point({"x": 0.57, "y": 1.0}, "unit") == (570, 1000)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"x": 1},
        {"x": 1001, "y": 1},
        {"x": [1, 2], "y": 1},
        {"x": 1, "y": 1, "tool_name": "click"},
        {"x": 1, "y": 1, "element": "OK"},
        {"x": 1, "y": 1, "button": "right"},
    ],
)
def test_a_point_is_exactly_two_coordinates(value: dict[str, Any]) -> None:
    with pytest.raises(UnusableReply) as caught:
        read_point(value, "thousandths")
    assert caught.value.correction


@pytest.mark.parametrize(
    "call",
    [
        {"tool_name": "wait", "seconds": True},
        {"tool_name": "wait", "seconds": "1"},
        {"tool_name": "wait", "seconds": math.nan},
        {"tool_name": "wait", "seconds": math.inf},
        {"tool_name": "write", "content": "a", "press_enter": "yes"},
        {"tool_name": "write", "content": None},
        {"tool_name": "write", "content": "a", "x": 5, "y": 5},
        {"tool_name": "hotkey", "keys": "ctrl"},
        {"tool_name": "hotkey", "keys": ["ctrl"], "repeat_count": 2.0},
        {"tool_name": "click", "element": "OK", "x": 5, "y": 5, "tool": "double_click"},
        {"tool_name": "click", "element": "OK", "x": 5, "y": 5, "\ud800": 1},
        {"tool_name": "\ud800"},
    ],
)
def test_invalid_calls_are_not_repaired_and_have_a_correction(call: dict[str, Any]) -> None:
    with pytest.raises(UnusableReply) as caught:
        everything().read(call)
    assert f"{caught.value} {caught.value.correction} {caught.value.tool}".encode()


def test_only_an_answer_is_accepted_and_declared_at_the_end() -> None:
    toolbox = Toolbox(names={"answer": "finish"})
    assert toolbox.read({"tool_name": "finish", "content": "7"}, answer_only=True).tool_name == "answer"
    with pytest.raises(UnusableReply, match=r"there are: finish\)"):
        toolbox.read({"tool_name": "wait", "seconds": 1}, answer_only=True)
    assert [made["function"]["name"] for made in toolbox.functions(answer_only=True)] == ["finish"]
    assert set(toolbox.step_schema(answer_only=True)["$defs"]) == {"AnswerCall"}


@pytest.mark.parametrize("space", SPACES)
def test_the_step_schema_is_closed_and_discriminated_by_name(space: Space) -> None:
    toolbox = everything(suffix="_desktop", space=space)
    schema = toolbox.step_schema()
    kinds = schema["$defs"].values()
    assert [kind["properties"]["tool_name"]["const"] for kind in kinds] == [toolbox.name(tool) for tool in CALLS]
    assert all(kind["additionalProperties"] is False for kind in (schema, *kinds))
    assert all("tool_name" in kind["required"] for kind in kinds)
    assert [variant["$ref"].rpartition("/")[2] for variant in schema["properties"]["tool_call"]["anyOf"]] == list(
        schema["$defs"]
    )
    wanted = ("integer", 0, 1000) if space == "thousandths" else ("number", 0, 1)
    found = [kind["properties"][name] for kind in kinds for name in COORDINATES & kind["properties"].keys()]
    assert {(rule["type"], rule["minimum"], rule["maximum"]) for rule in [*found]} == {wanted}
    place = point_schema(space)
    assert {(rule["type"], rule["minimum"], rule["maximum"]) for rule in place["properties"].values()} == {wanted}


def test_functions_equal_the_step_schema_without_the_tag() -> None:
    toolbox = everything(suffix="_desktop")
    declared = {made["function"]["name"]: made["function"] for made in toolbox.functions()}
    assert list(declared) == [toolbox.name(tool) for tool in CALLS]
    for tool in CALLS:
        schema, parameters = toolbox.schema(tool), declared[toolbox.name(tool)]["parameters"]
        assert parameters["additionalProperties"] is False
        assert "tool_name" not in parameters["properties"]
        assert [*parameters["required"], "tool_name"] == [*schema["required"][1:], "tool_name"]
        assert {**parameters["properties"], "tool_name": schema["properties"]["tool_name"]} == schema["properties"]
        assert declared[toolbox.name(tool)]["description"]
