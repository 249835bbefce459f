"""Remove secret values from a model's requests and replies, and from the events of the trace.

`with_scrubber` wraps a model, and `ScrubbedRecorder` wraps a recorder. Only free text is changed. Protocol words,
names, identifiers and digests stay, even if one equals a secret's value: they reveal nothing, and a run needs them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from holo_tasks.core.attachment import Attachment
from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.events import Event
from holo_tasks.core.input.keynames import ALIASES, MODIFIERS, NAMED
from holo_tasks.core.ports import ModelClient, Recorder, Reply
from holo_tasks.core.prompts.macros import Macro
from holo_tasks.core.prompts.model import Dialect, Model, Questioner, Request
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import WriteAtCall, WriteCall
from holo_tasks.core.prompts.toolbox import CALLS
from holo_tasks.core.prompts.transcript import Correction, Transcript
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.secrets.scrub import Scrubber, is_picture
from holo_tasks.core.secrets.secret import names_secret
from holo_tasks.safety.scrubbing import scrub_error

FREE_TEXT = frozenset(
    {"title", "goal", "progress", "content", "reason", "note", "thought", "arguments", "label", "description"}
    | {"question", "answer", "rule", "gesture", "element", "choice", "by"}
    | {"state", "wanted", "how", "name", "to", "told", "macro", "why", "windows", "press_once", "waiting_for", "unseen"}
    | {"field", "held", "unsure"}
)
"""Event fields with free text, which are scrubbed."""
UNCHANGED = frozenset(
    {"kind", "status", "outcome", "purpose", "source", "finish_reason", "confidence", "tool_name", "gesture_kind"}
    | {"run_id", "flow_run_id", "token", "library", "model", "endpoint", "display", "signed_by", "media_type"}
    | {"layer", "target", "items", "correction", "playbook", "macros"}
    | {"sha256", "frame_digest", "prompt_sha256", "shots", "strip", "before", "after", "masks", "handoff"}
)
"""Event fields that are not scrubbed: identifiers, digests and words from a fixed list.

The titles in ``items`` were already scrubbed when they were made.
"""

_NAMING = frozenset({"tool_name", "name", "action", "element_type", "button", "direction", "type", "kind"})
_KEYS = frozenset({"keys", "hold", "tap", "hold_keys", "tap_keys"})
_WORDS = (
    CALLS.keys()
    | {f"{name}_desktop" for name in CALLS}
    | {"left", "middle", "right", "up", "down", "right_click", "type", "hover", "done", "finish"}
    | {"button", "input", "dropdown", "link", "checkbox", "other"}
    | {"string", "integer", "number", "boolean", "object", "array", "null"}
)
_TAGGED = re.compile(
    r"""(?P<first><(?:observation|(?:tool_output|error)\ tool="(?P<tool>\w*)")>\n)?
    (?P<text>.*?)(?P<last>\n</(?:observation|tool_output|error)>)?""",
    re.DOTALL | re.VERBOSE,
)


def is_format_word(name: str, text: str) -> bool:
    """Return whether ``text`` in a field ``name`` is a fixed word of a model's format: a tool, key or enum value."""
    if name in _KEYS:
        return len(text) == 1 or any(text.lower() in names for names in (NAMED, ALIASES, MODIFIERS))
    return name in _NAMING and text in _WORDS


def scrubbed_event(event: Event, scrubber: Scrubber) -> Event:
    """Return the event without secret values; the same object if it holds none."""
    if not scrubber or not scrubber.may_hold(event.model_dump_json()):
        return event
    texts = event.model_dump(include=set(FREE_TEXT & type(event).model_fields.keys()))
    return event.model_copy(update=scrubber.plain(texts, is_format_word))


@dataclass(frozen=True)
class ScrubbedRecorder:
    """Recorder that removes secret values from events before it passes them on. Pictures are passed on unchanged."""

    recorder: Recorder
    scrubber: Scrubber

    async def keep(self, shot: Shot | Attachment) -> None:
        await self.recorder.keep(shot)

    async def record(self, event: Event) -> None:
        await self.recorder.record(scrubbed_event(event, self.scrubber))


def with_scrubber(model: Model, scrubber: Scrubber) -> Model:
    """Return a model whose requests and replies hold no secret values."""
    return replace(
        model,
        client=_Client(model.client, scrubber),
        dialect=_Dialect(model.dialect, scrubber),
        question=_Question(model.question, scrubber),
    )


