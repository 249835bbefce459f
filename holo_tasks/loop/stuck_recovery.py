"""What is done about an agent that gets nowhere: words, then pictures, then a step back, then another layer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from holo_tasks.core import events
from holo_tasks.core.actions import WaitCall
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.stuck import stuck
from holo_tasks.loop.walk import Walk

NO_PROGRESS = 12
"""So many steps without a screen that was not there before in this sub-goal are no progress. Waiting does not count."""
PICTURES, BACK, ENOUGH = 2, 3, 4
"""The so-many-th time that an agent is stuck, it is shown what it did too, is taken back, or is not let go on."""

Back = Callable[[], Awaitable[str]]
"""Takes the program back to where one can go on from; returns what was done, in a sentence."""


@dataclass
class Stock:
    """How often an agent was found stuck, since which step it has not been, and what it has seen.

    ``times`` begins higher for those that cannot be told anything.
    """

    back: Back
    layer: str = "model"
    since: int = 0
    times: int = 0
    idle: int = 0
    screens: set[str] = field(default_factory=set)

    async def take(self, walk: Walk) -> None:
        """See to an agent that goes round in circles, but not at every step. Raises `GaveUp` when that is enough."""
        reason = self._reason(walk)
        if not reason:
            return
        transcript = walk.transcript
        self.since, self.idle, self.times = transcript.left_out + len(transcript.turns), 0, self.times + 1
        if self.times >= ENOUGH:
            await walk.record(events.TookStock(reason=reason))
            raise GaveUp(f"The agent is stuck and did not get out of it: {reason}.", layer=self.layer)
        said = await self.back() if self.times == BACK else ""
        strip = await walk.take_stock(pictures=self.times >= PICTURES)
        walk.show(said)
        await walk.record(events.TookStock(reason=reason, strip=strip))

    def _reason(self, walk: Walk) -> str:
        transcript = walk.transcript
        turns = transcript.turns
        last = turns[-1]
        if not isinstance(last.step.tool_call, WaitCall):
            known = self.screens | {last.before.frame_digest}
            self.idle = self.idle + 1 if last.after.frame_digest in known else 0
        self.screens |= {last.before.frame_digest, last.after.frame_digest}
        reason = stuck(turns[max(0, self.since - transcript.left_out) :])
        if not reason and self.idle >= NO_PROGRESS:
            reason = f"no screen in {self.idle} steps that was not there before"
        return reason
