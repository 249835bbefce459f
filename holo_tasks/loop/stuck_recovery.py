"""Help an agent that makes no progress: first a hint, then pictures, then a step back, then another layer."""

from __future__ import annotations

from dataclasses import dataclass, field

from holo_tasks.core import events
from holo_tasks.core.prompts.stuck import stuck
from holo_tasks.core.prompts.tool_calls import WaitCall
from holo_tasks.core.prompts.transcript import Transcript
from holo_tasks.loop.guide import AnyGuide
from holo_tasks.loop.instructions import AddText, GiveUp, GuardSteps, Record, ReportStuck

NO_PROGRESS = 12
"""Number of steps without a new screen in this sub-goal that count as no progress. Waiting does not count."""
PICTURES, BACK, ENOUGH = 2, 3, 4
"""Numbers of the detection, from 1, at which the agent also gets pictures, is taken back, or has to give up."""


@dataclass
class StuckRecovery:
    """How often an agent was stuck, the first step that counts for the next detection, and the screens it has seen.

    ``times`` starts higher for a script, because a hint does not help it.
    """

    times: int = 0
    since: int = 0
    idle: int = 0
    screens: set[str] = field(default_factory=set)

    def check(self, transcript: Transcript, guide: AnyGuide) -> GuardSteps[None]:
        """Check after each step whether the agent makes progress, and help it. Gives up after the fourth detection."""
        reason = self._reason(transcript)
        if not reason:
            return
        self.since, self.idle, self.times = transcript.left_out + len(transcript.turns), 0, self.times + 1
        if self.times >= ENOUGH:
            yield Record(events.TookStock(reason=reason))
            yield GiveUp(f"The agent is stuck and could not recover: {reason}.")
        done = (yield from guide.backtrack()) if self.times == BACK else ""
        strip: str = yield ReportStuck(pictures=self.times >= PICTURES)
        yield AddText(done)
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
            reason = f"no new screen in {self.idle} steps"
        return reason
