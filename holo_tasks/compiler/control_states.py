"""Return the state or the value that a control has after a press, as a condition of the step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holo_tasks.compiler.recording import RecordedStep
from holo_tasks.compiler.steps import name_with_parameters
from holo_tasks.compiler.targets import templated, title_of_item
from holo_tasks.core.elements.element_anchors import FIELDS
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Sight, plain

TOGGLES = frozenset({"check box", "toggle button", "switch", "check menu item"})
"""Roles of controls that a second press sets back."""


def checked_after(step: RecordedStep, values: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Return the condition that a check box or a similar control has the state that the recording gave it."""
    element = step.element
    if step.tool != "click" or not element.get("name") or element.get("alike", "1") != "1":
        return []
    is_checked = element.get("checked", "")
    wanted = is_checked == "no" or element.get("role") not in TOGGLES
    if not is_checked or element.get("role") not in TOGGLES | {"radio button", "radio menu item"}:
        return []
    name = templated(element["name"], values)
    within = {"within": title_of_item(element["within"], values)} if element.get("within") else {}
    return [{"role": element["role"], "name": name, **within, "checked": wanted}]


def chosen_after(
    step: RecordedStep, before: RecordedStep | None, after: Sight, values: Mapping[str, Value]
) -> list[dict[str, Any]]:
    """Return the condition that a combo box has the option that a step chose from its open list.

    The picture ``after`` must show the option at the height of the press that opened the list. A list of commands, for
    example, shows its own title again.
    """
    combo, option = step.element.get("chosen_in", ""), step.element.get("name", "")
    if step.tool != "click" or not combo or before is None or not before.points:
        return []
    if before.element.get("role") not in FIELDS or before.element.get("name") != combo:
        return []
    level = [line for line in after.lines if line.box.top <= before.points[0].y < line.box.bottom]
    if not plain(option) or not any(plain(option) in plain(line.text) for line in level):
        return []
    holds = name_with_parameters(step.element["role"], option, values)
    return [{"role": "combo box", "name": templated(combo, values), "holds": holds}]


def is_of_field(condition: Any, name: str) -> bool:
    """Return whether a condition is a text that begins with a field's name. OCR reads a box's arrow as a letter."""
    return isinstance(condition, str) and bool(plain(name)) and plain(condition).startswith(plain(name))
