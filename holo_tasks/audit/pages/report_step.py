"""Describe one step for its card in the report: pictures, decision, action, cost and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from holo_tasks.audit.pages.charts import Rect, shares
from holo_tasks.audit.pages.formatting import OUTCOME_WORDS, duration, kind_counts, money
from holo_tasks.audit.pages.gesture_marks import Mark, area, caption, marks
from holo_tasks.audit.pages.run_view import Step, Story
from holo_tasks.core.events import FrameTaken
from holo_tasks.core.screen.geometry import Box

Reference: TypeAlias = Callable[[str], str | None]
"""Returns the URL of a picture for the page, or ``None`` if the trace lacks it."""


@dataclass(frozen=True)
class Picture:
    """A picture of the page: the part of the screen that it shows, and the marks drawn over it.

    ``name`` is a URL: ``#`` and the id of an embedded copy, or the path of a file next to the page. ``about`` is its
    text for people who do not see it. ``changed`` is the box that the step changed: left, top, width and height, or
    empty. Marks and boxes are in screen pixels, independent of the size of the copy.
    """

    name: str
    shown: Box
    about: str
    marks: Sequence[Mark] = ()
    changed: Sequence[int] = ()

    @property
    def radius(self) -> int:
        """Radius of a ring in pixels, large enough to be visible at this picture's width."""
        return max(6, self.shown.width // 48)


@dataclass(frozen=True)
class StepScreen:
    """A screen before or after the step. ``picture`` is ``None`` if the trace lacks it.

    ``what`` is its heading, "Before" or "After". ``typed`` is the text or the keys of the action, and ``verb`` the word
    in front. ``masked`` has the kinds of masks on the screen.
    """

    what: str
    sha256: str
    picture: Picture | None = None
    typed: str = ""
    verb: str = ""
    masked: str = ""
    same: bool = False
    """Whether it equals the picture before the step, byte for byte."""


@dataclass(frozen=True)
class StepTexts:
    """The texts of a step: facts for its heading, and lines with a style, a name and a text.

    ``shares`` are the rectangles of the bar that shows how the time was spent, and ``time`` is the bar's legend.
    """

    facts: list[str] = field(default_factory=list)
    lines: list[tuple[str, str, str]] = field(default_factory=list)
    shares: list[Rect] = field(default_factory=list)
    time: list[tuple[str, str]] = field(default_factory=list)


def about(step: Step) -> StepTexts:
    """Return the texts of a step: its corrections, failures, cost and times."""
    prompt, reply = step.tokens
    facts = [money(step.cost_micro_usd)] if step.calls else []
    facts += [f"{prompt:,} + {reply:,} tokens"] if prompt or reply else []
    facts += [duration(step.timed.total_us / 1e6)] if step.timed else []
    if step.decision and step.decision.cached:
        facts.append("cached decision: no call")
    if step.decision and step.decision.macro:
        facts.append(f"macro {step.decision.macro}")
    if step.decision and step.decision.confidence:
        facts.append(f"confidence {step.decision.confidence}")
    parts = latency_parts(step)
    return StepTexts(facts, _lines(step), shares(parts), legend_items(parts))


def trouble(step: Step) -> str:
    """Return in a few words what went wrong in a step: a failure, no effect, a correction or another look.

    Returns an empty string if nothing went wrong.
    """
    kind, words = OUTCOME_WORDS[step.outcome]
    found = [words] if kind in ("bad", "warn") else [name for kind, name, _ in _lines(step) if kind != "info"]
    return found[0].lower() if found else ""


def _lines(step: Step) -> list[tuple[str, str, str]]:
    lines = [("warn", "Corrected", text) for text in step.corrections]
    lines += [("warn", "Model call failed", call.failure) for call in step.calls if call.failure]
    lines += [("bad", "Not permitted", permit.rule) for permit in step.refusals]
    lines += [("bad", "Action failed", text) for text in step.failures]
    lines += [("warn", "Looked again", step.moved)] if step.moved else []
    lines += [("warn", "Field holds", step.field_holds)] if step.field_holds else []
    lines += [("warn", "Clicked once more", step.repeated)] if step.repeated else []
    lines += [("warn", "Still waiting", f"The program was waiting for {step.waiting_for}")] if step.waiting_for else []
    lines += [("warn", "Asked to take stock", step.stuck)] if step.stuck else []
    lines += [("info", "Hit", step.element)] if step.element else []
    return lines + [("info", name, text) for name, text in step.guided]


def figures(story: Story, step: Step, reference: Reference) -> list[StepScreen]:
    """Return the screens of a step. ``reference`` adds a picture to the page and returns its id there."""
    out = []
    if step.before:
        about = f"Screen before step {step.number}: {step.label}"
        typed = caption(step.action)
        verb = "Typed" if step.action and step.action.gesture_kind.lower() == "write" else "Pressed"
        picture = picture_before(story, step, reference, about)
        masks = masked(story.frames.get(step.before))
        out.append(StepScreen("Before", step.before, picture, typed, verb, masks))
    if step.after and step.after != step.before:
        about = f"Screen after step {step.number}: {OUTCOME_WORDS[step.outcome][1].lower()}"
        box = step.verdict.changed_box if step.verdict else []
        frame, name = story.frames.get(step.after), reference(step.after)
        picture = Picture(name, Box(*area(frame)), about, changed=box if len(box) == 4 else ()) if name else None
        out.append(StepScreen("After", step.after, picture, masked=masked(frame)))
    elif step.after:
        out.append(StepScreen("After", step.after, same=True))
    return out


def picture_before(story: Story, step: Step, reference: Reference, about: str) -> Picture | None:
    """Return the screen before a step with the action drawn over it, or ``None`` if the trace lacks it."""
    name = reference(step.before)
    return Picture(name, Box(*area(story.frames.get(step.before))), about, marks(step.action)) if name else None


def masked(frame: FrameTaken | None) -> str:
    """Return the kinds of masks on a frame, with their counts."""
    return kind_counts([mask.kind[:60] for mask in frame.masks]) if frame else ""


def latency_parts(step: Step) -> list[tuple[str, int]]:
    """Return how the step's time was spent, in microseconds. ``overhead`` is the rest."""
    timed = step.timed
    if timed is None:
        return []
    named = [
        *(("perceive", timed.perceive_us), ("decide", timed.decide_us), ("act", timed.act_us)),
        ("wait", timed.waiting_us),
    ]
    return [*named, ("overhead", max(0, timed.total_us - sum(amount for _, amount in named)))]


def legend_items(parts: list[tuple[str, int]]) -> list[tuple[str, str]]:
    """Return the legend of a bar: colors, and labels with their times."""
    return [(name, f"{name.capitalize()} {duration(us / 1e6)}") for name, us in parts if us]
