"""The rules on how a structured-mode request asks for its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holo_tasks.playbooks.messages import schema_of
from holo_tasks.playbooks.rulebook import STANDARD, Body, RuleBook, Terms, Transport

BOOK = RuleBook()


@BOOK.rule("S02", "a request with a JSON schema holds no tools, functions or tool_choice")
def _no_tools(body: Body, _: Terms) -> Iterator[str]:
    yield from (key for key in ("tools", "tool_choice", "functions", "function_call") if key in body)


@BOOK.rule("S03", "fields for the server are at the top level, never in a literal extra_body")
def _no_extra_body(body: Body, _: Terms) -> Iterator[str]:
    if "extra_body" in body:
        yield "the OpenAI client merges extra_body; the server ignores the key"


@BOOK.rule("S04", "the schema travels in the agreed field and in no other")
def _schema_present(body: Body, terms: Terms) -> Iterator[str]:
    if "guided_json" in body:
        yield "guided_json was removed from vLLM: it returns unconstrained text"
    if not isinstance(schema_of(body, terms.transport), dict):
        yield f"no schema in {_field(terms.transport)}"
    other: Transport = "response_format" if terms.transport == "structured_outputs" else "structured_outputs"
    if other in body:
        yield f"{other} beside {terms.transport}"


@BOOK.rule("S05", "the schema is an object of note, thought and tool_call, and asks for the last two")
def _schema_object(body: Body, terms: Terms) -> Iterator[str]:
    schema = _schema(body, terms)
    if schema.get("type") != "object":
        yield "not an object schema"
    if set(_properties(schema)) != {"note", "thought", "tool_call"}:
        yield f"its properties are {sorted(schema.get('properties', {}))}"
    if not {"thought", "tool_call"} <= _required(schema):
        yield "thought and tool_call are not required"


@BOOK.rule("S06", "each tool is tagged: tool_name is required and pinned by const or enum")
def _schema_tagged(body: Body, terms: Terms) -> Iterator[str]:
    found = variants(body, terms)
    if not found:
        yield "tool_call has no variants"
    for variant in found:
        if tag_of(variant) is None:
            yield f"a variant of tool_call without a tag: {sorted(variant.get('properties', {}))}"
        elif "tool_name" not in _required(variant):
            yield f"{tag_of(variant)} does not require tool_name"
    tags = [tag_of(variant) for variant in found]
    yield from (f"two variants are tagged {tag}" for tag in tags if tags.count(tag) > 1)


@BOOK.rule("S07", "the step and each tool forbid additional properties")
def _schema_closed(body: Body, terms: Terms) -> Iterator[str]:
    if _schema(body, terms).get("additionalProperties") is not False:
        yield "the step"
    for variant in variants(body, terms):
        if variant.get("additionalProperties") is not False:
            yield str(tag_of(variant))


@BOOK.rule("S08", "the answer tool is always present")
def _schema_answer(body: Body, terms: Terms) -> Iterator[str]:
    tags = [tag_of(variant) for variant in variants(body, terms)]
    if not any(tag in ("answer", "answer_desktop") for tag in tags):
        yield f"the tools are {tags}"


def variants(body: Body, terms: Terms = STANDARD) -> list[dict[str, Any]]:
    """Return the schema of each tool, references resolved."""
    schema = _schema(body, terms)
    union = _resolve(_properties(schema).get("tool_call"), schema)
    options = union.get("anyOf") or union.get("oneOf") or ([union] if union else [])
    return [_resolve(option, schema) for option in options] if isinstance(options, list) else []


def tag_of(variant: Mapping[str, Any]) -> str | None:
    """Return the tool name a variant is pinned to; None if it is not pinned to one."""
    name = _properties(variant).get("tool_name")
    if not isinstance(name, dict):
        return None
    allowed = name.get("enum")
    only = allowed[0] if isinstance(allowed, list) and len(allowed) == 1 else None
    tag = name.get("const", only)
    return tag if isinstance(tag, str) else None


def _schema(body: Body, terms: Terms) -> dict[str, Any]:
    schema = schema_of(body, terms.transport)
    return schema if isinstance(schema, dict) else {}


def _resolve(node: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(node, dict):
        return {}
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definitions = schema.get("$defs")
        name = reference.removeprefix("#/$defs/")
        found = definitions.get(name) if isinstance(definitions, dict) else None
        # A definition that is itself a reference is not looked up further: it could be a circle.
        return found if isinstance(found, dict) else {}
    return node


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _required(schema: Mapping[str, Any]) -> set[str]:
    found = schema.get("required")
    return {str(name) for name in found} if isinstance(found, list) else set()


def _field(transport: Transport) -> str:
    return "structured_outputs.json" if transport == "structured_outputs" else "response_format.json_schema.schema"
