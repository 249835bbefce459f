"""The tools that a model is offered, with the names and coordinates that it was trained with."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

from pydantic import TypeAdapter, ValidationError

from holo_tasks.core.errors import InvalidUsage, UnusableReply
from holo_tasks.core.prompts.json_object import check_unicode
from holo_tasks.core.prompts.macros import Macro, check_macros
from holo_tasks.core.prompts.tool_calls import AnyCall, MacroCall, MoveToCall, ToolCall
from holo_tasks.core.texts.error_text import problems_of

Space: TypeAlias = Literal["thousandths", "unit"]

CALLS: dict[str, type[ToolCall]] = {
    get_args(kind.model_fields["tool_name"].annotation)[0]: kind for kind in get_args(AnyCall) if kind is not MacroCall
}
"""All built-in tools by name. Macros have their own names."""
STANDARD = tuple(name for name in CALLS if name != "write_at")
"""Tools offered to a Holo model: the toolbox of the public documentation."""
UNSUFFIXED = ("drag_and_drop", "answer", "ask_human")
"""Tools that have no suffix in H Company's desktop harness either."""
COORDINATES = frozenset({"x", "y", "x1", "y1", "x2", "y2"})
_ANY: TypeAdapter[AnyCall] = TypeAdapter(AnyCall)
_SPACES: dict[Space, tuple[dict[str, Any], str]] = {
    "thousandths": ({"type": "integer", "minimum": 0, "maximum": 1000}, "as integer in [0, 1000]"),
    "unit": ({"type": "number", "minimum": 0, "maximum": 1}, "as number in [0, 1]"),
}


def point_schema(space: Space) -> dict[str, Any]:
    """Return the JSON schema of one point on a picture."""
    constraint, words = _SPACES[space]
    return {
        "type": "object",
        "properties": {
            axis: {**constraint, "description": f"{axis.upper()} coordinate {words}"} for axis in ("x", "y")
        },
        "required": ["x", "y"],
        "additionalProperties": False,
    }


def read_point(value: Mapping[str, Any], space: Space) -> tuple[float, float]:
    """Parse a point and return it in thousandths of the picture. Raises `UnusableReply` for a point off the picture."""
    for name in value.keys() - {"x", "y"}:
        raise UnusableReply(
            f"the model's position has an unknown field {name[:40]!r}",
            correction=f"A position has the fields x and y, not {name[:40]!r}. Reply with one corrected JSON object.",
        )
    read = Toolbox(space=space).read({**value, "tool_name": "move_to", "element": ""})
    assert isinstance(read, MoveToCall)
    return read.x, read.y


