"""The rules of function calling (Holo3.1, Holo4): tools in the request, results as tool messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holo_tasks.contract import chat, common
from holo_tasks.contract.offered_tools import answer_only, function_of, offered, tools_of
from holo_tasks.contract.rulebook import Body, RuleBook, Terms
from holo_tasks.contract.schema import properties_of, required_of
from holo_tasks.contract.wire_messages import (
    FunctionCall,
    calls_of,
    function_call,
    json_object,
    messages_of,
    text_of,
)

BOOK: RuleBook[Body] = RuleBook()
BOOK.adopt(common.BOOK, "T")
BOOK.adopt(chat.BOOK, "T")

NOT_BESIDE_TOOLS = ("structured_outputs", "response_format", "guided_json", "functions", "function_call")
TOOL_FORMAT = re.compile(r'</?(?:output_format|tool_call|tools)>|"(?:tool_name|parameters|properties|\$defs)"')


@BOOK.rule("T02", "tools is a list of functions, each with a name, a description and parameters")
def _tools(body: Body, _: Terms) -> Iterator[str]:
    if not tools_of(body):
        yield "no tools"
    for place, tool in enumerate(tools_of(body)):
        function = function_of(tool)
        texts = [function.get(key) for key in ("name", "description")]
        if not isinstance(tool, Mapping) or tool.get("type") != "function" or set(tool) != {"type", "function"}:
            yield f"tool {place} is not a function"
        elif not all(isinstance(text, str) and text for text in texts) or not {"parameters"} <= set(function):
            yield f"tool {place} holds {sorted(function)}"


@BOOK.rule("T04", "a request with tools has no JSON schema and no legacy functions")
def _no_schema(body: Body, _: Terms) -> Iterator[str]:
    yield from (key for key in NOT_BESIDE_TOOLS if key in body)


@BOOK.rule("T05", "the parameters of a tool are an object schema that forbids additional properties")
def _parameters(body: Body, _: Terms) -> Iterator[str]:
    for tool in tools_of(body):
        function = function_of(tool)
        schema = function.get("parameters")
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            yield f"{function.get('name')}: not an object schema"
        elif schema.get("additionalProperties") is not False:
            yield f"{function.get('name')}: additional properties are not forbidden"
        elif not required_of(schema) <= set(properties_of(schema)):
            yield f"{function.get('name')}: it requires properties that it does not define"


@BOOK.rule("T06", "no two tools have the same name")
def _unique_tools(body: Body, _: Terms) -> Iterator[str]:
    names = [function_of(tool).get("name") for tool in tools_of(body)]
    yield from (str(name) for name in names if names.count(name) > 1)


@BOOK.rule("T07", "tool_choice is that of the model's profile")
def _tool_choice(body: Body, terms: Terms) -> Iterator[str]:
    if body.get("tool_choice") != terms.tool_choice:
        yield f"{body.get('tool_choice')!r}, not {terms.tool_choice!r}"


@BOOK.rule("T12", "the system message does not describe the format of calls: the server's template does")
def _no_format(body: Body, _: Terms) -> Iterator[str]:
    for message in messages_of(body):
        found = TOOL_FORMAT.search(text_of(message)) if message.get("role") == "system" else None
        if found:
            yield found[0]


@BOOK.rule("T23", "an assistant message holds exactly one function call")
def _one_call(body: Body, _: Terms) -> Iterator[str]:
    for place, message in _assistants(body):
        calls = calls_of(message)
        call = calls[0] if calls and isinstance(calls[0], Mapping) else {}
        if len(calls) != 1:
            yield f"message {place} holds {len(calls)}"
        elif call.get("type") != "function" or not isinstance(call.get("id"), str) or not call["id"]:
            yield f"the call of message {place} is not a function with an id"
        elif not function_call(call).name:
            yield f"the call of message {place} names no function"


@BOOK.rule("T24", "the content next to a call is text or null, never a step as JSON")
def _content(body: Body, _: Terms) -> Iterator[str]:
    for place, message in _assistants(body):
        content = message.get("content")
        if not isinstance(content, str | None):
            yield f"the content of message {place} is neither"
        elif content and {"tool_call", "thought", "note"} & set(json_object(content) or {}):
            yield f"message {place} is a step as JSON"


@BOOK.rule("T25", "arguments are a string that is one JSON object")
def _arguments(body: Body, _: Terms) -> Iterator[str]:
    for place, message in _assistants(body):
        for raw in calls_of(message):
            function = raw.get("function") if isinstance(raw, Mapping) else None
            written = function.get("arguments") if isinstance(function, Mapping) else None
            if not isinstance(written, str):
                yield f"those of message {place} are {type(written).__name__}"
            elif json_object(written) is None:
                yield f"those of message {place} are {written[:40]!r}"


@BOOK.rule("T28", "a call names an offered tool, with all required arguments and no unknown ones")
def _fits(body: Body, terms: Terms) -> Iterator[str]:
    tools = offered(body, terms)
    for place, call in _calls(body):
        schema = tools.get(call.name)
        if schema is None:
            # The last request offers an answer only. The history was written with all tools.
            if not answer_only(body, terms):
                yield f"message {place} calls {call.name!r}"
            continue
        given = set(call.arguments or {})
        if call.arguments is not None and not required_of(schema) <= given <= set(properties_of(schema)):
            yield f"message {place} calls {call.name} with {sorted(given)}"


@BOOK.rule("T29", "the ids of calls are unique in a conversation")
def _unique_ids(body: Body, _: Terms) -> Iterator[str]:
    ids = [call.id for _, call in _calls(body)]
    yield from (id_ for id_ in ids if ids.count(id_) > 1)


@BOOK.rule("T37", "a tool message answers the call right before it")
def _answers(body: Body, _: Terms) -> Iterator[str]:
    messages = messages_of(body)
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            ids = [function_call(call).id for call in calls_of(messages[place - 1])]
            if message.get("tool_call_id") not in ids:
                yield f"message {place} answers {message.get('tool_call_id')!r}, after {ids}"


@BOOK.rule("T38", "a result is text that is not empty")
def _results(body: Body, _: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        content = message.get("content")
        if message.get("role") == "tool" and not (isinstance(content, str) and content.strip()):
            yield f"message {place}"


@BOOK.rule("T39", "no result is in a user message")
def _no_user_results(body: Body, _: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        if message.get("role") == "user" and text_of(message).lstrip().startswith("<tool_output"):
            yield f"message {place}"


@BOOK.rule("T43", "preserve_thinking is set exactly for models that are trained with it")
def _kept_thinking(body: Body, terms: Terms) -> Iterator[str]:
    template = body.get("chat_template_kwargs")
    asked = template.get("preserve_thinking") if isinstance(template, Mapping) else None
    if (asked is True) is not terms.preserve_thinking:
        yield f"chat_template_kwargs.preserve_thinking is {asked}"


def _assistants(body: Body) -> Iterator[tuple[int, Mapping[str, Any]]]:
    return ((place, m) for place, m in enumerate(messages_of(body)) if m.get("role") == "assistant")


def _calls(body: Body) -> Iterator[tuple[int, FunctionCall]]:
    return ((place, function_call(call)) for place, message in _assistants(body) for call in calls_of(message))
