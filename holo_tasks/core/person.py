"""The question to a person who gets the screen, and the person's answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from holo_tasks.core.errors import InvalidUsage

TIMEOUT_S, LONGEST_S = 3600.0, 7 * 86_400.0
DONE, AGAIN, GIVE_UP = "done", "try again", "give up"
CHOICES = (DONE, AGAIN, GIVE_UP)
YES, NO = "approve", "refuse"
"""Choices for an action that needs a person's approval."""
SUSPENDED = "The flow run is suspended."
"""Beginning of the reason of a flow run that was suspended for a person and continues as a new run."""


@dataclass(frozen=True)
class Answer:
    """The choice of a person, with an optional note and the person's name in ``by``."""

    choice: str
    note: str = ""
    by: str = ""

    @property
    def sentence(self) -> str:
        """The sentence about the answer that the model gets."""
        said = f" They say: {self.note}" if self.note else ""
        return f"A person has had the screen, and answers: {self.choice}.{said}"


@dataclass(frozen=True)
class HandOff:
    """Option that lets a run wait for a person: if the model asks for one, and for actions that need an approval.

    The person has ``timeout_seconds`` to answer, at most ``LONGEST_SECONDS``.
    """

    LONGEST_SECONDS: ClassVar[float] = LONGEST_S

    timeout_seconds: float = TIMEOUT_S

    def __post_init__(self) -> None:
        seconds = self.timeout_seconds
        if isinstance(seconds, bool) or not (math.isfinite(seconds) and 0 < seconds <= LONGEST_S):
            raise InvalidUsage(f"timeout_seconds of a HandOff is above 0 and at most {LONGEST_S:g}, not {seconds!r}.")

    @classmethod
    def of(cls, given: HandOff | bool) -> HandOff | None:
        """Return the option as a `HandOff`: ``True`` gives the default, ``False`` gives ``None``."""
        return given if isinstance(given, HandOff) else cls() if given else None
