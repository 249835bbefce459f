"""The rules of a conversation: system and task, then observation, step and result in turns (structured and tools)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from holo_tasks.contract.common import images_in
from holo_tasks.contract.offered_tools import answer_only, offered
from holo_tasks.contract.rulebook import Body, RuleBook, Terms
from holo_tasks.contract.wire_messages import (
    CLOSE,
    OPEN,
    Kind,
    image_urls,
    is_observation,
    kinds,
    messages_of,
    parts_of,
    result_of,
    slots_of,
    text_of,
)

BOOK: RuleBook[Body] = RuleBook()


@BOOK.rule("08", "the answer tool is always present")
def _answer(body: Body, terms: Terms) -> Iterator[str]:
    if "answer" not in offered(body, terms):
        yield f"the tools are {list(offered(body, terms))}"


@BOOK.rule("09", "answer and ask_human carry no _desktop suffix")
def _no_suffix(body: Body, terms: Terms) -> Iterator[str]:
    yield from (name for name in offered(body, terms) if name in ("answer_desktop", "ask_human_desktop"))


@BOOK.rule("10", "there is exactly one system message, and it is the first")
def _one_system(body: Body, _: Terms) -> Iterator[str]:
    roles = [message.get("role") for message in messages_of(body)]
    if roles.count("system") != 1 or roles[:1] != ["system"]:
        yield f"the roles are {roles[:6]}"


@BOOK.rule("11", "the system message is text only")
def system_text(body: Body, _: Terms) -> Iterator[str]:
    for message in messages_of(body)[:1]:
        if not text_of(message) or any(part.get("type") != "text" for part in parts_of(message)):
            yield "empty, or not text"


@BOOK.rule("20", "the first user message is the task, as text")
def _task(body: Body, _: Terms) -> Iterator[str]:
    user = next((m for m in messages_of(body) if m.get("role") == "user"), None)
    if user is None or is_observation(user) or result_of(user) or not text_of(user).strip():
        yield "no task before the first observation"
    elif messages_of(body).index(user) != 1:
        yield "the task does not follow the system message"


@BOOK.rule("21", "after the task, observation, step and result take turns")
def _order(body: Body, terms: Terms) -> Iterator[str]:
    named = kinds(messages_of(body))[2:]
    follows = {"task": "observation", "observation": "step", "step": "result", "result": "observation"}
    passing = _transient_kinds(body, terms)
    before = "task"
    for place, kind in enumerate(named, start=2):
        if kind in passing and before in ("task", "result"):
            continue
        if kind != follows[before]:
            yield f"message {place} should be: {follows[before]}, not: {kind}"
            return
        before = kind


@BOOK.rule(
    "22",
    "an observation is '<observation>\\n', a picture or its placeholder, '\\n</observation>'; "
    "or a caption, a strip, a caption and a picture between these",
)
def _observations(body: Body, _: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        if not is_observation(message):
            continue
        parts, slots = parts_of(message), slots_of(message)
        words = [part for part in parts if not any(part is slot for slot in slots)]
        if isinstance(message.get("content"), str) or len(parts) not in (3, 6):
            yield f"message {place} has {len(parts)} parts"
        elif any(part.get("type") != "text" for part in words):
            yield f"message {place} has the parts {[part.get('type') for part in parts]}"
        elif (words[0].get("text"), words[-1].get("text")) != (OPEN, CLOSE):
            yield f"message {place} is not wrapped exactly so"
        elif any(not str(p.get("text", "")).strip() for p in (*words[1:-1], *slots) if p.get("type") == "text"):
            yield f"message {place} has an empty caption or placeholder"


@BOOK.rule("26", "the last message is an observation that holds an image")
def _last(body: Body, _: Terms) -> Iterator[str]:
    last = messages_of(body)[-1:]
    slots = slots_of(last[0]) if last and last[0].get("role") == "user" else []
    if not slots or slots[-1].get("type") != "image_url":
        yield "no image in the last message"
    elif not text_of(last[0]).endswith(CLOSE):
        yield "the last message does not end its observation"


@BOOK.rule("27", "a correction stands once, right before the last observation")
def _corrections(body: Body, terms: Terms) -> Iterator[str]:
    named, passing = kinds(messages_of(body)), _transient_kinds(body, terms)
    start = len(named) - 1
    while start > 0 and named[start - 1] in passing:
        start -= 1
    last = named[start:-1]
    yield from (f"message {place}" for place, kind in enumerate(named[:start]) if kind in passing)
    yield from (f"two of a kind: {kind}" for kind in last if last.count(kind) > 1)


@BOOK.rule("30", "a request holds at most 3 images")
def _few_images(body: Body, terms: Terms) -> Iterator[str]:
    if len(images_in(body)) > terms.images:
        yield f"{len(images_in(body))} images"


@BOOK.rule("32", "the images kept are the newest ones")
def _newest(body: Body, _: Terms) -> Iterator[str]:
    slots = [slot for message in messages_of(body) if is_observation(message) for slot in slots_of(message)]
    held = [slot.get("type") == "image_url" for slot in slots]
    if held != sorted(held):
        yield "an older picture is kept and a newer one is not"


@BOOK.rule("33", "images are in observations only")
def _images_in_place(body: Body, _: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        if image_urls(message) and not text_of(message).startswith(OPEN):
            yield f"message {place}"


@BOOK.rule("40", "reasoning is never replayed, except reasoning_content for a model that keeps its thinking")
def _no_reasoning(body: Body, terms: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        assistant = message.get("role") == "assistant"
        for key in ("reasoning_content", "reasoning"):
            kept = terms.preserve_thinking and assistant and key == "reasoning_content"
            if key in message and not kept:
                yield f"message {place} holds {key}"
        if assistant and re.search(r"</?think>", text_of(message)):
            yield f"message {place} holds <think>"


@BOOK.rule("41", "the temperature is that of the model's profile")
def temperature(body: Body, terms: Terms) -> Iterator[str]:
    if terms.temperature is not None and body.get("temperature") != terms.temperature:
        yield f"{body.get('temperature')!r}, not {terms.temperature}"


@BOOK.rule("42", "thinking is enabled at the top level")
def thinking(body: Body, _: Terms) -> Iterator[str]:
    template = body.get("chat_template_kwargs")
    enabled = template.get("enable_thinking") if isinstance(template, Mapping) else None
    effort = body.get("reasoning_effort")
    if enabled is False:
        yield "enable_thinking is false"
    if effort is not None and effort not in ("low", "medium", "high"):
        yield f"reasoning_effort is {effort!r}"
    if enabled is not True and effort is None:
        yield "neither chat_template_kwargs.enable_thinking nor reasoning_effort"


def _transient_kinds(body: Body, terms: Terms) -> frozenset[Kind]:
    """Return the kinds of messages that may precede the last observation and are not part of the history.

    With function calling, only a notice can say that the model has to answer now.
    """
    if terms.dialect == "tools" and answer_only(body, terms):
        return frozenset({"correction", "notice"})
    return frozenset({"correction"})
