"""Order a trace's events into a `Story`: a run, its sub-goals, and their steps.

`StoryBuilder` is used by the report, the overview and the timeline.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from holo_tasks.audit.pages.formatting import clock, moment, ordinal
from holo_tasks.core import events as e
from holo_tasks.core.texts.typed_text import SILENT

MAX_STORY_BYTES = 256_000_000
"""Largest trace that is held in memory as a story, in bytes of events. A run of ten thousand steps has a tenth."""


@dataclass
class Call:
    """A request to a model and its result."""

    attempt: int
    endpoint: str = ""
    latency_us: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_micro_usd: int | None = None
    estimated: bool = False
    failure: str = ""

    @property
    def unbilled(self) -> bool:
        """Whether there was a reply whose price is unknown."""
        return self.cost_micro_usd is None and bool(self.prompt_tokens or self.completion_tokens)


@dataclass
class Aside:
    """A question to a model outside of steps: a position on the screen or a judgment."""

    at: str
    asked: e.Located | e.JudgedQuestion
    shot: str
    calls: list[Call]

    @property
    def cost_micro_usd(self) -> int | None:
        return total_cost(None if call.unbilled else call.cost_micro_usd or 0 for call in self.calls)


@dataclass
class Step:
    """Everything between one frame and the next."""

    subgoal: int
    number: int
    begun: str
    ended: str
    decision: e.Decided | None = None
    action: e.ActionIntended | None = None
    receipt: e.ActionDone | None = None
    verdict: e.Judged | None = None
    timed: e.StepTimed | None = None
    calls: list[Call] = field(default_factory=list)
    corrections: list[str] = field(default_factory=list)
    refusals: list[e.Permitted] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    moved: str = ""
    """Why the action was not done: the change at its target on the screen."""
    field_holds: str = ""
    """The text of the field that was typed into, if it is another one than the typed text."""
    repeated: str = ""
    """Why the action was repeated."""
    stuck: str = ""
    guided: list[tuple[str, str]] = field(default_factory=list)
    """Events other than the decision and the action: a heading and a text for each, in order."""
    looked_at: str = ""
    seen_after: str = ""
    waiting_for: str = ""
    """The program's unfinished work when the time limit for a settled screen had passed."""

    @property
    def label(self) -> str:
        for event in (self.decision, self.action):
            if event is not None and event.label:
                return event.label
        return "no decision"

    @property
    def element(self) -> str:
        """The element that the action hit, as reported by its program. Empty if it reported none."""
        element = self.action.element if self.action else {}
        called = " ".join(
            filter(None, [element.get("role", ""), f"‘{element['name']}’" if element.get("name") else ""])
        )
        return f"{called} in {element['application']}" if called and element.get("application") else called

    @property
    def anchor(self) -> str:
        """The step's id in the page."""
        return f"s{self.subgoal}-{self.number}"

    @property
    def before(self) -> str:
        """SHA-256 of the picture on which the step was decided."""
        if self.action and self.action.before:
            return self.action.before
        return (self.verdict.before if self.verdict else "") or self.looked_at

    @property
    def after(self) -> str:
        return (self.verdict.after if self.verdict else "") or self.seen_after

    @property
    def outcome(self) -> str:
        """The step's outcome in one word. The report filters by it."""
        if self.failures:
            return "failed"
        if self.refusals:
            return "refused"
        if self.questions and not self.verdict:
            return "handoff"
        if self.moved:
            return "looked_again"
        if self.verdict:
            return self.verdict.outcome
        if self.decision is None:
            return "undecided"
        return "answered" if self.decision.tool_name == "answer" else "looked"

    @property
    def answer(self) -> str:
        """The text of the step's answer. Empty if the step did not answer."""
        content = self.decision.arguments.get("content", "") if self.outcome == "answered" and self.decision else ""
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

    @property
    def cost_micro_usd(self) -> int | None:
        return total_cost(None if call.unbilled else call.cost_micro_usd or 0 for call in self.calls)

    @property
    def tokens(self) -> tuple[int, int]:
        """Prompt and completion tokens."""
        return (
            sum(call.prompt_tokens for call in self.calls),
            sum(call.completion_tokens for call in self.calls),
        )


@dataclass
class Subgoal:
    """A sub-goal and its steps."""

    number: int
    begun: str
    ended: str
    opened: e.SubgoalOpened | None = None
    closed: e.SubgoalClosed | None = None
    steps: list[Step] = field(default_factory=list)
    guided: list[tuple[str, str]] = field(default_factory=list)
    """Events before its first step, as in `Step.guided`."""

    @property
    def title(self) -> str:
        return (self.opened.title or self.opened.goal) if self.opened else f"Sub-goal {self.number}"

    @property
    def status(self) -> str:
        return self.closed.status if self.closed else "interrupted"

    @property
    def layer(self) -> str:
        """The layer that resolved it, such as ``model``, ``playbook`` or ``person``, or ``done before``. Empty without
        an answer.

        Traces without layers were recorded when there was only the model.
        """
        if self.closed is None or self.status != "answered":
            return ""
        return "done before" if self.closed.skipped else self.closed.layer or "model"

    @property
    def cost_micro_usd(self) -> int | None:
        if self.closed and self.closed.cost_micro_usd is not None:
            return self.closed.cost_micro_usd
        return total_cost(step.cost_micro_usd for step in self.steps)

    @property
    def seconds(self) -> float:
        return seconds_between(self.begun, self.ended)


