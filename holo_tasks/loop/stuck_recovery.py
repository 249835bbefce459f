"""What is done about an agent that gets nowhere: words, then pictures, then a step back, then another layer."""

from __future__ import annotations

from dataclasses import dataclass, field

from holo_tasks.core import events
from holo_tasks.core.actions import WaitCall
from holo_tasks.core.stuck import stuck
from holo_tasks.core.transcript import Transcript
from holo_tasks.loop.guide import AnyGuide
from holo_tasks.loop.instructions import Course, GiveUp, Record, TakeStock, Tell

NO_PROGRESS = 12
"""So many steps without a screen that was not there before in this sub-goal are no progress. Waiting does not count."""
PICTURES, BACK, ENOUGH = 2, 3, 4
"""At this detection, counted from one, a stuck agent is also shown what it did, is taken back, or has to give up."""


@dataclass
class StuckRecovery:
    """How often an agent was found stuck, since which step it has not been, and what it has seen.

    ``times`` begins higher for a script: a warning does not help it.
    """

    times: int = 0
    since: int = 0
    idle: int = 0
    screens: set[str] = field(default_factory=set)

    def check(self, transcript: Transcript, guide: AnyGuide) -> Course[None]:
        """After each step, see to an agent that goes round in circles. Gives up when that is enough."""
        reason = self._reason(transcript)
        if not reason:
            return
        self.since, self.idle, self.times = transcript.left_out + len(transcript.turns), 0, self.times + 1
        if self.times >= ENOUGH:
            yield Record(events.TookStock(reason=reason))
            yield GiveUp(f"The agent is stuck and did not get out of it: {reason}.")
        done = (yield from guide.backtrack()) if self.times == BACK else ""
        strip: str = yield TakeStock(pictures=self.times >= PICTURES)
        yield Tell(done)
        yield Record(events.TookStock(reason=reason, strip=strip))

    def _reason(self, transcript: Transcript) -> str:
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
