"""Return the state or the value that a control has after a press, as a condition of the step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holo_tasks.compiler.recording import RecordedStep
from holo_tasks.compiler.steps import name_with_parameters
from holo_tasks.compiler.targets import templated, title_of_item
from holo_tasks.core.elements.element_anchors import FIELDS
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Sight, plain

TOGGLES = frozenset({"check box", "toggle button", "switch", "check menu item"})
"""Roles of controls that a second press sets back."""
SETS_BACK = "it is a check box that cannot be described with certainty, and a second press sets it back"
RELATIONS = ("row", "column", "right_of", "left_of", "below")
DESCRIBE = ("role", "name", "within", *RELATIONS, "place")
"""Facts of a target that a condition can have as well. Without a relation to a text, others may have them too."""


class LeftToModel(InvalidUsage):
    """A step is left to the model for this reason."""


def checked_after(step: RecordedStep, target: Any, values: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Return the condition that a check box or a similar control has the state that the recording gave it.

    ``target`` is the target of the press in its shortest form. Raises `LeftToModel` for a check box that the target
    does not describe as an element.
    """
    element = step.element
    role, is_checked = element.get("role", ""), element.get("checked", "")
    if step.tool != "click" or not is_checked or role not in TOGGLES | {"radio button", "radio menu item"}:
        return []
    told = {name: target[name] for name in DESCRIBE if name in target} if isinstance(target, dict) else {}
    if element.get("name") and element.get("alike", "1") == "1":
        told = {"role": role, "name": templated(element["name"], values)}
        told |= {"within": title_of_item(element["within"], values)} if element.get("within") else {}
    elif told.get("role") != role or told.keys().isdisjoint(RELATIONS):
        if role in TOGGLES:
            raise LeftToModel(SETS_BACK)
        return []
    return [{**told, "checked": is_checked == "no" or role not in TOGGLES}]


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