@dataclass(frozen=True)
class _Client:
    client: ModelClient
    scrubber: Scrubber

    @property
    def endpoint(self) -> str:
        return self.client.endpoint

    async def complete(self, body: Mapping[str, Any], *, timeout_s: float) -> Reply:
        try:
            reply = await self.client.complete(_body(body, self.scrubber), timeout_s=timeout_s)
        except Exception as error:
            hidden = scrub_error(error)
            if hidden is error:
                raise
            raise hidden from None
        if not self.scrubber:
            return reply
        written = self.scrubber.written
        calls = tuple(replace(one, arguments=written(one.arguments, is_format_word)) for one in reply.tool_calls)
        reasoning = self.scrubber.text(reply.reasoning)
        values = {field.name: getattr(reply, field.name) for field in fields(Reply)}
        values.update(content=written(reply.content, is_format_word), reasoning=reasoning, tool_calls=calls)
        return _ScrubbedReply(**values, as_written=reply)


@dataclass(frozen=True)
class _ScrubbedReply(Reply):
    """A reply without secret values. ``as_written`` is the model's own reply; only the dialect reads it."""

    as_written: Reply | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class _Dialect:
    dialect: Dialect
    scrubber: Scrubber

    @property
    def reading(self) -> str:
        return self.dialect.reading

    def offering(self, macros: Sequence[Macro]) -> Dialect:
        return _Dialect(self.dialect.offering(macros), self.scrubber)

    def request(
        self, transcript: Transcript, *, correction: Correction | None = None, answer_only: bool = False
    ) -> Request:
        request = self.dialect.request(transcript, correction=correction, answer_only=answer_only)
        return Request(_body(request.body, self.scrubber), request.shots)

    def parse(self, reply: Reply, *, answer_only: bool = False) -> Step:
        step = self.dialect.parse(reply, answer_only=answer_only)
        if not names_secret(_text(step)) or not isinstance(reply, _ScrubbedReply) or reply.as_written is None:
            return step
        try:
            own = self.dialect.parse(reply.as_written, answer_only=answer_only)
        except UnusableReply:
            return step  # every secret's name in it then counts as written by the model
        values = not names_secret(_text(own)) and self.scrubber.written(_text(own), is_format_word) == _text(step)
        return step.model_copy(update={"replaced": values})


def _text(step: Step) -> str:
    """Return the text that a step types, or an empty string."""
    return step.tool_call.content if isinstance(step.tool_call, WriteCall | WriteAtCall) else ""


@dataclass(frozen=True)
class _Question:
    question: Questioner
    scrubber: Scrubber

    def __call__(self, text: str, shots: Sequence[Shot], schema: Mapping[str, Any], *, thinking: bool) -> Request:
        request = self.question(text, shots, schema, thinking=thinking)
        return Request(_body(request.body, self.scrubber), request.shots)


def _body(body: Mapping[str, Any], scrubber: Scrubber) -> dict[str, Any]:
    """Return a request body with secret values removed from its messages.

    System messages hold no user text and stay.
    """
    if not scrubber:
        return dict(body)
    messages = [one if one["role"] == "system" else _message(one, scrubber) for one in body["messages"]]
    return {**body, "messages": messages}


def _message(message: Mapping[str, Any], scrubber: Scrubber) -> dict[str, Any]:
    scrubbed_message = dict(message)
    match scrubbed_message.get("content"):
        case str(text):
            scrubbed_message["content"] = _scrubbed_text(text, scrubber)
        case list(parts):
            scrubbed_message["content"] = [_part(part, scrubber) for part in parts]
    if "reasoning_content" in scrubbed_message:
        scrubbed_message["reasoning_content"] = scrubber.text(scrubbed_message["reasoning_content"])
    if "tool_calls" in scrubbed_message:
        scrubbed_message["tool_calls"] = [
            {
                **one,
                "function": {
                    **(call := one["function"]),
                    "arguments": scrubber.written(call["arguments"], is_format_word),
                },
            }
            for one in scrubbed_message["tool_calls"]
        ]
    return scrubbed_message


def _part(part: Mapping[str, Any], scrubber: Scrubber) -> Any:
    match part:
        case {"type": "text", "text": str(text)}:
            return {**part, "text": _scrubbed_text(text, scrubber)}
        case {"type": "image_url", "image_url": {"url": str(url)}} if is_picture(url):
            return part
        case _:
            return scrubber.plain(part, is_format_word)


def _scrubbed_text(text: str, scrubber: Scrubber) -> str:
    """Return a message text without secret values. The tags around a tool's output are kept."""
    if not scrubber.may_hold(text) or not (found := _TAGGED.fullmatch(text)):
        return text
    if found["tool"] and found["tool"] not in _WORDS:
        return scrubber.written(text, is_format_word)
    return f"{found['first'] or ''}{scrubber.written(found['text'], is_format_word)}{found['last'] or ''}"
