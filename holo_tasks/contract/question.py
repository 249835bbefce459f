"""The rules of a single question about pictures. A localization asks for a point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holo_tasks.contract import chat, common
from holo_tasks.contract.common import no_tools
from holo_tasks.contract.rulebook import Body, RuleBook, Terms
from holo_tasks.contract.schema import (
    SCHEMA_FIELD,
    properties_of,
    required_of,
    schema_in,
    schema_in_its_field,
)
from holo_tasks.contract.wire_messages import messages_of, parts_of, text_of

BOOK: RuleBook[Body] = RuleBook()
BOOK.adopt(common.BOOK, "L")

POINT = frozenset({"x", "y"})

BOOK.rule("L02", "a question holds no tools, functions or tool_choice")(no_tools)
BOOK.rule("L04", SCHEMA_FIELD)(schema_in_its_field)


def is_question(body: Body) -> bool:
    """Return whether a request is a single question: its only message is the user's."""
    return [message.get("role") for message in messages_of(body)] == ["user"]


def asks_for_point(body: Body, terms: Terms) -> bool:
    """Return whether a question asks for a position."""
    return not POINT.isdisjoint(properties_of(schema_in(body, terms)))


@BOOK.rule("L05", "the schema is an object that forbids additional properties")
def _schema(body: Body, terms: Terms) -> Iterator[str]:
    schema = schema_in(body, terms)
    if terms.transport != "json_object":
        if schema.get("type") != "object" or not properties_of(schema):
            yield "not an object schema"
        if schema.get("additionalProperties") is not False:
            yield "additional properties are not forbidden"


@BOOK.rule("L06", "a point is exactly x and y, integers from 0 to 1000")
def _point(body: Body, terms: Terms) -> Iterator[str]:
    schema = schema_in(body, terms)
    properties = properties_of(schema)
    if not asks_for_point(body, terms):
        return
    if set(properties) != POINT or required_of(schema) != POINT:
        yield f"its properties are {sorted(properties)}, with {sorted(required_of(schema))} required"
    for name, rule in properties.items():
        limits: dict[str, Any] = dict(rule) if isinstance(rule, Mapping) else {}
        if (limits.get("type"), limits.get("minimum"), limits.get("maximum")) != ("integer", 0, 1000):
            yield name


@BOOK.rule("L10", "there is one message, the user's")
def _one_message(body: Body, _: Terms) -> Iterator[str]:
    if not is_question(body):
        yield f"the roles are {[message.get('role') for message in messages_of(body)][:6]}"


@BOOK.rule("L20", "the message is images first, then one text")
def _images_first(body: Body, _: Terms) -> Iterator[str]:
    for message in messages_of(body)[-1:]:
        shape = [str(part.get("type")) for part in parts_of(message)]
        if len(shape) < 2 or shape[-1] != "text" or any(kind != "image_url" for kind in shape[:-1]):
            yield f"its parts are {shape}"
        elif not text_of(message).strip():
            yield "the text is empty"


@BOOK.rule("L41", "the temperature is 0; a question with thinking has the temperature of the model's profile")
def _temperature(body: Body, terms: Terms) -> Iterator[str]:
    if _has_thinking(body, terms):
        yield from chat.temperature(body, terms)
    elif body.get("temperature") != 0:
        yield repr(body.get("temperature"))


@BOOK.rule("L42", "thinking is off; only a question that is not for a point may enable it")
def _no_thinking(body: Body, terms: Terms) -> Iterator[str]:
    template = body.get("chat_template_kwargs")
    enabled = template.get("enable_thinking") if isinstance(template, Mapping) else None
    if _has_thinking(body, terms):
        yield from chat.thinking(body, terms)
    elif enabled is not False:
        yield f"enable_thinking is {enabled}"
    elif body.get("reasoning_effort") is not None:
        yield f"reasoning_effort is {body['reasoning_effort']!r}"


def _has_thinking(body: Body, terms: Terms) -> bool:
    template = body.get("chat_template_kwargs")
    asked = isinstance(template, Mapping) and template.get("enable_thinking") is True
    return asked and not asks_for_point(body, terms)