@dataclass
class Story:
    """A whole run."""

    opened: e.RunOpened | None = None
    closed: e.RunClosed | None = None
    kills: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    """Titles of dialogs that programs opened while their desktop closed."""
    subgoals: list[Subgoal] = field(default_factory=list)
    asides: list[Aside] = field(default_factory=list)
    loose: dict[int, list[Call]] = field(default_factory=dict)
    """Calls outside of steps that have no answer, by sub-goal. They count towards the cost."""
    frames: dict[str, e.FrameTaken] = field(default_factory=dict)
    guided: list[tuple[str, str]] = field(default_factory=list)
    """Events outside of all sub-goals, as in `Step.guided`."""
    asked_model: list[tuple[int, str]] = field(default_factory=list)
    """The sub-goals in which a playbook asked the model, each with the reason."""
    done_before: list[e.DoneBefore] = field(default_factory=list)
    """Items that were skipped, because earlier runs had finished them."""
    begun: str = ""
    ended: str = ""

    @property
    def status(self) -> str:
        return self.closed.status if self.closed else "interrupted"

    def status_of(self, subgoal: Subgoal) -> str:
        """Return how a sub-goal ended. A sub-goal that a kill interrupted counts as killed."""
        return "killed" if self.kills and subgoal.closed is None else subgoal.status

    @property
    def steps(self) -> list[Step]:
        return [step for subgoal in self.subgoals for step in subgoal.steps]

    @property
    def cost_micro_usd(self) -> int | None:
        if self.closed and self.closed.cost_micro_usd is not None:
            return self.closed.cost_micro_usd
        other_costs = [None if call.unbilled else call.cost_micro_usd or 0 for call in self.calls_outside_steps]
        return total_cost([*(subgoal.cost_micro_usd for subgoal in self.subgoals), *other_costs])

    @property
    def calls_outside_steps(self) -> list[Call]:
        """The calls that belong to no step."""
        answered = [call for aside in self.asides for call in aside.calls]
        return [*answered, *(call for calls in self.loose.values() for call in calls)]

    @property
    def seconds(self) -> float:
        return seconds_between(self.begun, self.ended)

    @property
    def models(self) -> list[str]:
        """The models that were used, in order of appearance."""
        named = [self.opened.model if self.opened else ""]
        named += [subgoal.opened.model for subgoal in self.subgoals if subgoal.opened]
        return list(dict.fromkeys(name for name in named if name))


class StoryBuilder:
    """Orders records into a story, one by one. Missing events leave gaps and raise no errors."""

    def __init__(self) -> None:
        self.story = Story()
        self._shot = ""

    def add(self, record: e.Record) -> None:
        story, event = self.story, record.event
        story.begun = story.begun or record.at
        story.ended = record.at
        match event:
            case e.RunOpened():
                story.opened = event
            case e.RunClosed():
                story.closed = event
            case e.Skipped():
                story.done_before += event.items
            case e.DialogUnanswered():
                story.dialogs.append(event.title)
            case e.KillSeen():
                story.kills.append(event.reason)
            case e.LayerChanged(source="playbook", target="model"):
                story.asked_model.append((event.subgoal, event.reason))
            case e.FrameTaken():
                story.frames.setdefault(event.sha256, event)
                self._shot = event.sha256
            case e.RequestSent() | e.ReplyReceived() | e.CallFailed() if not event.step:
                _add_call(story.loose.setdefault(event.subgoal, []), event)
            case e.Located() | e.JudgedQuestion():
                story.asides.append(Aside(record.at, event, self._shot, story.loose.pop(event.subgoal, [])))
        if event.subgoal:
            _add(self._subgoal(event.subgoal, record.at), event, record.at)
        else:
            story.guided += _guided(event, record.at)

    def _subgoal(self, number: int, at: str) -> Subgoal:
        """Return the sub-goal with a number, and create it if needed. Concurrent sub-goals may arrive out of order."""
        for subgoal in reversed(self.story.subgoals):
            if subgoal.number == number:
                subgoal.ended = at
                return subgoal
        subgoal = Subgoal(number, at, at)
        self.story.subgoals.append(subgoal)
        self.story.subgoals.sort(key=lambda each: each.number)
        return subgoal


def build_story(records: Iterable[e.Record]) -> Story:
    """Order records into a story."""
    teller = StoryBuilder()
    for record in records:
        teller.add(record)
    return teller.story


