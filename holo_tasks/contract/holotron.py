"""Holotron's rules (Holotron-12B): one picture, the last actions as text, and a flat action as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from holo_tasks.contract import chat, common
from holo_tasks.contract.common import no_tools
from holo_tasks.contract.rulebook import Body, RuleBook, Terms
from holo_tasks.contract.schema import SCHEMA_FIELD, properties_of, schema_in, schema_in_its_field
from holo_tasks.contract.wire_messages import LEFT_OUT, image_urls, messages_of, parts_of, text_of

BOOK: RuleBook[Body] = RuleBook()
BOOK.adopt(common.BOOK, "H")

KEYS = ("element_type", "action", "x", "y", "text", "confidence", "reasoning")
TEMPERATURE = 0.1
RECENT = 5
NOTHING_YET = "None yet"
_WORDS = re.compile(r"Task: (?P<task>.*?)\n+Recent actions:[ \n](?P<recent>.*?)(?:\n\n(?P<rest>.*))?\Z", re.DOTALL)


@dataclass(frozen=True)
class Words:
    """The text of a request: the task, the lines of the last actions, and the paragraphs after them."""

    task: str
    lines: tuple[str, ...]
    rest: tuple[str, ...]

    @property
    def recent(self) -> tuple[str, ...]:
        """The last actions, oldest first."""
        return () if self.lines == (NOTHING_YET,) else self.lines


def words_of(body: Body) -> Words | None:
    """Return the parsed text of a request. Returns ``None`` if the text has another form."""
    found = _WORDS.search(next((text_of(m) for m in messages_of(body) if m.get("role") == "user"), ""))
    if found is None:
        return None
    paragraphs = tuple(part for part in (found["rest"] or "").split("\n\n") if part.strip())
    return Words(found["task"].partition(LEFT_OUT)[0], tuple(found["recent"].split("\n")), paragraphs)


BOOK.rule("H02", "a request for a flat action holds no tools, functions or tool_choice")(no_tools)
BOOK.rule("H04", SCHEMA_FIELD)(schema_in_its_field)
BOOK.rule("H11", "the system message is text only")(chat.system_text)


@BOOK.rule("H05", "a schema that is sent has the keys of the flat action and forbids others")
def _schema(body: Body, terms: Terms) -> Iterator[str]:
    schema = schema_in(body, terms)
    if terms.transport != "json_object" and schema:
        if set(properties_of(schema)) != set(KEYS):
            yield f"its properties are {sorted(properties_of(schema))}"
        if schema.get("additionalProperties") is not False:
            yield "additional properties are not forbidden"


@BOOK.rule("H10", "there are two messages: the system's, then the user's")
def _messages(body: Body, _: Terms) -> Iterator[str]:
    roles = [message.get("role") for message in messages_of(body)]
    if roles != ["system", "user"]:
        yield f"the roles are {roles[:6]}"


@BOOK.rule("H12", "the system message names every key of the flat action")
def _keys(body: Body, _: Terms) -> Iterator[str]:
    text = next((text_of(m) for m in messages_of(body) if m.get("role") == "system"), "")
    yield from (key for key in KEYS if f'"{key}"' not in text)


@BOOK.rule("H20", "the user's message is the image first, then the text")
def _image_first(body: Body, _: Terms) -> Iterator[str]:
    for message in messages_of(body)[1:]:
        shape = [str(part.get("type")) for part in parts_of(message)]
        if shape[-1:] != ["text"] or any(kind != "image_url" for kind in shape[:-1]) or len(shape) < 2:
            yield f"its parts are {shape}"


@BOOK.rule("H21", "a request holds exactly one image")
def _one_image(body: Body, _: Terms) -> Iterator[str]:
    images = sum(len(image_urls(message)) for message in messages_of(body))
    if images != 1:
        yield f"{images} images"


@BOOK.rule("H22", 'the text says "Task: ", then the task')
def _task(body: Body, _: Terms) -> Iterator[str]:
    said = next((text_of(m) for m in messages_of(body) if m.get("role") == "user"), "")
    if not re.search(r"(?:\A|\n)Task: \S", said):
        yield "no task"


@BOOK.rule("H23", 'the text says "Recent actions:", then "None yet" or at most 5 lines that start "- "')
def _recent(body: Body, _: Terms) -> Iterator[str]:
    words = words_of(body)
    if words is None:
        yield "no recent actions"
    elif len(words.recent) > RECENT:
        yield f"{len(words.recent)} actions"
    else:
        yield from (line[:40] for line in words.recent if not line.startswith("- "))


@BOOK.rule("H41", "the temperature is 0.1")
def _temperature(body: Body, _: Terms) -> Iterator[str]:
    if body.get("temperature") != TEMPERATURE:
        yield repr(body.get("temperature"))


@BOOK.rule("H42", "the request has no settings for thinking, because the model does not think")
def _no_thinking(body: Body, _: Terms) -> Iterator[str]:
    yield from (key for key in ("chat_template_kwargs", "reasoning_effort") if key in body)
