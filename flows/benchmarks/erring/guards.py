"""Attribution of withheld steps to guards of the library, by the events of the trace.

For a new guard, add a line to `GUARDS` with the kind of its event and a pattern of its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holo_tasks.core import events
from holo_tasks.core.texts.typed_text import SILENT

SCREEN_CHANGED = "screen changed"
GUARDS: tuple[tuple[str, str, str], ...] = (
    # The guard, the kind of its event, and a pattern of the event's reason.
    ("named click", "correction", r"You named ‘|The point is on no control"),
    ("press once", "correction", r"and it worked|a check shows that it had no effect|has an effect each time"),
    ("repeated press", "correction", r"It was not pressed again\."),
    ("answer on a wrong screen", "correction", r"the work may end only there"),
    ("answer does not fit", "correction", r"answer does not have the required form"),
    ("value of the task", "correction", r"You (?:are about to )?type ‘.*but the task says"),
    ("unfinished answer", "correction", r"Your answer was not accepted yet"),
    ("insisted", "correction", r"gave the same call again"),
    ("repeated press", "looked_again", r"was not pressed again"),
    (SCREEN_CHANGED, "looked_again", r""),
    ("field refused", "action_failed", r"Nothing was typed|was not typed"),
    ("secret refused", "action_failed", r"secret"),
    ("policy", "permit", r""),
    ("other correction", "correction", r""),
    # The reason of a task that was given up.
    ("press once", "subgoal_closed", r"(?:the|its) effect is unknown"),
    ("repeated press", "subgoal_closed", r"not pressed again"),
    ("effect looked for", "subgoal_closed", r"the probe does not find the effect|the probe cannot tell"),
    ("answer on a wrong screen", "subgoal_closed", r"the work may end only there"),
)
"""The first line that fits decides."""
INSISTED = "insisted"
"""Event of a call that the model repeats after it was withheld. It withholds nothing."""
READ_BACK = "typed read-back"


@dataclass
class Call:
    """One call of the model in a trace: the guards that withheld its step, and whether all its input was sent.

    ``reported`` is the guard that reported a difference after the input. ``windows`` are the titles of the windows on
    the picture of the call, and on the first one after it.
    """

    guards: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    sent: bool = False
    reported: str = ""
    windows: list[list[str]] = field(default_factory=list)

    @property
    def guard(self) -> str:
        """The guard that withheld the step; empty if it was carried out."""
        return self.guards[0] if self.guards and not self.sent else ""

    @property
    def has_other_windows(self) -> bool:
        """Whether a window came or went between the picture of the call and the next one."""
        return len(self.windows) == 2 and self.windows[0] != self.windows[1]


def guard_of(event: events.Event) -> str:
    """Return the guard that refused an action by an event; empty if the event refuses nothing."""
    if isinstance(event, events.Permitted) and event.allowed:
        return ""
    kind, reason = str(getattr(event, "kind", "")), reason_of(event)
    found = next((name for name, known, words in GUARDS if known == kind and re.search(words, reason)), "")
    return "" if found == INSISTED else found


def reason_of(event: events.Event) -> str:
    """Return the reason that an event gives for a refusal."""
    return str(getattr(event, "reason", "") or getattr(event, "rule", ""))


def calls_of(every: Iterable[events.AnyEvent]) -> list[Call]:
    """Return the calls of a model in their order.

    Events of declared scripts between two calls belong to neither.
    """
    calls: list[Call] = []
    model, asked, scripted = 0, False, False
    windows: list[str] = []
    for event in every:
        if isinstance(event, events.RequestSent) and event.purpose == "step":
            model, asked = event.subgoal, True
        elif event.subgoal != model:
            continue  # a script of a declared state
        elif isinstance(event, events.ReplyReceived) and asked:
            calls.append(Call(windows=[windows]))
            asked, scripted = False, False
        elif isinstance(event, events.Backtracked):
            scripted = True
        elif calls and not scripted:
            _add(calls[-1], event)
        if isinstance(event, events.FrameTaken):
            windows = event.windows
    return calls


def _add(call: Call, event: events.AnyEvent) -> None:
    """Add an event to the call that it followed."""
    if isinstance(event, events.ActionDone):
        call.sent = True
    elif isinstance(event, events.FrameTaken):
        call.windows = [call.windows[0], event.windows] if len(call.windows) == 1 else call.windows
    elif isinstance(event, events.FieldRead) and event.outcome not in SILENT:
        call.reported = READ_BACK
    elif guard := guard_of(event):
        call.guards.append(guard)
        call.reasons.append(reason_of(event))


def money_of(every: Sequence[events.AnyEvent]) -> int:
    """Return the bill of a trace in micro-USD."""
    return sum(one.cost_micro_usd or 0 for one in every if isinstance(one, events.ReplyReceived))
