"""What is asked of a person who takes the screen over, and what they answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from holo_tasks.core.errors import InvalidUsage

TIMEOUT_S, LONGEST_S = 3600.0, 7 * 86_400.0
DONE, AGAIN, GIVE_UP = "done", "try again", "give up"
CHOICES = (DONE, AGAIN, GIVE_UP)
YES, NO = "approve", "refuse"
"""What is offered where an action needs a person's yes."""
SUSPENDED = "The flow run is suspended."
"""Begins the reason of a run that has ended for a person, and goes on as another one."""


@dataclass(frozen=True)
class Answer:
    """What a person chose of what was offered, what they say of it, and who they are."""

    choice: str
    note: str = ""
    by: str = ""

    @property
    def sentence(self) -> str:
        """What a model is told."""
        said = f" They say: {self.note}" if self.note else ""
        return f"A person has had the screen, and answers: {self.choice}.{said}"


@dataclass(frozen=True)
class HandOff:
    """Says that persons are waited for: when the model asks for one, and for actions that need a person's yes.

    They have ``timeout_seconds``.
    """

    timeout_seconds: float = TIMEOUT_S

    def __post_init__(self) -> None:
        seconds = self.timeout_seconds
        if isinstance(seconds, bool) or not (math.isfinite(seconds) and 0 < seconds <= LONGEST_S):
            raise InvalidUsage(f"A person has more than 0 and at most {LONGEST_S:g} seconds, not {seconds!r}.")

    @classmethod
    def of(cls, given: HandOff | bool) -> HandOff | None:
        """Read the option of an agent: true is the usual one."""
        return given if isinstance(given, HandOff) else cls() if given else None
