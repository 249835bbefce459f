"""Describe a recorded step in words, for the model that does it in a replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holo_tasks.compiler.chosen_by_keys import CHOOSE
from holo_tasks.compiler.recording import RecordedStep
from holo_tasks.compiler.targets import is_of_item, templated
from holo_tasks.scripts.values import Value

VERBS = {
    "click": "Click",
    "double_click": "Double-click",
    "move_to": "Move to",
    "scroll": "Scroll over",
    "drag_and_drop": "Drag",
    "write": "Type",
    "write_at": "Type",
    CHOOSE: "Choose",
}
ANYTHING = "what is there"
"""Description of a target that was recorded by hand and has no words."""


def in_words(step: RecordedStep, values: Mapping[str, Value], private: Sequence[str]) -> str:
    """Return a step in words for the model, with parameters and without a value of the recorded item."""
    verb = VERBS.get(step.tool, f"Do what the task says ({step.tool}):")
    target = str(step.arguments.get("element") or step.element.get("name") or "")
    typed = str(step.arguments.get("content", ""))
    keys = "+".join(map(str, step.arguments.get("keys") or ()))
    what = " into ".join(filter(None, [templated(typed, values), templated(target, values)])) or keys
    if not what or is_of_item(what, private) or target == ANYTHING:
        return f"{verb} what the task needs at this step."
    return f"{verb} {what}."
