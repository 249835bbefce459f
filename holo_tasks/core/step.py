"""One turn of the agent, parsed: what it noted, thought and wants done."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holo_tasks.core.actions import AnswerCall, AnyCall
from holo_tasks.core.errors import UnusableReply

LEAKED_REASONING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class Step(BaseModel):
    """The object a structured-mode model emits; its JSON schema is what constrains the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: str | None = Field(
        default=None,
        description="Task-relevant information from the previous observation. Empty if nothing new.",
    )
    thought: str = Field(description="Reasoning about next steps")
    tool_call: AnyCall


class FinalStep(BaseModel):
    """The only step allowed at the step limit: the best answer so far."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: str | None = Field(
        default=None,
        description="Task-relevant information from the previous observation. Empty if nothing new.",
    )
    thought: str = Field(description="Reasoning about next steps")
    tool_call: AnswerCall


def parse_json_object(text: str) -> dict[str, Any]:
    """Read one JSON object; duplicate keys, NaN and anything around the object are errors.

    Raises `UnusableReply`. Reasoning that a server left in front, and a Markdown fence around the whole object, are
    taken off: they change nothing.
    """
    stripped = LEAKED_REASONING.sub("", text).strip()
    if stripped.startswith("```") and stripped.endswith("```") and len(stripped) > 6:
        stripped = stripped[3:-3].removeprefix("json").removeprefix("JSON").strip()
    try:
        value = json.loads(stripped, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UnusableReply(
            f"the model answered with something that is not a JSON object ({error})",
            correction="Your reply was not a single JSON object. Reply with exactly one JSON object "
            "that matches the output format, with no text around it.",
        ) from None
    if not isinstance(value, dict):
        raise UnusableReply(
            "the model answered with JSON that is not an object",
            correction="Reply with exactly one JSON object that matches the output format.",
        )
    return value


def parse_step(text: str, schema: type[Step] | type[FinalStep] = Step) -> Step:
    """Turn a reply's content into a `Step`; raise `UnusableReply` with what to tell the model."""
    value = parse_json_object(text)
    try:
        parsed = schema.model_validate(value)
    except ValidationError as error:
        problems = describe(error, value)
        raise UnusableReply(
            f"the model's reply does not fit the output format ({problems})",
            correction=f"Your reply did not match the output format: {problems}. "
            "Coordinates are single integers from 0 to 1000. Reply again with one corrected JSON object.",
            tool=_tool_name(value) or "format",
        ) from None
    try:
        parsed.model_dump_json()
    except ValueError:
        # Half of a surrogate pair: legal in JSON, but it can be neither typed nor written down.
        raise UnusableReply(
            "the model's reply holds text that is not Unicode",
            correction="Your reply held half of a surrogate pair. Reply again with whole characters.",
        ) from None
    return Step(note=parsed.note, thought=parsed.thought, tool_call=parsed.tool_call)


def describe(error: ValidationError, value: object) -> str:
    """Say in one line what is wrong with a step, naming only the tool that was meant."""
    name = _tool_name(value)
    seen: list[str] = []
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        path = [str(part) for part in item["loc"]]
        if path[:1] == ["tool_call"] and len(path) > 1:
            variant = path[1].removesuffix("Call")
            if name and variant.lower() != name.replace("_", "").lower():
                continue
            path = ["tool_call", *path[2:]]
        text = f"{'.'.join(path) or 'object'}: {item['msg']}"
        if text not in seen:
            seen.append(text)
    if not seen:
        return f"tool_call.tool_name: there is no tool named {(name or '')[:40]!r}"
    return "; ".join(seen[:3])


def _tool_name(value: object) -> str | None:
    """The tool a malformed step meant, if it is a name we may write into a tag."""
    tool_call = value.get("tool_call") if isinstance(value, dict) else None
    name = tool_call.get("tool_name") if isinstance(tool_call, dict) else None
    return name if isinstance(name, str) and re.fullmatch(r"[a-z_]{1,40}", name) else None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key appears twice")
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
