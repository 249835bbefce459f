"""Find the value that names a new item, so that a replay does not enter an item that is on the screen already."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep, Recording
from holo_tasks.compiler.targets import templated
from holo_tasks.core.elements.element_anchors import FIELDS
from holo_tasks.scripts.left_fields import MOVES
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.values import PLACEHOLDER, Value, label_of
from holo_tasks.vision.screen_text import Sight

_NUMBER = re.compile(r"[^\W\d_][-/_#]?\d")
_AMOUNT = re.compile(r"\d[.,]\d")
FEWEST_DIGITS = 3
"""Fewest digits of a number such as *R-1002*. Dates, amounts and units such as *100 kg* belong to many items."""


def entered_values(
    steps: Sequence[RecordedStep],
    shown: Sequence[tuple[Sight, Sight, Mapping[str, Value]]],
    kinds: Mapping[str, Kind],
) -> list[str]:
    """Return the first value, such as ``R-1002``, that was typed into a form with another one and is shown at the end.

    The first screen does not have it. A value that was searched for is followed by Enter or by a press, so it is not
    meant: a replay may find its row on the first screen. Later values, amounts and names may belong to many items.
    ``shown`` has the first and the last screen, and the values, of each recording. Without any, no value is returned.
    """
    if not shown:
        return []
    found = [
        f"{{{name}}}"
        for name in dict.fromkeys(_typed_in_forms(steps, shown[0][2]))
        if kinds.get(name) == "text" and all(_came(str(told.get(name, "")), name, *one) for *one, told in shown)
    ]
    return found[:1]


def screens_at_ends(
    recordings: Sequence[Recording], values: Sequence[Mapping[str, Value]], seen: Mapping[str, ReadPicture]
) -> list[tuple[Sight, Sight, Mapping[str, Value]]]:
    """Return the first and the last screen of each recording, and its values."""
    return [
        (seen[one.steps[0].before.sha256].sight, seen[one.last.sha256].sight, told)
        for one, told in zip(recordings, values, strict=True)
    ]


def _typed_in_forms(steps: Sequence[RecordedStep], values: Mapping[str, Value]) -> list[str]:
    """Return the parameters after which another one was typed, with only ways from field to field between them."""
    found: list[str] = []
    last = ""
    for step in steps:
        named = PLACEHOLDER.fullmatch(templated(str(step.arguments.get("content", "")), values))
        if step.tool == "write" and named is not None:
            found += [last] if last and last != named[1] else []
            last = "" if step.arguments.get("press_enter") else named[1]
        elif not _goes_to_field(step):
            last = ""
    return found


def _goes_to_field(step: RecordedStep) -> bool:
    if step.tool == "hotkey":
        return MOVES.issuperset(str(key).casefold() for key in step.arguments.get("keys", ()))
    return step.tool == "click" and step.element.get("role") in FIELDS


def _came(value: str, name: str, first: Sight, last: Sight) -> bool:
    """Return whether the last screen shows a value that the first one does not show."""
    if _NUMBER.search(value) is None or _AMOUNT.search(value) or sum(map(str.isdigit, value)) < FEWEST_DIGITS:
        return False
    label = label_of(f"*{{{name}}}*", {name: value})
    return last.has(label) and not first.has(label)
