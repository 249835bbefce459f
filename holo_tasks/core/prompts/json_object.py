"""Parse the one JSON object of a model's reply strictly."""

from __future__ import annotations

import json
import re
from typing import Any

from holo_tasks.core.errors import UnusableReply

LEAKED_REASONING = re.compile(r"\A(?!\s*[{`]).*?</think>", re.DOTALL)
"""Matches text up to the first closing tag. If a server's template opens the tag, the opening tag is in the prompt."""


def parse_json_object(text: str) -> dict[str, Any]:
    """Parse one JSON object. Raises `UnusableReply` for anything else.

    Duplicate keys, NaN, text that is not Unicode and text around the object are errors. Two things are removed first
    because they change nothing: leaked reasoning before the object, and a Markdown fence around it.
    """
    stripped = without_reasoning(text).strip()
    if stripped.startswith("```") and stripped.endswith("```") and len(stripped) > 6:
        stripped = stripped[3:-3].removeprefix("json").removeprefix("JSON").strip()
    try:
        value = json.loads(stripped, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
        written = json.dumps(value, ensure_ascii=False)
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
    check_unicode(written)
    return value


def without_reasoning(text: str) -> str:
    """Remove reasoning that a server left before the content."""
    return LEAKED_REASONING.sub("", text)


def check_unicode(text: str) -> None:
    """Raise `UnusableReply` for an unpaired surrogate. JSON allows it, but it can be neither typed nor stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnusableReply(
            "the model's reply holds text that is not Unicode",
            correction="Your reply held half of a surrogate pair. Reply again with whole characters.",
        ) from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key appears twice")
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
