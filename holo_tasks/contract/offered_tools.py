"""Find the tools that a request offers to the model, in every dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holo_tasks.contract.rulebook import STANDARD, Body, Terms
from holo_tasks.contract.schema import properties_of, tag_of, variants


def offered(body: Body, terms: Terms = STANDARD) -> dict[str, dict[str, Any]]:
    """Return the schema of each tool's arguments, by the tool's name."""
    if terms.dialect == "tools":
        return {name: parameters for name, parameters in map(_function, tools_of(body)) if name}
    return {tag: variant for variant in variants(body, terms) if (tag := tag_of(variant)) is not None}


def answer_only(body: Body, terms: Terms = STANDARD) -> bool:
    """Return whether a request allows only an answer."""
    return list(offered(body, terms)) == ["answer"]


def tools_of(body: Body) -> list[Any]:
    """Return the function tools of a request, well formed or not."""
    found = body.get("tools")
    return found if isinstance(found, list) else []


def function_of(tool: object) -> Mapping[str, Any]:
    """Return the function of a tool. Returns an empty mapping if the tool has none."""
    found = tool.get("function") if isinstance(tool, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def meant(call: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call without arguments that equal their default. Serialising may add or drop those."""
    rules = {name: rule for name, rule in properties_of(schema).items() if isinstance(rule, Mapping)}
    return {name: value for name, value in call.items() if rules.get(name, {}).get("default", ...) != value}


def _function(tool: object) -> tuple[str, dict[str, Any]]:
    function = function_of(tool)
    name, parameters = function.get("name"), function.get("parameters")
    return (name if isinstance(name, str) else ""), (parameters if isinstance(parameters, dict) else {})
