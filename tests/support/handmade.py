"""Requests written by hand according to the contract, without any of the product's own request code."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from PIL import Image

from holo_tasks.contract.rulebook import Dialect, Terms

Body = dict[str, Any]
TASK = "Save the file."
GONE = "[screenshot evicted]"
SYSTEM = "You operate a computer for a person."
LAST_WORDS = "No more actions are possible. Give the best answer from what you know."
OPEN, CLOSE = "<observation>\n", "\n</observation>"
INTEGER = {"type": "integer", "minimum": 0, "maximum": 1000}
PLACE = {"element": {"type": "string"}, "x": INTEGER, "y": INTEGER}
BUTTON = {"enum": ["left", "middle", "right"], "default": "left"}
TOOLS: dict[str, dict[str, Any]] = {
    "click": {**PLACE, "button": BUTTON},
    "write": {"content": {"type": "string"}, "press_enter": {"type": "boolean", "default": False}},
    "wait": {"seconds": {"type": "number"}},
    "answer": {"content": {"type": "string"}},
    "ask_human": {"question": {"type": "string"}},
}
FLAT = {
    "element_type": {"type": "string"},
    "action": {"enum": ["click", "right_click", "type", "scroll", "hover", "wait", "answer"]},
    "x": {"type": "number", "minimum": 0, "maximum": 1},
    "y": {"type": "number", "minimum": 0, "maximum": 1},
    "text": {"type": ["string", "null"]},
    "confidence": {"type": "number"},
    "reasoning": {"type": "string"},
}
TERMS: dict[Dialect, Terms] = {
    "structured": Terms(),
    "tools": Terms(dialect="tools"),
    "holotron": Terms(dialect="holotron", transport="json_object"),
    "localize": Terms(dialect="localize"),
}


@dataclass(frozen=True)
class Turn:
    """One past step with its outcome, as each dialect needs it."""

    call: dict[str, Any]
    told: str = "Done."
    note: str | None = None
    thought: str = "Going on."
    id: str = ""
    reasoning: str = ""


@dataclass(frozen=True)
class Talk:
    """A conversation: its steps, and its fixed texts. Pictures are numbered from ``seen`` on.

    ``strips`` are the observations that also show a strip of earlier screens. ``left_out`` counts the old turns that
    are omitted.
    """

    turns: Sequence[Turn] = ()
    task: str = TASK
    correction: str = ""
    final: bool = False
    suffix: str = ""
    strips: frozenset[int] = frozenset()
    left_out: int = 0
    images: int = 3
    more: Body = field(default_factory=dict)


def turns(count: int) -> tuple[Turn, ...]:
    """Return the given number of distinct steps."""
    return tuple(
        Turn({"tool_name": "click", "element": f"Button {n}", "x": n, "y": 6, "button": "left"}, id=f"call_{n}")
        for n in range(count)
    )


@cache
def picture(number: int) -> dict[str, Any]:
    """Return an image part. Pictures with different numbers differ in colour and may differ in format."""
    buffer, kind = io.BytesIO(), ("PNG", "JPEG", "WEBP")[number % 3]
    Image.new("RGB", (64, 48), ((37 * number) % 256, 80, 160)).save(buffer, kind)
    data = base64.b64encode(buffer.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind.lower()};base64,{data}"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(content: Any) -> Body:
    return {"role": "user", "content": content}


def made(dialect: Dialect, talk: Talk) -> Body:
    """Return the next request of a conversation in a dialect. A localization question has no history."""
    makers = {"structured": structured, "tools": tools, "holotron": holotron, "localize": localize}
    return json.loads(json.dumps({**makers[dialect](talk), **talk.more}))


def structured(talk: Talk) -> Body:
    schema = step_schema(talk)
    shown = f"<output_format>\n```json\n{json.dumps(schema)}\n```\n</output_format>"
    words = f"{SYSTEM} {LAST_WORDS}" if talk.final else SYSTEM
    messages = [{"role": "system", "content": f"{words}\n\n{shown}"}, *_conversation(talk, _step)]
    return {**_asked(messages), "structured_outputs": {"json": schema}}


def tools(talk: Talk) -> Body:
    messages = [{"role": "system", "content": SYSTEM}, *_conversation(talk, _called)]
    if talk.final and not talk.correction:
        messages.insert(len(messages) - 1, user(LAST_WORDS))
    functions = [
        {"name": name, "description": f"Use {name}.", "parameters": _object(properties)}
        for name, properties in _offered(talk).items()
    ]
    offered = [{"type": "function", "function": function} for function in functions]
    return {**_asked(messages), "tools": offered, "tool_choice": "required"}


def holotron(talk: Talk) -> Body:
    recent = "\n".join(f"- {turn.call}: {turn.thought}" for turn in talk.turns[-5:]) or "None yet"
    task = talk.task + (f"\n\nEarlier steps left out: {talk.left_out}." if talk.left_out else "")
    words = [f"Task: {task}", f"Recent actions:\n{recent}"]
    words += [f"Your last reply could not be used: {talk.correction}"] if talk.correction else []
    words += [LAST_WORDS if talk.final else "Give the next action."]
    system = f"{SYSTEM} Reply with JSON: {', '.join(json.dumps(key) for key in FLAT)}."
    shown = [picture(len(talk.turns)), text("\n\n".join(words))]
    return {
        "model": "holotron-12b",
        "messages": [{"role": "system", "content": system}, user(shown)],
        "temperature": 0.1,
        "max_tokens": 256,
        "response_format": {"type": "json_object"},
    }


def localize(talk: Talk) -> Body:
    question = talk.task + (f"\n\n{talk.correction}" if talk.correction else "")
    return {
        "model": "holo3-1-35b-a3b",
        "messages": [user([picture(talk.left_out), text(question)])],
        "temperature": 0,
        "max_tokens": 256,
        "chat_template_kwargs": {"enable_thinking": False},
        "structured_outputs": {"json": _object({"x": INTEGER, "y": INTEGER})},
    }


def step_schema(talk: Talk) -> dict[str, Any]:
    kinds = {name: _object({"tool_name": {"const": name}, **tool}) for name, tool in _offered(talk).items()}
    step = {
        "note": {"type": ["string", "null"], "default": None},
        "thought": {"type": "string"},
        "tool_call": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in kinds]},
    }
    return {"$defs": kinds, **_object(step)}


def _offered(talk: Talk) -> dict[str, dict[str, Any]]:
    names = ["answer"] if talk.final else list(TOOLS)
    return {name + ("" if name in ("answer", "ask_human") else talk.suffix): TOOLS[name] for name in names}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    required = [name for name, rule in properties.items() if "default" not in rule]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _asked(messages: list[Body]) -> Body:
    return {
        "model": "holo3-1-35b-a3b",
        "messages": messages,
        "temperature": 0.8,
        "max_tokens": 1024,
        "reasoning_effort": "medium",
        "chat_template_kwargs": {"enable_thinking": True},
    }


def _conversation(talk: Talk, write: Any) -> list[Body]:
    gone = f"\n\nEarlier steps left out: {talk.left_out}. Noted in them:\n- nothing" if talk.left_out else ""
    told, count = talk.turns[talk.left_out :], len(talk.turns)
    slots = [
        (n, strip) for n in range(talk.left_out, count + 1) for strip in (True, False) if not strip or n in talk.strips
    ]
    shown = set(slots[-talk.images :])
    messages = [user(f"{talk.task}{gone}"), _observation(talk, talk.left_out, shown)]
    for number, turn in enumerate(told, start=talk.left_out):
        messages += [*write(turn), _observation(talk, number + 1, shown)]
    if talk.correction:
        messages.insert(len(messages) - 1, user(f'<error tool="format">\n{talk.correction}\n</error>'))
    return messages


def _observation(talk: Talk, number: int, shown: set[tuple[int, bool]]) -> Body:
    screen = picture(number) if (number, False) in shown else text(GONE)
    if number not in talk.strips:
        return user([text(OPEN), screen, text(CLOSE)])
    strip = picture(100 + number) if (number, True) in shown else text(GONE)
    return user([text(OPEN), text("Your last actions:\n"), strip, text("\nThe screen now:\n"), screen, text(CLOSE)])


def _step(turn: Turn) -> list[Body]:
    step = {"note": turn.note, "thought": turn.thought, "tool_call": turn.call}
    told = f'<tool_output tool="{turn.call["tool_name"]}">\n{turn.told}\n</tool_output>'
    return [{"role": "assistant", "content": json.dumps(step)}, user(told)]


def _called(turn: Turn) -> list[Body]:
    arguments = {key: value for key, value in turn.call.items() if key != "tool_name"}
    function = {"name": turn.call["tool_name"], "arguments": json.dumps(arguments)}
    message: Body = {
        "role": "assistant",
        "content": turn.note or "",
        "tool_calls": [{"id": turn.id, "type": "function", "function": function}],
    }
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    return [message, {"role": "tool", "tool_call_id": turn.id, "content": turn.told}]
