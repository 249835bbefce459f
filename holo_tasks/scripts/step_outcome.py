"""The outcome of each step of a playbook, and the layer that did the step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from holo_tasks.scripts.playbook import ListStep, Rule
from holo_tasks.scripts.steps_and_targets import WITHOUT_EFFECT

Outcome = Literal["fitted", "healed", "failed"]
By = Literal["playbook", "model"]
Heal = Literal["off", "propose", "apply"]
"""Handling of a step that the model did: nothing, a proposal beside the playbook, or a verified change of
the playbook.
"""


@dataclass(frozen=True)
class StepOutcome:
    """The outcome of one step of a playbook, identified by its rule and the index of its action.

    ``fitted``: the playbook did the step. ``healed``: the step did not fit the screen, the model did it, and the
    playbook went on. ``failed``: the step did not fit, and the playbook gave up. ``said`` is the step's thought without
    any values of the business item. ``why`` is the reason of a misfit. ``calls`` is the number of calls to the model.
    """

    rule: str
    place: int
    said: str
    outcome: Outcome
    by: By = "playbook"
    calls: int = 0
    why: str = ""


def count(outcomes: Iterable[StepOutcome], outcome: Outcome) -> int:
    """Return the number of steps with an outcome."""
    return sum(one.outcome == outcome for one in outcomes)


def may_have_stored(
    rules: Sequence[Rule], outcomes: Iterable[StepOutcome], tried: tuple[str, int] | None = None
) -> bool:
    """Return whether a playbook that did these steps may have stored its item.

    It may if it typed each text of its list, and did a step after the last one that is done only once, such as *Save*.
    ``tried`` is the rule and the place of a step that the model began and did not finish.
    """
    steps = {(rule.id, place): (rule, action) for rule in rules for place, action in enumerate(rule.do)}
    done = [(one.rule, one.place) for one in outcomes if one.outcome != "failed"]
    done += [] if tried is None else [tried]
    to_type = {step for step, (_, action) in steps.items() if isinstance(action, ListStep) and action.write is not None}
    if not to_type <= set(done):
        return False
    stored = False
    for rule, action in (steps[step] for step in done):
        if action.write is not None:
            stored = action.write.press_enter
        elif action.kind not in WITHOUT_EFFECT and rule.limit == 1 and not rule.anytime:
            stored = True
    return stored
