"""The structured-mode contract, rule by rule: what a request for a Holo model must and must not hold.

Pure checks on one request; `continuity.py` checks a request against the one before it. The rules
come from H Company's documentation of Holo3 and Holo3.1 and are numbered so that a breach can be named.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping

from holo_tasks.playbooks import contract_schema
from holo_tasks.playbooks.messages import (
    CLOSE,
    OPEN,
    data_uri,
    image_urls,
    is_observation,
    kinds,
    messages_of,
    parts_of,
    result_of,
    schema_of,
    step_of,
    text_of,
)
from holo_tasks.playbooks.rulebook import STANDARD, Body, Breach, Rule, RuleBook, Terms

BOOK = RuleBook()
HARD_IMAGE_LIMIT = 5


def rules() -> tuple[Rule, ...]:
    """Return every rule on a single request."""
    return tuple(rule for rule, _ in (*contract_schema.BOOK.checks, *BOOK.checks))


def breaches(body: Body, terms: Terms = STANDARD) -> list[Breach]:
    """Return what a request breaks, in the order of the rules' ids."""
    found = contract_schema.BOOK.breaches(body, terms) + BOOK.breaches(body, terms)
    return sorted(found, key=lambda breach: breach.rule.id)


@BOOK.rule("S01", "the request names a model and holds messages")
def _named(body: Body, _: Terms) -> Iterator[str]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "no model"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "no messages"
    elif len(messages_of(body)) != len(messages):
        yield "a message is not an object"


@BOOK.rule("S10", "there is exactly one system message, and it is the first")
def _one_system(body: Body, _: Terms) -> Iterator[str]:
    roles = [message.get("role") for message in messages_of(body)]
    if roles.count("system") != 1 or roles[:1] != ["system"]:
        yield f"the roles are {roles[:6]}"


@BOOK.rule("S11", "the system message is text only")
def _system_text(body: Body, _: Terms) -> Iterator[str]:
    for message in messages_of(body)[:1]:
        if not text_of(message) or any(part.get("type") != "text" for part in parts_of(message)):
            yield "empty, or not text"


@BOOK.rule("S12", "the system message's <output_format> holds a fenced json block equal to the schema")
def _system_format(body: Body, terms: Terms) -> Iterator[str]:
    text = next((text_of(m) for m in messages_of(body) if m.get("role") == "system"), "")
    block = re.search(r"<output_format>.*?```json\n(.*?)\n?```.*?</output_format>", text, re.DOTALL)
    if block is None:
        yield "no such block"
        return
    try:
        shown = json.loads(block[1])
    except ValueError as error:
        yield f"the block is not JSON: {error}"
        return
    if shown != schema_of(body, terms.transport):
        yield "the block is not the schema of the request"


@BOOK.rule("S20", "the first user message is the task, as text")
def _task(body: Body, _: Terms) -> Iterator[str]:
    user = next((m for m in messages_of(body) if m.get("role") == "user"), None)
    if user is None or is_observation(user) or result_of(user) or not text_of(user).strip():
        yield "no task before the first observation"
    elif messages_of(body).index(user) != 1:
        yield "the task does not follow the system message"


@BOOK.rule("S21", "after the task, observation, step and result take turns")
def _order(body: Body, _: Terms) -> Iterator[str]:
    named = kinds(messages_of(body))[2:]
    follows = {"task": "observation", "observation": "step", "step": "result", "result": "observation"}
    before = "task"
    for place, kind in enumerate(named, start=2):
        if kind == "correction" and before in ("task", "result"):
            continue
        if kind != follows[before]:
            yield f"message {place} should be: {follows[before]}, not: {kind}"
            return
        before = kind


