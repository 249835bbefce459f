"""Count how often a model's unusable replies are sent back with a correction.

`Corrections` is used for steps (`Walk.decide`) and questions (`ask`).
"""

from __future__ import annotations

from dataclasses import dataclass

from holo_tasks.core.errors import InvalidUsage, ModelFailed, UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.core.prompts.transcript import Correction
from holo_tasks.core.texts.shortened import shortened
from holo_tasks.core.texts.visible_text import exact

CORRECTIONS, MOST_CORRECTIONS = 3, 20
"""Default number of corrections per step or question, and the largest number that can be configured.

Each correction costs one call.
"""
SHOWN = 200
"""Number of characters of a reply that messages show."""


@dataclass
class Corrections:
    """The number of corrections in a step or for a question, and the newest correction.

    Keep it when a task is retried. Otherwise a failing endpoint would give the model more attempts.
    """

    most: int = CORRECTIONS
    made: int = 0
    last: Correction | None = None

    def count(self, error: UnusableReply, reply: Reply, what: str) -> None:
        """Count an unusable reply and set its correction. Raises `ModelFailed` after the last attempt.

        ``what`` names the wanted kind of reply in the message.
        """
        if self.made >= self.most:
            raise ModelFailed(
                f"The model gave no usable {what}{corrections_clause(self.made)}: {error}. "
                f"Its last reply was {reply_excerpt(reply)}."
            ) from None
        self.made += 1
        self.last = Correction(error.tool, error.correction)


def corrections_clause(corrections: int) -> str:
    """Return a clause that says how often a model was corrected. Returns an empty string for 0."""
    return f", though it was corrected {corrections} time{'s' if corrections > 1 else ''}" if corrections else ""


def check_corrections(name: str, value: int) -> None:
    """Raise `InvalidUsage` unless a value is an integer from 0 to 20."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_CORRECTIONS:
        raise InvalidUsage(f"{name} must be from 0 to {MOST_CORRECTIONS}, not {value!r}.")


def reply_excerpt(reply: Reply) -> str:
    """Return a model's reply for people: shortened, and on one line."""
    calls = (f"{call.name}({call.arguments})" for call in reply.tool_calls)
    return quoted_start(" ".join([reply.content, *calls])) or "empty"


def quoted_start(text: str) -> str:
    """Return the beginning of a foreign text in quotation marks, safe for a terminal.

    Returns an empty string for a blank text.
    """
    line = " ".join(text[: 10 * SHOWN].split())
    return f"‘{shortened(exact(shortened(line, SHOWN)), 2 * SHOWN)}’" if line else ""
