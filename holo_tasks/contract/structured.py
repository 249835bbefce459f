"""The rules of structured mode for a request to a Holo model.

Each rule checks one request; `continuity` compares a request with the one before it. The rules come from H Company's
documentation of Holo3 and Holo3.1. Their ids identify them in errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from holo_tasks.contract import chat, common
from holo_tasks.contract import schema as contract_schema
from holo_tasks.contract.rulebook import STANDARD, Body, Breach, Rule, RuleBook, Terms
from holo_tasks.contract.wire_messages import kinds, messages_of, result_of, schema_of, shown_schema, step_of

BOOK: RuleBook[Body] = RuleBook()
BOOK.adopt(common.BOOK, "S")
BOOK.adopt(chat.BOOK, "S")
BOOK.adopt(contract_schema.BOOK, "")


def rules() -> tuple[Rule, ...]:
    """Return every rule on a single request."""
    return BOOK.rules


def breaches(body: Body, terms: Terms = STANDARD) -> list[Breach]:
    """Return the rules that a request breaks, in the order of their ids."""
    return BOOK.breaches(body, terms)


@BOOK.rule("S12", "the system message's <output_format> holds a fenced json block equal to the schema")
def _system_format(body: Body, terms: Terms) -> Iterator[str]:
    shown = shown_schema(body)
    if shown is None:
        yield "no such block, or it is not JSON"
    elif shown != schema_of(body, terms.transport):
        yield "the block is not the schema of the request"


@BOOK.rule("S23", "an assistant message is one flat step: note, thought and tool_call with its tool_name")
def _steps(body: Body, _: Terms) -> Iterator[str]:
    for place, message in enumerate(messages_of(body)):
        if message.get("role") != "assistant":
            continue
        step = step_of(message)
        if "tool_calls" in message:
            yield f"message {place} is a function call"
        elif step is None:
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
        if messages[place].get("role") == "tool" or (kind == "result" and result_of(messages[place]) is None):
            yield f"message {place}"


@BOOK.rule("S25", "a result names the tool of the step before it")
def _result_names(body: Body, _: Terms) -> Iterator[str]:
    messages = messages_of(body)
    for before, message, kind in zip(messages, messages[1:], kinds(messages)[1:], strict=False):
        result, step = result_of(message), step_of(before)
        if kind == "result" and result and step and step["tool_call"].get("tool_name") != result.tool:
            yield f"{result.tool!r} after {step['tool_call'].get('tool_name')!r}"
