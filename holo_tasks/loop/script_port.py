"""Who decides the next step of a sub-goal without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holo_tasks.core.geometry import Box
    from holo_tasks.core.step import Step
    from holo_tasks.loop.walk import Walk


@dataclass(frozen=True)
class Intent:
    """What a script says of a step beside what is done: whether it is safe to repeat, and the state it leads to.

    ``held`` is where the screen says what item it is about, in pixels of what the walk is shown: nothing is pressed
    unless it looks the same there by then. ``shows`` is the text that a field holds after a text was typed into it, if
    that is another one.
    """

    safe: bool = False
    expect: str = ""
    held: tuple[Box, ...] = ()
    shows: str = ""


def heed(walk: Walk, intent: Intent, safe_to_repeat: tuple[str, ...]) -> None:
    """Have a walk heed what a script says of its next step; whose click may be repeated without a word of it."""
    walk.safe_to_repeat = ("*",) if intent.safe else safe_to_repeat
    walk.held, walk.typed.shows = intent.held, intent.shows


class Brain(Protocol):
    """Decides one sub-goal; made anew for each, since it remembers where it is.

    Its steps go through the same doors as a model's, and cost no call.
    """

    @property
    def intent(self) -> Intent:
        """What is said of the step that was decided last."""
        ...

    async def decide(self, walk: Walk) -> Step:
        """Return the next step for what the walk has seen last. Raises `GaveUp` when it does not know one.

        It hears from the transcript what came of the step before: one that was not remembered there was not done.
        """
        ...

    async def close(self) -> None:
        """Let go of what it still runs. To be called however the sub-goal ends; more than once does no harm."""
        ...
