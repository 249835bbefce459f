"""The rules on the JSON schema of a request, and on the schema of a step in structured mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holo_tasks.contract.common import no_tools
from holo_tasks.contract.rulebook import STANDARD, Body, RuleBook, Terms, Transport
from holo_tasks.contract.wire_messages import schema_of

BOOK: RuleBook[Body] = RuleBook()

FIELDS: dict[Transport, str] = {
    "structured_outputs": "structured_outputs.json",
    "response_format": "response_format.json_schema.schema",
    "json_object": "response_format.type",
}
SCHEMA_FIELD = "the schema is in the field of the transport and in no other"

BOOK.rule("S02", "a request with a JSON schema holds no tools, functions or tool_choice")(no_tools)


@BOOK.rule("S04", SCHEMA_FIELD)
def schema_in_its_field(body: Body, terms: Terms) -> Iterator[str]:
    """Yield errors in the place of the schema. A server with "json_object" gets no schema."""
    if "guided_json" in body:
        yield "guided_json was removed from vLLM: it returns unconstrained text"
    if terms.transport == "json_object":
        if body.get("response_format") != {"type": "json_object"}:
            yield f"response_format is {str(body.get('response_format'))[:60]}"
    elif not isinstance(schema_of(body, terms.transport), dict):
        yield f"no schema in {FIELDS[terms.transport]}"
    other = "response_format" if terms.transport == "structured_outputs" else "structured_outputs"
    if other in body:
        yield f"{other} beside {FIELDS[terms.transport]}"


@BOOK.rule("S05", "the schema is an object of note, thought and tool_call, and requires the last two")
def _schema_object(body: Body, terms: Terms) -> Iterator[str]:
    schema = schema_in(body, terms)
    if schema.get("type") != "object":
        yield "not an object schema"
    if set(properties_of(schema)) != {"note", "thought", "tool_call"}:
        yield f"its properties are {sorted(properties_of(schema))}"
    if not {"thought", "tool_call"} <= required_of(schema):
        yield "thought and tool_call are not required"


@BOOK.rule("S06", "each tool is tagged: tool_name is required and pinned by const or enum")
def _schema_tagged(body: Body, terms: Terms) -> Iterator[str]:
    found = variants(body, terms)
    if not found:
        yield "tool_call has no variants"
    for variant in found:
        if tag_of(variant) is None:
            yield f"a variant of tool_call without a tag: {sorted(properties_of(variant))}"
        elif "tool_name" not in required_of(variant):
            yield f"{tag_of(variant)} does not require tool_name"
    tags = [tag_of(variant) for variant in found]
    yield from (f"two variants are tagged {tag}" for tag in tags if tags.count(tag) > 1)


@BOOK.rule("S07", "the step and each tool forbid additional properties")
def _schema_closed(body: Body, terms: Terms) -> Iterator[str]:
    if schema_in(body, terms).get("additionalProperties") is not False:
        yield "the step"
    for variant in variants(body, terms):
        if variant.get("additionalProperties") is not False:
            yield str(tag_of(variant))


def variants(body: Body, terms: Terms = STANDARD) -> list[dict[str, Any]]:
    """Return the schema of each tool, with references resolved."""
    schema = schema_in(body, terms)
    union = _resolve(properties_of(schema).get("tool_call"), schema)
    options = union.get("anyOf") or union.get("oneOf") or ([union] if union else [])
    return [_resolve(option, schema) for option in options] if isinstance(options, list) else []


def tag_of(variant: Mapping[str, Any]) -> str | None:
    """Return the tool name that a variant requires. Returns ``None`` if the variant allows several names or any."""
    name = properties_of(variant).get("tool_name")
    if not isinstance(name, dict):
        return None
    allowed = name.get("enum")
    only = allowed[0] if isinstance(allowed, list) and len(allowed) == 1 else None
    tag = name.get("const", only)
    return tag if isinstance(tag, str) else None


def schema_in(body: Body, terms: Terms) -> dict[str, Any]:
    """Return the schema of a request. Returns an empty mapping if the request has none."""
    schema = schema_of(body, terms.transport)
    return schema if isinstance(schema, dict) else {}


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of an object schema. Returns an empty mapping for any other schema."""
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def required_of(schema: Mapping[str, Any]) -> set[str]:
    """Return the names of the required properties of an object schema."""
    found = schema.get("required")
    return {str(name) for name in found} if isinstance(found, list) else set()


def _resolve(node: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(node, dict):
        return {}
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definitions = schema.get("$defs")
        name = reference.removeprefix("#/$defs/")
        found = definitions.get(name) if isinstance(definitions, dict) else None
        # A definition that is itself a reference is not resolved, because references may be circular.
        return found if isinstance(found, dict) else {}
    return node