@BOOK.rule(
    "S22", "an observation is three parts: '<observation>\\n', the image or its placeholder, '\\n</observation>'"
)
def _observations(body: Body, _: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        if not is_observation(message):
            continue
        if image_urls(message):
            parts = parts_of(message)
            shape = [part.get("type") for part in parts]
            if shape != ["text", "image_url", "text"]:
                yield f"message {place} has the parts {shape}"
            elif (parts[0].get("text"), parts[2].get("text")) != (OPEN, CLOSE):
                yield f"message {place} is not wrapped exactly so"
        else:
            text = text_of(message)
            inside = text[len(OPEN) : -len(CLOSE)]
            if not (text.startswith(OPEN) and text.endswith(CLOSE)) or not inside.strip():
                yield f"message {place} has no placeholder in its wrapper"


@BOOK.rule("S23", "an assistant message is one flat step: note, thought and tool_call with its tool_name")
def _steps(body: Body, _: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        if message.get("role") != "assistant":
            continue
        step = step_of(message)
        if step is None:
            yield f"message {place} is not a step as JSON"
        elif not {"thought", "tool_call"} <= set(step) <= {"note", "thought", "tool_call"}:
            yield f"message {place} holds {sorted(step)}"
        elif not isinstance(step["tool_call"].get("tool_name"), str):
            yield f"message {place} names no tool"
        elif any(isinstance(value, dict) for value in step["tool_call"].values()):
            yield f"the tool call of message {place} is not flat"


@BOOK.rule("S24", 'a result is <tool_output tool="NAME">\\n…\\n</tool_output> or <error tool="NAME">…</error>')
def _results(body: Body, _: Terms) -> Iterator[str]:
    messages = messages_of(body)
    for place, kind in enumerate(kinds(messages)):
        if kind == "result" and result_of(messages[place]) is None:
            yield f"message {place}"


@BOOK.rule("S25", "a result names the tool of the step before it")
def _result_names(body: Body, _: Terms) -> Iterator[str]:
    messages = messages_of(body)
    for before, message, kind in zip(messages, messages[1:], kinds(messages)[1:], strict=False):
        result, step = result_of(message), step_of(before)
        if kind == "result" and result and step and step["tool_call"].get("tool_name") != result.tool:
            yield f"{result.tool!r} after {step['tool_call'].get('tool_name')!r}"


@BOOK.rule("S26", "the last message ends with an observation that holds an image")
def _last(body: Body, _: Terms) -> Iterator[str]:
    last = messages_of(body)[-1:]
    if not last or last[0].get("role") != "user" or not image_urls(last[0]):
        yield "no image in the last message"
    elif not text_of(last[0]).endswith(CLOSE):
        yield "the last message does not end its observation"


@BOOK.rule("S27", "a correction stands only right before the last observation")
def _corrections(body: Body, _: Terms) -> Iterator[str]:
    named = kinds(messages_of(body))
    yield from (f"message {p}" for p, k in enumerate(named) if k == "correction" and p != len(named) - 2)


@BOOK.rule("S30", "a request holds at most 3 images")
def _few_images(body: Body, terms: Terms) -> Iterator[str]:
    if len(_images(body)) > terms.images:
        yield f"{len(_images(body))} images"


@BOOK.rule("S31", "a server takes no more than 5 images")
def _hard_images(body: Body, _: Terms) -> Iterator[str]:
    if len(_images(body)) > HARD_IMAGE_LIMIT:
        yield f"{len(_images(body))} images"


@BOOK.rule("S32", "the images kept are the newest ones")
def _newest(body: Body, _: Terms) -> Iterator[str]:
    held = [bool(image_urls(message)) for message in messages_of(body) if is_observation(message)]
    if held != sorted(held):
        yield "an older observation holds an image and a newer one does not"


@BOOK.rule("S33", "images are in observations only")
def _images_in_place(body: Body, _: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        if image_urls(message) and not text_of(message).startswith(OPEN):
            yield f"message {place}"


@BOOK.rule("S34", "an image is a base64 data URI of a JPEG, PNG or WebP")
def _data_uris(body: Body, _: Terms) -> Iterator[str]:
    for url in _images(body):
        found = data_uri(url)
        if found is None:
            yield f"{url[:40]!r} is not a base64 data URI"
        elif found[0] not in ("image/jpeg", "image/png", "image/webp"):
            yield found[0]


@BOOK.rule("S35", "the MIME type of an image is that of its bytes")
def _mime(body: Body, _: Terms) -> Iterator[str]:
    for found in map(data_uri, _images(body)):
        if found and magic(found[1]) != found[0]:
            yield f"{found[0]}, but the bytes are {magic(found[1]) or 'of no known kind'}"


@BOOK.rule("S36", "an image can be decoded")
def _decodes(body: Body, _: Terms) -> Iterator[str]:
    from PIL import Image

    for found in map(data_uri, _images(body)):
        try:
            if found:
                Image.open(io.BytesIO(found[1])).load()
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            yield f"{type(error).__name__}: {error}"


@BOOK.rule("S40", "reasoning is never replayed")
def _no_reasoning(body: Body, _: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        for key in ("reasoning_content", "reasoning"):
            if key in message:
                yield f"message {place} holds {key}"
        if message.get("role") == "assistant" and re.search(r"</?think>", text_of(message)):
            yield f"message {place} holds <think>"


@BOOK.rule("S41", "the temperature is the model's own")
def _temperature(body: Body, terms: Terms) -> Iterator[str]:
    if terms.temperature is not None and body.get("temperature") != terms.temperature:
        yield f"{body.get('temperature')!r}, not {terms.temperature}"


@BOOK.rule("S42", "thinking is on, asked for at the top level")
def _thinking(body: Body, _: Terms) -> Iterator[str]:
    template = body.get("chat_template_kwargs")
    enabled = template.get("enable_thinking") if isinstance(template, Mapping) else None
    effort = body.get("reasoning_effort")
    if enabled is False:
        yield "enable_thinking is false"
    if effort is not None and effort not in ("low", "medium", "high"):
        yield f"reasoning_effort is {effort!r}"
    if enabled is not True and effort is None:
        yield "neither chat_template_kwargs.enable_thinking nor reasoning_effort"


def magic(data: bytes) -> str | None:
    """Tell the kind of an image by its first bytes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _images(body: Body) -> list[str]:
    return [url for message in messages_of(body) for url in image_urls(message)]
