"""A reply that breaks the contract is sent back with what is wrong with it, a few times a step."""

from __future__ import annotations

from dataclasses import dataclass

from holo_tasks.core.errors import InvalidUsage, ModelFailed, UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.core.shortened import shortened
from holo_tasks.core.transcript import Correction
from holo_tasks.core.visible_text import exact

CORRECTIONS, MOST_CORRECTIONS = 3, 20
"""How often that is done unless somebody says otherwise, and the most that can be said. Each is a call, and is paid."""
SHOWN = 200
"""How much of what came is shown."""


@dataclass
class Corrections:
    """How often the model was corrected in a step or about a question, and what it is told about its last reply.

    Outlives a task that is retried: an endpoint that fails in between gives the model no more chances.
    """

    most: int = CORRECTIONS
    made: int = 0
    last: Correction | None = None

    def count(self, error: UnusableReply, reply: Reply, what: str) -> None:
        """Count a reply that will not do, to be corrected; raise `ModelFailed` if it was the last chance.

        ``what`` was wanted.
        """
        if self.made >= self.most:
            raise ModelFailed(
                f"The model gave no usable {what}{often(self.made)}: {error}. Its last reply was {shown(reply)}."
            ) from None
        self.made += 1
        self.last = Correction(error.tool, error.correction)


def often(corrections: int) -> str:
    """Say how often a model was corrected."""
    return f", though it was corrected {corrections} time{'s' if corrections > 1 else ''}" if corrections else ""


def check_corrections(name: str, value: int) -> None:
    """Raise `InvalidUsage` for what is no number of corrections."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_CORRECTIONS:
        raise InvalidUsage(f"{name} must be from 0 to {MOST_CORRECTIONS}, not {value!r}.")


def shown(reply: Reply) -> str:
    """Return what a model wrote, short and on one line, to be read by people."""
    calls = (f"{call.name}({call.arguments})" for call in reply.tool_calls)
    return came(" ".join([reply.content, *calls])) or "empty"


def came(text: str) -> str:
    """Return the beginning of a text that others have sent, in quotation marks and fit for a terminal.

    Empty if there is nothing in it.
    """
    line = " ".join(text[: 10 * SHOWN].split())
    return f"‘{shortened(exact(shortened(line, SHOWN)), 2 * SHOWN)}’" if line else ""
