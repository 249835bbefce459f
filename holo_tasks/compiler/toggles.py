"""Find presses that may set a check box whose state is not known. A second press would set it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep, Recording

SIGN, SMALLEST_SIGN = 26, 5
"""Largest and smallest side of the sign of a check box, in pixels. A text caret is thinner."""


def may_toggle(
    step: RecordedStep,
    following: RecordedStep | None,
    recordings: Sequence[Recording],
    seen: Mapping[str, ReadPicture],
) -> bool:
    """Return whether a press may have set a check box that the program does not report.

    The next item may find it checked. That is so if only a small sign changed. If the programs report other pressed
    elements, this one was not read in time, and then it is so if no text but that of its own row changed. A press
    before a typing chose a field.
    """
    if step.tool != "click" or step.element.get("role"):
        return False
    changed = step.changed
    if changed is not None and max(changed.width, changed.height) <= SIGN:
        return min(changed.width, changed.height) >= SMALLEST_SIGN
    if following is None or following.tool in TYPING:
        return False
    if not any(one.points and one.element.get("role") for each in recordings for one in each.steps):
        return False
    before, after = (seen[picture.sha256].sight for picture in (step.before, step.after))
    lines = [line for line in before.lines if not after.has(line.text)]
    lines += [line for line in after.lines if not before.has(line.text)]
    return all(line.box.top <= step.points[0].y <= line.box.bottom for line in lines)
