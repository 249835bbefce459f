"""The interface of scripts and playbooks: `Brain` decides the next step of a sub-goal without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holo_tasks.core.prompts.step import Step
    from holo_tasks.core.screen.geometry import Box
    from holo_tasks.loop.walk import Walk


@dataclass(frozen=True)
class Intent:
    """A script's statements about a step: whether it is safe to repeat, and the state that it leads to.

    ``held`` are boxes with the name of the business item, in pixels of the walk's picture. Nothing is pressed unless
    they are unchanged by then. ``shows`` is the text that a field holds after typing, if it differs from the typed
    text.
    """

    safe: bool = False
    expect: str = ""
    held: tuple[Box, ...] = ()
    shows: str = ""


def apply_intent(walk: Walk, intent: Intent, safe_to_repeat: tuple[str, ...]) -> None:
    """Apply a script's intent to the next step of a walk.

    ``safe_to_repeat`` applies unless the step is declared safe.
    """
    walk.safe_to_repeat = ("*",) if intent.safe else safe_to_repeat
    walk.held, walk.typed.shows = intent.held, intent.shows


class Brain(Protocol):
    """Decides one sub-goal. Each sub-goal gets a new one, because it remembers its position.

    Its steps pass the same checks as a model's, and cost no call.
    """

    @property
    def intent(self) -> Intent:
        """The intent of the last step."""
        ...

    async def decide(self, walk: Walk) -> Step:
        """Return the next step for the walk's newest screen. Raises `GaveUp` if it knows no step.

        It reads the outcome of the step before from the transcript. A step that is not in the transcript was not done.
        """
        ...

    async def close(self) -> None:
        """Release all resources. Call it however the sub-goal ends. Repeated calls are harmless."""
        ...
