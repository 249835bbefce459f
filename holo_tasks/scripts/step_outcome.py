"""The outcome of each step of a playbook, and the layer that did the step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

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
