"""Ways to change one thing in a valid handwritten request so that it breaks a rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holo_tasks.contract.rulebook import Dialect, Terms
from holo_tasks.contract.wire_messages import schema_of
from tests.support.handmade import GONE, TERMS, Body, Talk, made, picture, text, turns

Breaker = Callable[[Body], None]
FOUR = Talk(turns(4))


@dataclass(frozen=True)
class Row:
    """A rule and a way to break it. ``also`` lists the rules that this change necessarily breaks with it."""

    rule: str
    dialect: Dialect
    breaker: Breaker
    also: str = ""
    talk: Talk = FOUR
    terms: Terms | None = None

    @property
    def held_to(self) -> Terms:
        return self.terms or TERMS[self.dialect]

    def request(self) -> Body:
        body = made(self.dialect, self.talk)
        self.breaker(body)
        return body


def change(path: str, value: Any) -> Breaker:
    """Return a breaker that sets a value at a path like ``messages.3.content``. ``...`` removes the value."""

    def breaker(body: Body) -> None:
        node: Any = body
        *way, last = [int(p) if p.lstrip("-").isdigit() else p for p in path.split(".")]
        for step in way:
            node = node[step]
        if value is ...:
            del node[last]
        else:
            node[last] = value

    return breaker


def insert(place: int, message: Body) -> Breaker:
    return lambda body: body["messages"].insert(place, message)


def both(*breakers: Breaker) -> Breaker:
    def breaker(body: Body) -> None:
        for each in breakers:
            each(body)

    return breaker


def on_schema(spoil: Callable[[dict[str, Any]], Any]) -> Breaker:
    """Return a breaker that changes the schema both in the request field and in the prompt, so that the two still
    agree.
    """

    def breaker(body: Body) -> None:
        schema = schema_of(body)
        spoil(schema)
        if body["messages"][0]["role"] == "system":
            block = f"<output_format>\n```json\n{json.dumps(schema)}\n```\n</output_format>"
            body["messages"][0]["content"] = f"Do.\n\n{block}"

    return breaker


def on_step(**changes: Any) -> Breaker:
    """Return a breaker that changes the last step of a structured conversation."""

    def breaker(body: Body) -> None:
        last = [message for message in body["messages"] if message["role"] == "assistant"][-1]
        last["content"] = json.dumps({**json.loads(last["content"]), **changes})

    return breaker


def on_tool(spoil: Callable[[dict[str, Any]], Any]) -> Breaker:
    """Return a breaker that changes the click tool."""
    return lambda body: spoil(body["tools"][0]["function"])


def on_call(spoil: Callable[[dict[str, Any]], Any]) -> Breaker:
    """Return a breaker that changes the first function call of the history."""
    return lambda body: spoil(body["messages"][3]["tool_calls"][0])


def with_arguments(arguments: Any) -> Breaker:
    return on_call(lambda call: call["function"].update(arguments=arguments))


def on_url(spoil: Callable[[str], str]) -> Breaker:
    """Return a breaker that changes the address of the newest image."""

    def breaker(body: Body) -> None:
        images = [
            p for m in body["messages"] if isinstance(m["content"], list) for p in m["content"] if "image_url" in p
        ]
        images[-1]["image_url"]["url"] = spoil(images[-1]["image_url"]["url"])

    return breaker


def show(count: int) -> Breaker:
    """Return a breaker that shows the given number of newest pictures."""

    def breaker(body: Body) -> None:
        seen = [message for message in body["messages"] if isinstance(message["content"], list)]
        for number, message in enumerate(seen[-count:]):
            message["content"][1] = picture(number)

    return breaker


def image_in_a_result(body: Body) -> None:
    shown = body["messages"][8]["content"]
    body["messages"][4]["content"] = [text(str(body["messages"][4]["content"])), shown[1]]
    shown[1] = text(GONE)


def words(before: str, after: str) -> Breaker:
    """Return a breaker that replaces words in the text of the last message."""

    def breaker(body: Body) -> None:
        part = body["messages"][-1]["content"][-1]
        assert before in part["text"]
        part["text"] = part["text"].replace(before, after)

    return breaker


def images(count: int) -> Breaker:
    """Return a breaker that puts the given number of images before the text of the last message."""

    def breaker(body: Body) -> None:
        body["messages"][-1]["content"][:-1] = [picture(number) for number in range(count)]

    return breaker
