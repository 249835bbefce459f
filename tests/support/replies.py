"""Replies of a model, made from their intended meaning in the dialect of the terms. A fault changes a reply before it
is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from holo_tasks.contract.offered_tools import offered
from holo_tasks.contract.rulebook import Body, Terms
from holo_tasks.contract.tokens import text_tokens
from holo_tasks.contract.wire_messages import calls_of, step_of

Meaning = Mapping[str, Any]
THOUGHT = "Going on."
PARTIAL = {"tool": "answer", "content": "What I know so far."}
"""Reply to a last request, unless the script has an answer there."""


@dataclass
class Draft:
    """A reply before it is sent.

    ``values`` is the JSON object of the reply: the step, the arguments, the flat action or the point. ``text`` replaces
    its JSON text. ``content`` and ``calls`` replace the fields of the message. ``cut`` says where the connection ends.
    With ``hangs`` nothing is sent until the server releases it. ``let_go`` is called at the release, ``lost`` if the
    client had given up.
    """

    terms: Terms
    values: dict[str, Any]
    tool: str = ""
    beside: str | None = None
    number: int = 0
    text: str | None = None
    content: str | Literal[False] | None = False
    more_calls: list[dict[str, Any]] = field(default_factory=list)
    arguments_as_object: bool = False
    reasoning: dict[str, str] = field(default_factory=dict)
    finish_reason: str | None = None
    usage: dict[str, Any] | None = field(default_factory=dict)
    no_usage: bool = False
    no_choices: bool = False
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    cut: Literal["", "before the headers", "half-way"] = ""
    hangs: bool = False
    let_go: Callable[[], None] | None = None
    lost: Callable[[], None] | None = None

    @property
    def call(self) -> dict[str, Any]:
        """Return the object with the coordinates."""
        return self.values["tool_call"] if self.terms.dialect == "structured" else self.values

    @property
    def written(self) -> str:
        """Return the values as JSON text."""
        return json.dumps(self.values) if self.text is None else self.text

    def say(self, content: str | None) -> None:
        """Reply with this content and nothing else."""
        self.content = content

    @property
    def message(self) -> dict[str, Any]:
        """Return the assistant's message."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content, **self.reasoning}
        if self.content is not False:
            return message
        if self.terms.dialect != "tools":
            return {**message, "content": self.written}
        arguments: Any = self.values if self.arguments_as_object else self.written
        first = function(f"call_{self.number}_a", self.tool, arguments)
        return {**message, "content": self.beside, "tool_calls": [first, *self.more_calls]}

    @property
    def meant(self) -> dict[str, Any] | None:
        """Return the part that the next request has to replay: the message with a call, the step, or None."""
        if self.terms.dialect == "tools":
            return self.message
        return step_of({"content": json.dumps(self.values)}) or self.values

    def count(self, prompt: int, cached: int) -> None:
        """Set the token usage."""
        message = self.message
        calls = json.dumps(calls_of(message)) if calls_of(message) else ""
        produced = text_tokens(f"{message['content'] or ''}{calls}{''.join(self.reasoning.values())}")
        self.usage = {
            "prompt_tokens": prompt,
            "completion_tokens": produced,
            "total_tokens": prompt + produced,
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def completion(self, model: str) -> bytes:
        """Return the response body."""
        if self.raw is not None:
            return self.raw
        message = self.message
        finish = self.finish_reason or ("tool_calls" if calls_of(message) else "stop")
        choice = {"index": 0, "message": message, "finish_reason": finish}
        completion: dict[str, Any] = {
            "id": f"chatcmpl-{self.number}",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [] if self.no_choices else [choice],
        }
        return json.dumps(completion if self.no_usage else {**completion, "usage": self.usage}).encode()


def function(id_: str, name: str, arguments: Any) -> dict[str, Any]:
    """Return a function call in the format of a message."""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def draft_of(meaning: Meaning, body: Body, terms: Terms, number: int) -> Draft:
    """Return the draft of a meaning as a reply to a request, with the tool names of the request."""
    if terms.dialect == "localize":
        return Draft(terms, {key: value for key, value in meaning.items() if key not in ("tool", "note", "thought")})
    if terms.dialect == "holotron":
        return Draft(terms, _flat(meaning))
    tools = offered(body, terms)
    tool, rest = str(meaning["tool"]), {k: v for k, v in meaning.items() if k not in ("tool", "note", "thought")}
    if tool not in tools and f"{tool}_desktop" in tools:
        tool = f"{tool}_desktop"
    if terms.dialect == "tools":
        return Draft(terms, rest, tool=tool, beside=meaning.get("note"), number=number)
    note, thought = meaning.get("note"), meaning.get("thought", THOUGHT)
    return Draft(terms, {"note": note, "thought": thought, "tool_call": {"tool_name": tool, **rest}})


def _flat(meaning: Meaning) -> dict[str, Any]:
    """Return a meaning as a flat action. Raises for a meaning without a flat action."""
    right = meaning.get("button") == "right"
    actions = {
        "click": ("right_click" if right else "click", None),
        "move_to": ("hover", None),
        "write": ("type", meaning.get("content")),
        "write_at": ("type", meaning.get("content")),
        "scroll": ("scroll", f"{meaning.get('direction', 'down')}{meaning.get('scroll_size', 3)}"),
        "wait": ("wait", None),
        "answer": ("answer", meaning.get("content")),
    }
    action, text = actions[meaning["tool"]]
    return {
        "element_type": "other",
        "action": action,
        "x": meaning.get("x", 0) / 1000,
        "y": meaning.get("y", 0) / 1000,
        "text": text,
        "confidence": meaning.get("confidence", 0.9),
        "reasoning": meaning.get("thought", THOUGHT),
    }
