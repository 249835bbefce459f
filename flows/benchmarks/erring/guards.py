"""Which guard of the library dealt with an error, by the events of the trace.

A guard that is new writes an event of a kind that is here, with a reason of its own: add a line to `GUARDS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holo_tasks.core import events

GUARDS: tuple[tuple[str, str, str], ...] = (
    # The guard, the kind of its event, and how the event's reason reads.
    ("named click", "correction", r"You named|you named|names? another control"),
    ("typed read-back", "correction|verdict", r"field (now )?holds|was typed, but"),
    ("press once", "correction", r"was pressed before|has an effect each time"),
    (
        "repeated press",
        "correction",
        r"pressed (once )?(more|again)|not (made|pressed) again|same (press|screen)|already",
    ),
    ("answer on a wrong screen", "correction", r"not (one )?where|may not end|cannot end|is not at|unfinished|ends at"),
    ("answer does not fit", "correction", r"answer does not fit"),
    ("screen changed", "looked_again", r""),
    ("policy", "permit", r""),
    ("other correction", "correction", r""),
)
"""The first line that fits decides."""
REFUSED = ("correction", "looked_again", "permit")
LATER: tuple[tuple[str, type[events.Event]], ...] = (
    ("interruption", events.Interrupted),
    ("taken back", events.Backtracked),
    ("take stock", events.TookStock),
)
"""What the library does after a step that went through, which may put it right."""


@dataclass
class Call:
    """What a trace says of one call of the model: the guards that withheld its step, and whether input was sent."""

    guards: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    sent: bool = False
    wrong_state: bool = False

    @property
    def guard(self) -> str:
        """The guard that withheld the step; empty if it was carried out."""
        return self.guards[0] if self.guards and not self.sent else ""


def guard_of(event: events.Event) -> str:
    """Return the guard that refused an action by an event; empty if the event refuses nothing."""
    kind = str(getattr(event, "kind", ""))
    if kind not in REFUSED or (isinstance(event, events.Permitted) and event.allowed):
        return ""
    reason = str(getattr(event, "reason", "") or getattr(event, "rule", ""))
    return next(name for name, kinds, words in GUARDS if re.fullmatch(kinds, kind) and re.search(words, reason))


def calls_of(every: Iterable[events.AnyEvent]) -> list[Call]:
    """Return what became of each call that a model was asked for its next step, in their order.

    What a script does between two calls belongs to neither.
    """
    calls: list[Call] = []
    asked, scripted = False, False
    for event in every:
        match event:
            case events.RequestSent(purpose="step"):
                asked = True
            case events.ReplyReceived() if asked:
                calls.append(Call())
                asked, scripted = False, False
            case events.SubgoalOpened() | events.Interrupted() | events.Backtracked():
                scripted = True
            case events.ActionIntended() if calls and not scripted:
                calls[-1].sent = True
            case events.Judged(outcome="wrong_state") if calls and not scripted:
                calls[-1].wrong_state = True
            case _ if calls and not scripted and (guard := guard_of(event)):
                calls[-1].guards.append(guard)
                calls[-1].reasons.append(str(getattr(event, "reason", "") or getattr(event, "rule", "")))
    return calls


def money_of(every: Sequence[events.AnyEvent]) -> int:
    """Return the bill of a trace in micro-USD."""
    return sum(one.cost_micro_usd or 0 for one in every if isinstance(one, events.ReplyReceived))
