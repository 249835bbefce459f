"""Find presses that may set a check box whose state is not known. A second press would set it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep, Recording
from holo_tasks.compiler.steps import Action, key_of_row, short
from holo_tasks.compiler.targets import finds, templated
from holo_tasks.core.elements.element_anchors import numbered
from holo_tasks.core.elements.elements import TEXTS
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Sight, plain

SIGN, SMALLEST_SIGN = 26, 5
"""Largest and smallest side of the sign of a check box, in pixels. A text caret is thinner."""


def may_toggle(
    step: RecordedStep,
    following: RecordedStep | None,
    recordings: Sequence[Recording],
    seen: Mapping[str, ReadPicture],
) -> bool:
    """Return whether a press may have set a check box that the program does not report.

    The next item may find it checked. That is so if only a small sign changed. Words may set a box that the program
    does not report beside them. If the programs report other pressed elements, this one was not read in time, and then
    it is so if no text but that of its own row changed. A press before a typing chose a field. An image that is alone
    in its cell may be a tick.
    """
    if step.tool == "click" and "image" in step.element:
        return _may_be_tick(step, following, seen)
    role = step.element.get("role", "")
    if step.tool != "click" or (role and role not in TEXTS):
        return False
    changed = step.changed
    if changed is not None and max(changed.width, changed.height) <= SIGN:
        return min(changed.width, changed.height) >= SMALLEST_SIGN
    if role or following is None or following.tool in TYPING:
        return False
    if not any(one.points and one.element.get("role") for each in recordings for one in each.steps):
        return False
    before, after = (seen[picture.sha256].sight for picture in (step.before, step.after))
    lines = [line for line in before.lines if not after.has(line.text)]
    lines += [line for line in after.lines if not before.has(line.text)]
    return all(line.box.top <= step.points[0].y <= line.box.bottom for line in lines)


def press_of_sign(step: RecordedStep, sight: Sight, values: Mapping[str, Value]) -> list[Action]:
    """Return the press on the sign that a cell showed, such as a cross, in the item's row and below the heading.

    It sets a tick only where the recorded sign is shown, so it never sets one back. Returns an empty list if the sign
    is not clearly another one after the press, or if it is not found with certainty.
    """
    key, heading = key_of_row(step.element, values), step.element.get("column", "")
    if step.sign is None or not key or not heading:
        return []
    target = Target(picture=step.sign, row=key, column=templated(heading, values))
    is_found = finds(target, step.points[0], sight, values)
    return [{"click": short(target), "thought": f"Click {heading}."}] if is_found else []


def _may_be_tick(step: RecordedStep, following: RecordedStep | None, seen: Mapping[str, ReadPicture]) -> bool:
    """Return whether a press on an image in a cell left its row where it was, and no dialog opened or closed.

    Other texts on the page may say that there is a change to save.
    """
    after = step.after
    if following is not None:
        dialogs = step.element.get("dialogs"), following.element.get("dialogs")
        if following.tool in TYPING or (None not in dialogs and dialogs[0] != dialogs[1]):
            return False
        after = following.before
    lines = seen[after.sha256].sight.lines
    level = [plain(line.text) for line in lines if line.box.top <= step.points[0].y < line.box.bottom]
    texts = [plain(text) for text in numbered(step.element, "cell")]
    return any(text and any(text in line for line in level) for text in texts) or not any(texts)
