"""Find other names of a control in recordings of other versions of the program, as further ways to find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holo_tasks.compiler.paths import Visit
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep, Recording
from holo_tasks.compiler.steps import actions_of, short
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Sight

POINTING = ("click", "double_click", "right_click", "move_to")
"""The actions with one target."""

Shown = tuple[RecordedStep, Sight, Mapping[str, Value]]
"""A step, its picture before, and the parameter values of its recording."""


def variants(
    recordings: Sequence[Recording], seen: Mapping[str, ReadPicture], values: Sequence[Mapping[str, Value]]
) -> Callable[[Visit, Visit], bool]:
    """Return a function that compares two visits in different versions of the program.

    The visits are the same if their steps and results are, and neither picture shows the control of the other. If
    one picture shows both controls, a person chose between the two.
    """

    def shown(step: RecordedStep) -> Shown:
        number = next(number for number, one in enumerate(recordings) if step in one.steps)
        return step, seen[step.before.sha256].sight, values[number]

    def are(one: Visit, other: Visit) -> bool:
        if one.screen != other.screen or len(one.steps) != len(other.steps):
            return False
        pairs = zip(one.kind, other.kind, one.steps, other.steps, strict=True)
        return all(kind == like or _is_renamed(shown(step), shown(same), seen) for kind, like, step, same in pairs)

    return are


def _is_renamed(one: Shown, other: Shown, seen: Mapping[str, ReadPicture]) -> bool:
    steps = one[0], other[0]
    left, right = _single_target(one), _single_target(other)
    if left is None or right is None or left[0] != right[0]:
        return False
    if len({seen[step.after.sha256].screen for step in steps}) > 1:
        return False
    return not _is_visible(left[1], other) and not _is_visible(right[1], one)


def with_variants(do: dict[str, Any], others: Sequence[Shown]) -> dict[str, Any]:
    """Return an action whose target has the other descriptions from later recordings, each once."""
    kind = next((kind for kind in POINTING if kind in do), None)
    if kind is None:
        return do
    target = Target.model_validate(do[kind])
    for shown in others:
        found = _single_target(shown)
        if found is not None and found[0] == kind and not _is_visible(target, shown):
            target = target.model_copy(update={"or_": (*target.or_, found[1])})
    return {**do, kind: short(target)}


def _single_target(shown: Shown) -> tuple[str, Target] | None:
    """Return the kind and the target of a step with a single action on a text. Returns ``None`` for any other step."""
    step, sight, values = shown
    if step.tool not in ("click", "double_click", "move_to"):
        return None
    (action,) = actions_of(step, sight, values)
    kind = next(kind for kind in POINTING if kind in action)
    target = Target.model_validate(action[kind])
    return None if target.text is None else (kind, target)


def _is_visible(target: Target, shown: Shown) -> bool:
    _, sight, values = shown
    try:
        find(target, values, sight)
    except NotFound as error:
        return type(error) is not NotFound  # a subclass means that several were found
    return True
