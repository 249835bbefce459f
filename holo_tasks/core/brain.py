"""Who decides the next step of a sub-goal without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from holo_tasks.core.step import Step
    from holo_tasks.core.walk import Walk


class Brain(Protocol):
    """Decides one sub-goal; made anew for each, since it remembers where it is.

    Its steps go through the same doors as a model's, and cost no call.
    """

    async def decide(self, walk: Walk) -> Step:
        """Return the next step for what the walk has just seen. Raises `GaveUp` when it does not know one."""
        ...

    async def close(self) -> None:
        """Let go of what it still runs. To be called however the sub-goal ends; more than once does no harm."""
        ...


@runtime_checkable
class Scripted(Protocol):
    """A script: what can be done again and again, each time by a brain of its own."""

    @property
    def name(self) -> str:
        """What it is called in the trace."""
        ...

    def brain(self) -> Brain: ...
