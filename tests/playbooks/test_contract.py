"""Each rule of the contract is shown to fire, and to fire alone where it can."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from holo_tasks.playbooks.contract import breaches, rules
from holo_tasks.playbooks.messages import schema_of
from holo_tasks.playbooks.rulebook import Terms

PNG = "data:image/png;base64,"


def messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    return body["messages"]


def pictured(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [m for m in messages(body) if isinstance(m["content"], list) and m["content"][1]["type"] == "image_url"]


def image(body: dict[str, Any]) -> dict[str, Any]:
    return pictured(body)[-1]["content"][1]["image_url"]


def with_schema(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """Change the schema where it is sent and where it is shown, so that only the schema is wrong."""

    def breaker(body: dict[str, Any]) -> None:
        schema = copy.deepcopy(schema_of(body))
        change(schema)
        body["structured_outputs"] = {"json": schema}
        block = f"<output_format>\n```json\n{json.dumps(schema)}\n```\n</output_format>"
        messages(body)[0]["content"] = f"Do.\n\n{block}"

    return breaker


def put_images(count: int) -> Callable[[dict[str, Any]], None]:
    def breaker(body: dict[str, Any]) -> None:
        picture = image(body)["url"]
        seen = [m for m in messages(body) if isinstance(m["content"], list)]
        for message in seen[-count:]:
            message["content"][1] = {"type": "image_url", "image_url": {"url": picture}}

    return breaker


def set_last_step(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def breaker(body: dict[str, Any]) -> None:
        last = [m for m in messages(body) if m["role"] == "assistant"][-1]
        last["content"] = json.dumps({**json.loads(last["content"]), **changes})

    return breaker


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Set a place like `messages.3.content`; `...` removes it."""

    def breaker(body: dict[str, Any]) -> None:
        node: Any = body
        *way, last = [int(p) if p.lstrip("-").isdigit() else p for p in path.split(".")]
        for step in way:
            node = node[step]
        if value is ...:
            del node[last]
        else:
            node[last] = value

    return breaker


def swap_image(body: dict[str, Any]) -> None:
    """Evict the newest image but one instead of the oldest."""
    pictured(body)[1]["content"][1] = {"type": "text", "text": "gone"}


def image_in_the_task(body: dict[str, Any]) -> None:
    picture = pictured(body)[0]["content"][1]
    pictured(body)[0]["content"][1] = {"type": "text", "text": "gone"}
    messages(body)[3]["content"] = [{"type": "text", "text": messages(body)[3]["content"]}, picture]


def no_answer(schema: dict[str, Any]) -> None:
    schema["$defs"]["AnswerCall"]["properties"]["tool_name"]["const"] = "reply"


BREAKERS: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("S01", change("model", "")),
    ("S01", change("messages", [])),
    ("S02", change("tools", [])),
    ("S02", change("tool_choice", "auto")),
    ("S03", change("extra_body", {"structured_outputs": {}})),
    ("S04", change("structured_outputs", ...)),
    ("S04", change("guided_json", {})),
    ("S04", change("response_format", {"type": "json_object"})),
    ("S05", with_schema(lambda s: s["properties"].pop("note"))),
    ("S05", with_schema(lambda s: s["required"].remove("thought"))),
    ("S06", with_schema(lambda s: s["$defs"]["ClickCall"]["properties"]["tool_name"].pop("const"))),
    ("S06", with_schema(lambda s: s["$defs"]["ClickCall"]["required"].remove("tool_name"))),
    ("S07", with_schema(lambda s: s["$defs"]["ClickCall"].pop("additionalProperties"))),
    ("S07", with_schema(lambda s: s.update(additionalProperties=True))),
    ("S08", with_schema(no_answer)),
    ("S10", lambda b: messages(b).append({"role": "system", "content": "Also."})),
    ("S10", change("messages.0", ...)),
    ("S11", change("messages.0.content", [{"type": "image_url", "image_url": {"url": PNG}}])),
    ("S12", change("messages.0.content", "No format here.")),
    ("S12", change("messages.0.content", "<output_format>\n```json\n{}\n```\n</output_format>")),
    ("S12", change("messages.0.content", "<output_format>\n```json\n{,}\n```\n</output_format>")),
    ("S20", change("messages.1", ...)),
    ("S20", change("messages.1.content", " ")),
    ("S21", change("messages.3", ...)),
    ("S21", lambda b: messages(b).insert(3, messages(b)[2])),
    ("S22", change("messages.-1.content.0.text", "<observation>")),
    ("S22", lambda b: pictured(b)[-1]["content"].insert(1, {"type": "text", "text": "Look:"})),
    ("S22", change("messages.2.content", "<observation>\n\n</observation>")),
    ("S23", set_last_step(tool_call="click")),
    ("S23", set_last_step(mood="good")),
    ("S23", set_last_step(tool_call={"tool_name": "click", "arguments": {"x": 1}})),
    ("S23", change("messages.3.content", "I will click.")),
    ("S24", change("messages.4.content", "Clicked.")),
    ("S24", change("messages.4.content", '<tool_output tool="click">Clicked.</tool_output>')),
    ("S25", change("messages.4.content", '<tool_output tool="write">\nWrote.\n</tool_output>')),
    ("S26", change("messages.-1", ...)),
    ("S26", change("messages.-1.content.1", {"type": "text", "text": "gone"})),
    ("S27", lambda b: messages(b).insert(2, {"role": "user", "content": '<error tool="click">\nNo.\n</error>'})),
    ("S30", put_images(4)),
    ("S31", put_images(6)),
    ("S32", swap_image),
    ("S33", image_in_the_task),
    ("S34", lambda b: image(b).update(url="https://example.org/screen.png")),
    ("S34", lambda b: image(b).update(url=image(b)["url"].replace("image/png", "image/gif"))),
    ("S35", lambda b: image(b).update(url=image(b)["url"].replace("image/png", "image/jpeg"))),
    ("S36", lambda b: image(b).update(url=image(b)["url"][: len(PNG) + 96])),
    ("S40", change("messages.3.reasoning_content", "Hm.")),
    ("S40", change("messages.3.reasoning", None)),
    ("S40", set_last_step(thought="<think>Hm.</think> Yes.")),
    ("S41", change("temperature", 0)),
    ("S41", change("temperature", ...)),
    ("S42", change("chat_template_kwargs", {"enable_thinking": False})),
    ("S42", change("reasoning_effort", "none")),
]

