"""Attribution of withheld steps to guards of the library, by the events of the trace.

For a new guard, add a line to `GUARDS` with the kind of its event and a pattern of its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holo_tasks.core import events

GUARDS: tuple[tuple[str, str, str], ...] = (
    # The guard, the kind of its event, and how the event's reason reads.
    ("named click", "correction", r"[Yy]ou named|[Nn]ames? another"),
    ("typed read-back", "correction", r"field (now )?holds|holds ‘|was typed, but"),
    ("press once", "correction", r"pressed before, and it worked|has an effect each time"),
    ("repeated press", "correction", r"not pressed again|was pressed before"),
    ("answer on a wrong screen", "correction", r"the work does not end before it is"),
    ("answer does not fit", "correction", r"answer does not fit"),
    ("repeated press", "looked_again", r"was not pressed again"),
    ("screen changed", "looked_again", r""),
    ("policy", "permit", r""),
    ("other correction", "correction", r""),
    # The reason of a task that was given up.
    ("repeated press", "subgoal_closed", r"not pressed again"),
    ("answer on a wrong screen", "subgoal_closed", r"the work does not end before it is"),
)
"""The first line that fits decides."""


@dataclass
class Call:
    """One call of the model in a trace: the guards that withheld its step, and whether input was sent."""

    guards: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    sent: bool = False

    @property
    def guard(self) -> str:
        """The guard that withheld the step; empty if it was carried out."""
        return self.guards[0] if self.guards and not self.sent else ""


def guard_of(event: events.Event) -> str:
    """Return the guard that refused an action by an event; empty if the event refuses nothing."""
    if isinstance(event, events.Permitted) and event.allowed:
        return ""
    kind, reason = str(getattr(event, "kind", "")), reason_of(event)
    return next((name for name, known, words in GUARDS if known == kind and re.search(words, reason)), "")


def reason_of(event: events.Event) -> str:
    """Return the reason that an event gives for a refusal."""
    return str(getattr(event, "reason", "") or getattr(event, "rule", ""))


def calls_of(every: Iterable[events.AnyEvent]) -> list[Call]:
    """Return the calls of a model in their order.

    Events of declared scripts between two calls belong to neither.
    """
    calls: list[Call] = []
    model, asked, scripted = 0, False, False
    for event in every:
        if isinstance(event, events.RequestSent) and event.purpose == "step":
            model, asked = event.subgoal, True
        elif event.subgoal != model:
            continue  # a script of what was declared
        elif isinstance(event, events.ReplyReceived) and asked:
            calls.append(Call())
            asked, scripted = False, False
        elif isinstance(event, events.Backtracked):
            scripted = True
        elif calls and isinstance(event, events.ActionIntended):
            calls[-1].sent |= not scripted
        elif calls and not scripted and (guard := guard_of(event)):
            calls[-1].guards.append(guard)
            calls[-1].reasons.append(reason_of(event))
    return calls


def money_of(every: Sequence[events.AnyEvent]) -> int:
    """Return the bill of a trace in micro-USD."""
    return sum(one.cost_micro_usd or 0 for one in every if isinstance(one, events.ReplyReceived))
