"""Find the value that names a new item, so that a replay does not enter an item that is on the screen already."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep, Recording
from holo_tasks.compiler.targets import templated
from holo_tasks.core.elements.element_anchors import FIELDS, TWO_STATES
from holo_tasks.loop.left_fields import MOVES
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.values import PLACEHOLDER, Value, fill, label_of
from holo_tasks.vision.screen_text import Sight

_CODE = re.compile(r"[^\W\d_]+[-/_#]?\d{3,}(?:[-/_#](?:[^\W\d_]+[-/_#]?)?\d+)*")
"""A number with letters, such as *R-1002* or *INV-2026-0012*, without blanks. An amount or a unit has none."""
_SHARED = re.compile(
    r"(?:FY|Q|T|W)[-/_#]?(?:19|20)\d\d(?!\d).*"  # a part of a year
    r"|[^\W\d_]+[-/_#]?(?:19|20)\d\d(?:[-/_#]\d\d?){0,2}"  # a year, a month or a day, such as Nov-2026
    r"|(?:.*[-/_#\d])?[CK]?W\d\d?(?!\d).*"  # a week
    r"|(?:ANSI|ASTM|BS|DIN|EN|IEC|IEEE|ISO)[-/_#]?\d.*",  # a standard
    re.IGNORECASE,
)
"""Values that look like the number of an item and belong to many items."""


def entered_values(
    steps: Sequence[RecordedStep],
    shown: Sequence[tuple[Sight, Sight, Mapping[str, Value]]],
    kinds: Mapping[str, Kind],
) -> list[str]:
    """Return the first value, such as ``R-1002``, that was typed into a form with another one and is shown at the end.

    The first screen does not have it. A value that was searched for is followed by Enter or by a press, so it is not
    meant: a replay may find its row on the first screen. Amounts and names may belong to many items. If a form has two
    numbers, either may name the item, as those of a customer and an order, so neither is returned. ``shown`` has the
    first and the last screen, and the values, of each recording. Without any, no value is returned.
    """
    if not shown:
        return []
    found = [
        f"{{{name}}}"
        for name in dict.fromkeys(filter(None, (_only_number(form, shown[0][2]) for form in _forms(steps))))
        if kinds.get(name) == "text" and all(_came(str(told.get(name, "")), name, *one) for *one, told in shown)
    ]
    return found[:1]


def without_entered(texts: Sequence[str], later: Sequence[RecordedStep], values: Mapping[str, Value]) -> list[str]:
    """Return the texts that name an item, without values that are typed in later steps and may be shown by chance.

    A quantity of 12 is also a part of *K-12*. The number of an item, such as *R-1002*, stays. If nothing else names the
    item, a text that is such a value alone stays: it may be the key that a form asks for again.
    """
    typed = {templated(str(one.arguments[TYPING[one.tool]]), values) for one in later if one.tool in TYPING}
    others = [text for text in texts if text.strip("*") not in typed or is_number(fill(text.strip("*"), values))]
    return others or [text for text in texts if text in typed]


def enters_an_item(steps: Sequence[RecordedStep], values: Mapping[str, Value], answer: Mapping[str, Any]) -> bool:
    """Return whether steps type several values of the item into one form, which a second replay would enter again.

    An ``answer`` that reads a value from a table or next to a label belongs to a search, which does no harm.
    """
    if any("line" not in read for read in answer.get("read", {}).values()):
        return False
    forms = [[text for text in form if PLACEHOLDER.search(templated(text, values))] for form in _forms(steps)]
    return any(len({*form}) > 1 for form in forms)


def screens_at_ends(
    recordings: Sequence[Recording], values: Sequence[Mapping[str, Value]], seen: Mapping[str, ReadPicture]
) -> list[tuple[Sight, Sight, Mapping[str, Value]]]:
    """Return the first and the last screen of each recording, and its values."""
    return [
        (seen[one.steps[0].before.sha256].sight, seen[one.last.sha256].sight, told)
        for one, told in zip(recordings, values, strict=True)
    ]


def _forms(steps: Sequence[RecordedStep]) -> list[list[str]]:
    """Return the texts that were typed into each form, with only ways from field to field and check boxes between."""
    found: list[list[str]] = [[]]
    for step, following in pairwise([*steps, None]):
        assert step is not None
        if step.tool in TYPING:
            found[-1].append(str(step.arguments[TYPING[step.tool]]).strip())
        if step.arguments.get("press_enter") or not (step.tool in TYPING or _stays_in_form(step, following)):
            found.append([])
    return found


def _only_number(typed: Sequence[str], values: Mapping[str, Value]) -> str:
    """Return the parameter of the only number of a form, if another text followed it; else an empty string."""
    numbers = [*dict.fromkeys(text for text in typed if is_number(text))]
    if len(numbers) != 1 or numbers[0] == typed[-1]:
        return ""
    named = PLACEHOLDER.fullmatch(templated(numbers[0], values))
    return "" if named is None else named[1]


def is_number(text: str) -> bool:
    """Return whether a text is the number of one item, such as ``R-1002``, and nothing else."""
    return _CODE.fullmatch(text) is not None and _SHARED.fullmatch(text) is None


def _stays_in_form(step: RecordedStep, following: RecordedStep | None) -> bool:
    """Return whether a step goes to another field or sets a check box. It may have no role before a typed text."""
    if step.tool == "hotkey":
        return MOVES.issuperset(str(key).casefold() for key in step.arguments.get("keys", ()))
    role, is_typed = step.element.get("role", ""), following is not None and following.tool == "write"
    return step.tool == "click" and (role in FIELDS | TWO_STATES or (not role and is_typed))


def _came(value: str, name: str, first: Sight, last: Sight) -> bool:
    """Return whether the last screen shows a value that the first one does not show."""
    if not is_number(value):
        return False
    label = label_of(f"*{{{name}}}*", {name: value})
    return last.has(label) and not first.has(label)
