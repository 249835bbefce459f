"""Read the messages of a request without trust in their form. The rule books and the rehearsal model use it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

OPEN, CLOSE = "<observation>\n", "\n</observation>"
LEFT_OUT = "\n\nEarlier steps left out: "
"""Start of the note in a task message that old turns were removed from a full context."""
NOTED = "\n\nNote: "
"""Separator of thought and note in the text of a function call."""
Kind: TypeAlias = Literal["system", "task", "observation", "step", "result", "correction", "notice", "other"]

_RESULT = re.compile(
    r'<tool_output tool="(?P<told>[^"\n]+)">\n(?P<text>.*)\n</tool_output>'
    r'|<error tool="(?P<failed>[^"\n]+)">\n?(?P<problem>.*?)\n?</error>',
    re.DOTALL,
)
_ERROR = re.compile(r"\s*(<error\b|error\b)", re.IGNORECASE)
_DATA_URI = re.compile(r"data:(?P<mime>[\w.+/-]+);base64,(?P<data>[A-Za-z0-9+/=]*)")


@dataclass(frozen=True)
class Turn:
    """A step of the model, with the result that it was given."""

    tool: str
    thought: str
    call: Mapping[str, Any]
    told: str = ""
    failed: bool = False


@dataclass(frozen=True)
class FunctionCall:
    """A function call as written. ``arguments`` is ``None`` unless they are one JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None


@dataclass(frozen=True)
class Result:
    """The result of a step: the name of its tool, the text, and whether it is an error."""

    tool: str
    text: str
    failed: bool


def messages_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages of a request. Values that are not objects are left out."""
    found = body.get("messages")
    return [m for m in found if isinstance(m, Mapping)] if isinstance(found, list) else []


def parts_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a message's content as a list of parts. Plain text becomes one part."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [p for p in content if isinstance(p, Mapping)] if isinstance(content, list) else []


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message without its images."""
    return "".join(str(part.get("text", "")) for part in parts_of(message) if part.get("type") == "text")


def image_urls(message: Mapping[str, Any]) -> list[str]:
    """Return the address of each image part of a message."""
    urls = []
    for part in parts_of(message):
        if part.get("type") == "image_url":
            image = part.get("image_url")
            urls.append(str(image.get("url", "")) if isinstance(image, Mapping) else str(image))
    return urls


def data_uri(url: str) -> tuple[str, bytes] | None:
    """Return the MIME type and the bytes of a base64 data URI. Returns ``None`` if the text is not one."""
    found = _DATA_URI.fullmatch(url)
    if found is None:
        return None
    try:
        return found["mime"], base64.b64decode(found["data"], validate=True)
    except (ValueError, binascii.Error):
        return None


def is_observation(message: Mapping[str, Any]) -> bool:
    """Return whether a message shows a screen, even if it is malformed."""
    return message.get("role") == "user" and (
        text_of(message).lstrip().startswith("<observation>") or bool(image_urls(message))
    )