class Toolbox:
    """The tools as one model knows them.

    ``names`` renames tools, and ``suffix`` is appended to the other names, as H Company's desktop harness does.
    ``space`` is the unit of coordinates. ``offered`` selects tools; the answer is always included. ``macros`` are
    offered in addition.
    """

    def __init__(
        self,
        *,
        names: Mapping[str, str] | None = None,
        suffix: str = "",
        space: Space = "thousandths",
        offered: Sequence[str] | None = None,
        macros: Sequence[Macro] = (),
    ) -> None:
        chosen = STANDARD if offered is None else tuple(dict.fromkeys((*offered, "answer")))
        unknown = sorted({*chosen, *(names or {})} - set(CALLS))
        if unknown:
            raise InvalidUsage(f"There is no tool named {unknown[0]!r}; there are: {', '.join(CALLS)}.")
        self.space: Space = space
        self._spoken = {name: (names or {}).get(name, name if name in UNSUFFIXED else name + suffix) for name in chosen}
        self._tools = {spoken: name for name, spoken in self._spoken.items()}
        for spoken in self._tools:
            if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", spoken):
                raise InvalidUsage(f"{spoken[:40]!r} is not a name for a tool; use letters, digits and underscores.")
        if len(self._tools) != len(self._spoken):
            raise InvalidUsage("Two tools have the same name.")
        check_macros(macros)
        self._macros = {macro.name: macro for macro in macros}
        for taken in self._macros.keys() & {*self._tools, *CALLS, "macro"}:
            raise InvalidUsage(
                f"tools= holds a playbook whose tool name {taken!r} is that of a built-in tool: rename it."
            )

    def name(self, tool: str) -> str:
        """Return the model's name for a tool."""
        return self._spoken.get(tool, tool)

    def schema(self, tool: str) -> dict[str, Any]:
        """Return the JSON schema of a call, including its ``tool_name``."""
        schema = copy.deepcopy(_own_schema(tool))
        constraint, words = _SPACES[self.space]
        for field, rule in schema["properties"].items():
            if field in COORDINATES:
                title, said = rule["title"], rule["description"]
                schema["properties"][field] = {"title": title, "description": f"{said} {words}", **constraint}
        schema["properties"]["tool_name"]["const"] = self.name(tool)
        return schema

    def step_schema(self, *, answer_only: bool = False) -> dict[str, Any]:
        """Return the schema of a step in structured mode: a note, a thought and exactly one tool call."""
        tools = ["answer"] if answer_only else list(self._spoken)
        kinds = {CALLS[tool].__name__: self.schema(tool) for tool in tools}
        kinds |= {macro.kind: macro.schema for macro in self._macros.values() if not answer_only}
        variants = [{"$ref": f"#/$defs/{kind}"} for kind in kinds]
        note = "Task-relevant information from the previous observation. Empty if nothing new."
        return {
            "$defs": kinds,
            "additionalProperties": False,
            "properties": {
                "note": {
                    "anyOf": [{"type": "string"}, {"type": "null"}],
                    "default": None,
                    "description": note,
                    "title": "Note",
                },
                "thought": {"description": "Reasoning about next steps", "title": "Thought", "type": "string"},
                "tool_call": variants[0] if answer_only else {"anyOf": variants, "title": "Tool Call"},
            },
            "required": ["thought", "tool_call"],
            "title": "Step",
            "type": "object",
        }

    def functions(self, *, answer_only: bool = False) -> list[dict[str, Any]]:
        """Return the tools in the format of function calling."""
        if answer_only:
            return [_function(self.schema("answer"))]
        schemas = [*map(self.schema, self._spoken), *(macro.schema for macro in self._macros.values())]
        return list(map(_function, schemas))

    def read(self, call: Mapping[str, Any], *, answer_only: bool = False) -> AnyCall:
        """Parse a flat call from the model. Raises `UnusableReply` with a correction for the model."""
        spoken = call.get("tool_name")
        tool = self._tools.get(spoken) if isinstance(spoken, str) else None
        macro = self._macros.get(spoken) if isinstance(spoken, str) and not answer_only else None
        if macro is not None:
            return macro.read({name: value for name, value in call.items() if name != "tool_name"})
        if tool is None or (answer_only and tool != "answer"):
            offered = self.name("answer") if answer_only else ", ".join([*self._tools, *self._macros])
            raise self._unusable(f"there is no tool named {str(spoken)[:40]!r}; there are: {offered}", spoken)
        values = dict(call) | {"tool_name": tool}
        problems = [f"{name}: {problem}" for name, problem in self._wrong_coordinates(values)]
        if not problems:
            try:
                check_unicode(json.dumps(values, ensure_ascii=False))
                return _ANY.validate_python(values | self._in_thousandths(values))
            except ValidationError as error:
                problems = _problems(error, CALLS[tool].__name__)
        raise self._unusable("; ".join(problems[:3]), spoken)

    def write(self, call: AnyCall) -> dict[str, Any]:
        """Return a call as the model itself would write it."""
        if isinstance(call, MacroCall):
            return {**call.arguments, "tool_name": call.name}
        values = call.model_dump(mode="json")
        if self.space == "unit":
            values |= {name: float(Decimal(str(values[name])) / 1000) for name in COORDINATES & values.keys()}
        return {**values, "tool_name": self.name(call.tool_name)}

    def _wrong_coordinates(self, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the name and the error of each coordinate that is not one number in this space.

        None is moved into range.
        """
        kinds, most = ((int,), 1000) if self.space == "thousandths" else ((int, float), 1)
        words = "a single integer from 0 to 1000" if self.space == "thousandths" else "a single number from 0 to 1"
        for name in sorted(COORDINATES & values.keys()):
            value = values[name]
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value <= most:
                yield name, f"{str(value)[:40]!r} is not {words}"

    def _in_thousandths(self, values: Mapping[str, Any]) -> dict[str, Any]:
        if self.space == "thousandths":
            return {}
        # Decimals avoid rounding errors: 0.57 becomes exactly 570 thousandths.
        return {name: float(Decimal(str(values[name])) * 1000) for name in COORDINATES & values.keys()}

    def _unusable(self, problems: str, spoken: object) -> UnusableReply:
        words = "integers from 0 to 1000" if self.space == "thousandths" else "numbers from 0 to 1"
        return UnusableReply(
            f"the model's call does not fit its tools ({problems})",
            correction=f"Your reply did not match the tools: {problems}. "
            f"Coordinates are single {words}. Reply again with one corrected call.",
            tool=spoken if isinstance(spoken, str) and re.fullmatch(r"[a-z_]{1,40}", spoken) else "format",
        )


@functools.cache
def _own_schema(tool: str) -> dict[str, Any]:
    return CALLS[tool].model_json_schema()  # cached because it takes a millisecond


def _function(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's schema in the format of function calling."""
    return {
        "type": "function",
        "function": {
            "name": schema["properties"]["tool_name"]["const"],
            "description": schema["description"],
            "parameters": {
                "type": "object",
                "properties": {name: rule for name, rule in schema["properties"].items() if name != "tool_name"},
                "required": [name for name in schema["required"] if name != "tool_name"],
                "additionalProperties": False,
            },
        },
    }


def _problems(error: ValidationError, kind: str) -> list[str]:
    """Return the errors of a call, limited to fields of the intended tool."""
    found = [one._replace(path=one.path[1:]).text("call") for one in problems_of(error) if one.path[:1] == (kind,)]
    return list(dict.fromkeys(found)) or ["the call is malformed"]
