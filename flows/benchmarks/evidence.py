"""Effort and time of each item, read from the signed traces of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from benchmarks.values import Took
from holo_tasks.audit import open_trace
from holo_tasks.core import events


@dataclass
class _Sum:
    """Sums of one item, while its trace is read."""

    opened: str = ""
    closed: str = ""
    steps: int = 0
    calls: int = 0
    micro_usd: int | None = 0
    layer: str = ""
    before: str = ""
    after: str = ""
    corrections: int = 0
    looked_again: list[str] = field(default_factory=list)
    timed: list[events.StepTimed] = field(default_factory=list)
    perceive_us: int = 0
    decide_us: int = 0
    """Times of the current step. The last step, which answers, has no times."""

    def hear(self, event: events.AnyEvent, at: str) -> None:
        match event:
            case events.FrameTaken():
                self.before, self.after = self.before or event.sha256, event.sha256
                self.perceive_us += event.settle_us - event.waited_us + event.capture_us + event.encode_us
            case events.Judged():
                self.after = event.after or self.after
            case events.ReplyReceived():
                self.calls += 1
                self.decide_us += event.latency_us
            case events.Corrected():
                self.corrections += 1
            case events.LookedAgain():
                self.looked_again.append(event.reason)
            case events.StepTimed():
                self.timed.append(event)
                self.perceive_us = self.decide_us = 0
            case events.SubgoalClosed():
                self.closed, self.steps, self.layer = at, self.steps + event.steps, event.layer or self.layer
                known = self.micro_usd is not None and event.cost_micro_usd is not None
                self.micro_usd = (self.micro_usd or 0) + (event.cost_micro_usd or 0) if known else None

    def took(self) -> Took:
        whole = datetime.fromisoformat(self.closed) - datetime.fromisoformat(self.opened) if self.closed else None
        return Took(
            seconds=whole.total_seconds() if whole else 0.0,
            steps=self.steps,
            calls=self.calls,
            micro_usd=self.micro_usd,
            perceive_s=(self.perceive_us + sum(each.perceive_us for each in self.timed)) / 1e6,
            decide_s=(self.decide_us + sum(each.decide_us for each in self.timed)) / 1e6,
            act_s=sum(each.act_us for each in self.timed) / 1e6,
            layer=self.layer,
            looked_again=tuple(self.looked_again),
            corrections=self.corrections,
            before=self.before,
            after=self.after,
        )


def took_by_key(traces: Iterable[str]) -> Mapping[tuple[str, str], Took]:
    """Return the effort of each item, by trace and key. All work under one key in a run is added up."""
    found: dict[tuple[str, str], Took] = {}
    for trace in traces:
        sums: dict[str, _Sum] = {}
        under: dict[int, str] = {}
        for record in open_trace(trace).records():
            event = record.event
            if isinstance(event, events.SubgoalOpened) and event.token:
                under[event.subgoal] = event.token
                sums.setdefault(event.token, _Sum(opened=record.at))
            elif event.subgoal in under:
                sums[under[event.subgoal]].hear(event, record.at)
        found |= {(trace, token): read.took() for token, read in sums.items()}
    return found


def picture(trace: str, sha256: str) -> bytes:
    """Return a picture of a trace."""
    return open_trace(trace).frame(sha256)
