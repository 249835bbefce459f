"""Leave out the texts that a later step presses. An option names no item: it is there for every item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep, Recording
from holo_tasks.core.elements.element_anchors import OPTIONS, TWO_STATES
from holo_tasks.core.screen.geometry import Point
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Line, Sight, plain

IN_OPEN_LISTS = frozenset({"list item", "menu item"})
"""Roles of options whose list may cover the form below."""
CHOICES = TWO_STATES | OPTIONS | {"combo box"}
"""Roles of controls that choose a value."""


def without_options(
    sight: Sight, step: RecordedStep, recording: Recording, seen: Mapping[str, ReadPicture], values: Mapping[str, Value]
) -> Sight:
    """Return a picture of a step without the texts that this step or a later one presses to choose a value.

    Such a text holds the value where the press finds it. OCR may join it with the neighboring options. A value with a
    digit is an item's key, which may be pressed in a list and be the heading of a form. So is a value that is pressed
    on another control than one of `CHOICES`, or that stands alone where the program reports no control.
    """
    pressed = [
        (point, value)
        for one in recording.steps[recording.steps.index(step) :]
        if one.tool == "click"
        for point in one.points
        for value in _options_at(point, one, seen[one.before.sha256].sight, values)
    ]
    return replace(sight, lines=[line for line in sight.lines if not any(_holds(line, *each) for each in pressed)])


def _options_at(point: Point, step: RecordedStep, sight: Sight, values: Mapping[str, Value]) -> list[str]:
    """Return the values without a digit that a picture shows at the point of a step that chooses one."""
    role = step.element.get("role", "")
    if role and role not in CHOICES:
        return []
    said = [str(value) for value in values.values() if str(value) and not any(map(str.isdigit, str(value)))]
    there = [(value, line) for value in said for line in sight.lines if _holds(line, point, value)]
    return [value for value, line in there if role or plain(line.text) != plain(value)]


def _holds(line: Line, point: Point, value: str) -> bool:
    return line.box.contains(point) and value.casefold() in line.text.casefold()


def require_after_choice(steps: Sequence[RecordedStep], every: Sequence[list[dict[str, Any]]]) -> None:
    """Leave out typed values before a press on an option, if the next step also requires them.

    The open list may cover the field with the value, depending on the size of the window and on the item.
    """
    typed: set[str] = set()
    for step, own, following in zip(steps, every, every[1:], strict=False):
        if own[0].get("before") and step.element.get("role") in IN_OPEN_LISTS:
            later = following[0].get("before", [])
            kept = [one for one in own[0]["before"] if not (isinstance(one, str) and one in typed and one in later)]
            own[0] = {**own[0], "before": kept} if kept else _without_before(own[0])
        typed |= {action["write"]["text"] for action in own if "write" in action}


def _without_before(action: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in action.items() if name != "before"}
