"""Macros: sequences of actions that a model may call as tools, by name and with parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holo_tasks.core.errors import InvalidUsage, UnusableReply
from holo_tasks.core.prompts.json_object import check_unicode
from holo_tasks.core.prompts.tool_calls import MacroCall
from holo_tasks.core.texts.outside_text import named

MOST_MACROS = 20
"""Most macros per sub-goal. With more tools, a model chooses badly."""
LONGEST_NAME, LONGEST_DESCRIPTION = 40, 600


@dataclass(frozen=True)
class Macro:
    """A sequence of actions as a model sees it.

    ``parameters`` are JSON schemas by name, and ``required`` names those that a call must give. ``check`` raises
    `InvalidUsage` for values that the sequence cannot be run with.
    """

    name: str
    description: str
    parameters: Mapping[str, Mapping[str, Any]]
    required: Sequence[str]
    check: Callable[[Mapping[str, Any]], object]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a call, including its ``tool_name``."""
        tag = {"const": self.name, "title": "Tool Name", "type": "string"}
        return {
            "additionalProperties": False,
            "description": self.description,
            "properties": {"tool_name": tag, **{name: dict(rule) for name, rule in self.parameters.items()}},
            "required": ["tool_name", *self.required],
            "title": self.kind,
            "type": "object",
        }

    @property
    def kind(self) -> str:
        """The title of its JSON schema."""
        return f"Macro_{self.name}"

    def read(self, values: Mapping[str, Any]) -> MacroCall:
        """Return a call with the values that a model wrote. Raises `UnusableReply` if they do not fit."""
        try:
            check_unicode(json.dumps(dict(values), ensure_ascii=False))
            self.check(values)
        except InvalidUsage as error:
            raise UnusableReply(
                f"the model's call does not fit its tools ({error})",
                correction=f"Your reply did not match the tools: {error} Reply again with one corrected call.",
                tool=self.name if re.fullmatch(r"[a-z_]{1,40}", self.name) else "format",
            ) from None
        return MacroCall(tool_name="macro", name=self.name, arguments=dict(values))


def macro_name(title: str) -> str:
    """Return the tool name for a sequence with this title."""
    return re.sub(r"[^a-z0-9]+", "_", title.casefold()).strip("_")[:LONGEST_NAME].strip("_") or "macro"


def described(title: str, about: str = "") -> str:
    """Return the description of a sequence for the model. ``about`` is the author's text."""
    said = f"Do ‘{named(title)}’ to its end in one call: a sequence of steps that is known here."
    return f"{said} {named(about, LONGEST_DESCRIPTION)}".strip()


def check_macros(macros: Sequence[Macro]) -> None:
    """Raise `InvalidUsage` for macros that cannot be offered together."""
    names = [macro.name for macro in macros]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise InvalidUsage(f"tools= holds two playbooks with the tool name {twice!r}: rename a goal.")
    if len(macros) > MOST_MACROS:
        raise InvalidUsage(f"tools= holds {len(macros)} playbooks; {MOST_MACROS} is the limit.")
    for macro in macros:
        if "tool_name" in macro.parameters:
            raise InvalidUsage(f"The tool {macro.name!r} has a parameter named tool_name: rename it in the playbook.")