def slots_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of an observation that are pictures, or placeholders of removed pictures.

    An observation has three parts, with the picture in the middle. It may also have six: a strip of earlier
    pictures and the screen, each after a caption. In any other form, only images are returned.
    """
    parts = parts_of(message)
    places = {3: (1,), 6: (2, 4)}.get(len(parts))
    if places is None:
        return [part for part in parts if part.get("type") == "image_url"]
    return [parts[place] for place in places]


def result_of(message: Mapping[str, Any]) -> Result | None:
    """Return the tool result or error in a message. Returns ``None`` if the message is neither."""
    if message.get("role") == "tool":
        return Result("", text_of(message), bool(_ERROR.match(text_of(message))))
    if message.get("role") != "user" or image_urls(message):
        return None
    found = _RESULT.fullmatch(text_of(message))
    if found is None:
        return None
    if found["failed"] is not None:
        return Result(found["failed"], found["problem"], True)
    return Result(found["told"], found["text"], False)


def kinds(messages: Sequence[Mapping[str, Any]]) -> list[Kind]:
    """Return the kind of each message.

    An error right after a step is that step's result. After a function call, only a message with the role "tool" is
    the result. An error elsewhere is a correction: it describes a reply that is not part of the history. Any other
    text of the user is a notice.
    """
    named: list[Kind] = []
    for place, message in enumerate(messages):
        role = message.get("role")
        if role == "system":
            named.append("system")
        elif role == "assistant":
            named.append("step")
        elif role == "tool":
            named.append("result")
        elif is_observation(message):
            named.append("observation")
        elif role == "user" and "task" not in named:
            named.append("task")
        elif role == "user" and named[-1] == "step" and not calls_of(messages[place - 1]):
            named.append("result")
        elif (result := result_of(message)) is not None and result.failed:
            named.append("correction")
        else:
            named.append("notice" if role == "user" else "other")
    return named


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text.

    Returns ``None`` for any other text, and for an object with a repeated key or NaN.
    """
    try:
        value = json.loads(text, object_pairs_hook=_no_doubles, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def calls_of(message: Mapping[str, Any]) -> list[Any]:
    """Return the function calls of an assistant message, even malformed ones."""
    found = message.get("tool_calls")
    return found if isinstance(found, list) else []


def function_call(call: object) -> FunctionCall:
    """Return a parsed function call. Some servers send the arguments as an object in place of a string."""
    outer = call if isinstance(call, Mapping) else {}
    function = outer.get("function")
    inner = function if isinstance(function, Mapping) else {}
    written = inner.get("arguments")
    arguments = dict(written) if isinstance(written, Mapping) else json_object(str(written))
    return FunctionCall(str(outer.get("id", "")), str(inner.get("name", "")), arguments)


def step_of(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an assistant message as a step object.

    Returns ``None`` unless the message is strictly one JSON object or a function call.
    """
    calls = calls_of(message)
    if calls:
        call = function_call(calls[0])
        thought, _, note = text_of(message).partition(NOTED)
        if call.arguments is None:
            return None
        return {"note": note or None, "thought": thought, "tool_call": {**call.arguments, "tool_name": call.name}}
    value = json_object(text_of(message))
    return value if value is not None and isinstance(value.get("tool_call"), dict) else None


def task_of(body: Mapping[str, Any]) -> str:
    """Return the task: the first user message, without the note on removed turns."""
    messages = messages_of(body)
    text = next((text_of(m) for m, k in zip(messages, kinds(messages), strict=True) if k == "task"), "")
    return text.partition(LEFT_OUT)[0]


def turns_of(body: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Return the steps in a request, the oldest first."""
    turns: list[Turn] = []
    messages = messages_of(body)
    for place, message in enumerate(messages):
        step = step_of(message) if message.get("role") == "assistant" else None
        if step is None:
            continue
        call = step["tool_call"]
        result = result_of(messages[place + 1]) if place + 1 < len(messages) else None
        turns.append(
            Turn(
                tool=str(call.get("tool_name", "")).removesuffix("_desktop"),
                thought=str(step.get("thought", "")),
                call=call,
                told=result.text if result else "",
                failed=bool(result and result.failed),
            )
        )
    return tuple(turns)


def newest_image(body: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of the last image in a request. Returns ``None`` if it cannot be decoded or does not exist."""
    for message in reversed(messages_of(body)):
        for url in reversed(image_urls(message)):
            found = data_uri(url)
            return found[1] if found else None
    return None


def schema_of(body: Mapping[str, Any], transport: str = "structured_outputs") -> Any:
    """Return the JSON schema for the reply, or ``None``.

    A server that only supports "json_object" gets no schema field. Then the schema in the system message is
    returned.
    """
    if transport == "json_object":
        return shown_schema(body)
    if transport == "structured_outputs":
        holder: Any = body.get("structured_outputs")
        return holder.get("json") if isinstance(holder, Mapping) else None
    holder = body.get("response_format")
    inner = holder.get("json_schema") if isinstance(holder, Mapping) else None
    return inner.get("schema") if isinstance(inner, Mapping) else None


def shown_schema(body: Mapping[str, Any]) -> Any:
    """Return the schema in the system message's <output_format>. Returns ``None`` if it is missing or not JSON."""
    text = next((text_of(m) for m in messages_of(body) if m.get("role") == "system"), "")
    block = re.search(r"<output_format>.*?```json\n(.*?)\n?```.*?</output_format>", text, re.DOTALL)
    return json_object(block[1]) if block else None


def slim(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with the digest of each image in its place, to save memory."""
    kept = {key: value for key, value in body.items() if key != "messages"}
    kept["messages"] = [_slim_message(message) for message in messages_of(body)]
    return kept


def _slim_message(message: Mapping[str, Any]) -> dict[str, Any]:
    slimmed = dict(message)
    if image_urls(message):
        slimmed["content"] = [
            part
            if part.get("type") != "image_url"
            else {"type": "image_url", "image_url": {"url": _digest(image_urls({"content": [part]})[0])}}
            for part in parts_of(message)
        ]
    return slimmed


def _digest(url: str) -> str:
    return url if url.startswith("sha256:") else "sha256:" + hashlib.sha256(url.encode()).hexdigest()


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
