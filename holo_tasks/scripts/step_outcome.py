"""What came of the steps of a playbook that was followed: by whom each was done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["fitted", "healed", "failed"]
By = Literal["playbook", "model"]
Heal = Literal["off", "propose", "apply"]
"""What is made of a step that the model did: nothing, a proposal beside the playbook, a change if it was verified."""


@dataclass(frozen=True)
class StepOutcome:
    """One step of a playbook, by its rule and the place of its action there, and what came of it.

    ``fitted``: the playbook did it. ``healed``: it did not fit the screen, the model did that one step, and the
    playbook went on. ``failed``: it did not fit, and the playbook gave up there. ``said`` is the step's thought, in the
    playbook's own words, without an item's values; ``why`` what did not fit; ``calls`` what the model was asked.
    """

    rule: str
    place: int
    said: str
    outcome: Outcome
    by: By = "playbook"
    calls: int = 0
    why: str = ""


def count(outcomes: Iterable[StepOutcome], outcome: Outcome) -> int:
    """Return how many steps came to an outcome."""
    return sum(one.outcome == outcome for one in outcomes)