def _add(subgoal: Subgoal, event: e.AnyEvent, at: str) -> None:
    if isinstance(event, e.SubgoalOpened):
        subgoal.opened = event
    elif isinstance(event, e.SubgoalClosed):
        subgoal.closed = event
    elif not event.step:
        subgoal.guided += _guided(event, at)
    else:
        if not subgoal.steps or subgoal.steps[-1].number != event.step:
            subgoal.steps.append(Step(subgoal.number, event.step, at, at))
        step = subgoal.steps[-1]
        step.ended = at
        _add_to_step(step, event)
        step.guided += _guided(event, at)


def _add_to_step(step: Step, event: e.AnyEvent) -> None:
    match event:
        case e.FrameTaken() if step.action or step.decision:
            step.seen_after, step.waiting_for = event.sha256, event.waiting_for
        case e.FrameTaken():
            step.looked_at = event.sha256
        case e.RequestSent() | e.ReplyReceived() | e.CallFailed():
            _add_call(step.calls, event)
            if isinstance(event, e.RequestSent) and event.shots:
                step.looked_at = step.looked_at or event.shots[-1]
        case e.TookStock():
            step.stuck = event.reason
        case e.Decided():
            step.decision = event
        case e.Corrected():
            step.corrections.append(event.reason)
        case e.StepTimed():
            step.timed = event
        case e.HandedOver():
            step.questions.append(event.question)
        case _:
            _add_to_action(step, event)


def _add_to_action(step: Step, event: e.AnyEvent) -> None:
    match event:
        case e.Permitted(allowed=False):
            step.refusals.append(event)
        case e.Permitted():
            step.refusals.clear()  # a person has approved it
        case e.ActionIntended():
            step.action = event
        case e.ActionDone():
            step.receipt = event
        case e.ActionFailed():
            step.failures.append(event.reason)
        case e.Judged():
            step.verdict = event
        case e.FieldRead(outcome=outcome) if outcome not in SILENT:
            step.field_holds = f"‘{event.held}’ ({outcome.replace('_', ' ')})"
        case e.LookedAgain():
            step.moved = event.reason
        case e.Repeated():
            step.repeated = event.reason


def _guided(event: e.AnyEvent, at: str) -> list[tuple[str, str]]:
    match event:
        case e.HandedOver():
            named = [f"hand-off {event.handoff}"] if event.handoff else []
            return [("Asked a person", f"{event.question} ({', '.join([*named, _time(at)])})")]
        case e.TakenBack():
            note = f": {event.note}" if event.note else ""
            return [
                ("A person answered", f"‘{event.choice}’, {event.by}{note} (hand-off {event.handoff}, {_time(at)})")
            ]
        case e.StateSeen(state=state, wanted=wanted, how=how) if wanted:
            seen = f"the screen was {f'‘{state}’' if state else 'none of the declared states'}"
            return [("Wanted ‘" + wanted + "’", f"{seen}; {how}" if how else seen)]
        case e.Interrupted():
            return [("Interrupted", f"‘{event.name}’ was in the way, for the {ordinal(event.times)} time")]
        case e.Backtracked():
            return [("Backtracked", f"by {event.by}" + (f" to ‘{event.to}’" if event.to else ""))]
        case e.FileGiven():
            how = "read-only" if event.read_only else "read and write"
            return [("File given", f"‘{event.name}’, {event.size_bytes} bytes, {how}; SHA-256 {event.sha256}")]
        case e.FileArrived():
            kept = "; kept with this evidence" if event.kept else ""
            return [("File arrived", f"‘{event.name}’, {event.size_bytes} bytes; SHA-256 {event.sha256}{kept}")]
        case e.LayerChanged():
            return [(f"From {event.source} to {event.target}", event.reason)]
        case _:
            return []


def _time(at: str) -> str:
    return f"{clock(at)} UTC"


def _add_call(calls: list[Call], event: e.RequestSent | e.ReplyReceived | e.CallFailed) -> None:
    match event:
        case e.RequestSent():
            calls.append(Call(event.attempt, event.endpoint))
        case e.ReplyReceived():
            call = _call(calls, event.attempt)
            call.latency_us, call.estimated = event.latency_us, event.estimated
            call.prompt_tokens, call.completion_tokens = event.prompt_tokens, event.completion_tokens
            call.cost_micro_usd = event.cost_micro_usd
        case e.CallFailed():
            _call(calls, event.attempt).failure = event.reason


def _call(calls: list[Call], attempt: int) -> Call:
    for call in reversed(calls):
        if call.attempt == attempt:
            return call
    calls.append(Call(attempt))
    return calls[-1]


def total_cost(costs: Iterable[int | None]) -> int | None:
    """Return the sum of costs, or ``None`` if a cost is unknown."""
    known = list(costs)
    return None if None in known else sum(cost or 0 for cost in known)


def seconds_between(begun: str, ended: str) -> float:
    """Return the seconds between two recorded times, or 0 if either is not a time."""
    first, last = moment(begun), moment(ended)
    return max(0.0, (last - first).total_seconds()) if first and last else 0.0