# What cannot be broken without breaking another rule too.
COMPANIONS = {
    "S01": {"S10", "S12", "S20", "S26"},
    "S10": {"S20", "S21", "S11", "S12", "S26", "S32"},
    "S11": {"S12", "S33", "S36", "S34", "S35", "S30", "S31", "S32"},
    "S20": {"S21", "S25", "S27"},
    "S23": {"S21", "S25"},
    "S24": {"S25"},
    "S26": {"S32", "S21", "S22"},
    "S31": {"S30"},
    "S33": {"S21", "S22", "S24", "S30", "S32"},
    "S34": {"S35"},
    "S04": {"S05", "S06", "S07", "S08", "S12"},
    "S06": {"S08"},
}


@pytest.mark.parametrize(("rule", "breaker"), BREAKERS, ids=[f"{n}-{r}" for n, (r, _) in enumerate(BREAKERS)])
def test_a_broken_rule_is_named(rule: str, breaker: Callable[[dict[str, Any]], None], body: Any) -> None:
    request = copy.deepcopy(body(6 if rule == "S31" else 4))
    breaker(request)
    named = [breach.rule.id for breach in breaches(request)]
    assert rule in named
    assert set(named) <= {rule} | COMPANIONS.get(rule, set())


def test_every_rule_is_shown_to_fire() -> None:
    assert {rule.id for rule in rules()} == {rule for rule, _ in BREAKERS}
    assert len({rule.id for rule in rules()}) == len(rules())


@pytest.mark.parametrize("steps", range(8))
def test_what_the_product_sends_breaks_nothing(steps: int, body: Any) -> None:
    assert breaches(body(steps)) == []
    assert breaches(body(steps, correction=True)) == []
    assert breaches(body(steps, final=True)) == []


def test_the_schema_may_travel_as_response_format(body: Any) -> None:
    request = body()
    schema = request.pop("structured_outputs")["json"]
    request["response_format"] = {"type": "json_schema", "json_schema": {"name": "step", "schema": schema}}
    assert breaches(request, Terms(transport="response_format")) == []
    assert "S04" in [breach.rule.id for breach in breaches(request)]


@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"model": 5, "messages": "hello"},
        {"messages": [None, 3, {"role": "user"}, {"role": "assistant", "content": None}]},
        {"messages": [{"role": "user", "content": [None, {"type": "image_url", "image_url": 3}]}]},
        {"structured_outputs": {"json": {"properties": [], "required": {}, "$defs": 3}}},
        {"structured_outputs": {"json": {"properties": {"tool_call": {"anyOf": 3}}}}},
        {"structured_outputs": {"json": {"properties": {"tool_call": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}}}},
        {"structured_outputs": [], "chat_template_kwargs": 3, "response_format": "text"},
    ],
)
def test_nonsense_is_refused_not_choked_on(nonsense: dict[str, Any]) -> None:
    assert breaches(nonsense)
