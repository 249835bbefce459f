"""Describe the questions that a run asked a model outside of its steps: positions on the screen and judgments."""

from __future__ import annotations

from dataclasses import dataclass

from holo_tasks.audit.pages.formatting import clock, duration, money
from holo_tasks.audit.pages.gesture_marks import Ring, area
from holo_tasks.audit.pages.report_step import Picture, Reference
from holo_tasks.audit.pages.run_view import Aside, Story
from holo_tasks.core.events import Located
from holo_tasks.core.screen.geometry import Box

KNEW = {"accessibility": "the program reported it", "text": "it was read from the screen"}
"""How a position was found without a model, by the value of ``by`` in the trace."""


@dataclass(frozen=True)
class Question:
    """The contents of a question's card."""

    title: str
    answer: str
    facts: list[str]
    judged: bool
    picture: Picture | None


def without_model_call(aside: Aside) -> bool:
    """Return whether a position was found without a model, by an element of the program or by text on the screen."""
    return isinstance(aside.asked, Located) and aside.asked.by in KNEW and not aside.calls


def question(story: Story, aside: Aside, reference: Reference) -> Question:
    """Return the contents of a question's card."""
    asked, rings = aside.asked, []
    facts = [money(aside.cost_micro_usd), duration(sum(call.latency_us for call in aside.calls) / 1e6)]
    facts.append(f"{clock(aside.at)} UTC")
    if isinstance(asked, Located) and without_model_call(aside):
        facts[:2] = [f"{KNEW[asked.by]}: no call"]
    if isinstance(asked, Located):
        x, y, *_ = [*asked.point, 0, 0]
        title, answer = f"Where is ‘{asked.description}’?", f"At ({x}, {y})"
        answer += f", mark {asked.mark}" if asked.mark is not None else ""
        facts += [asked.why] if asked.why else []
        rings = [Ring(x, y)] if x >= 0 else []
    else:
        title, answer = asked.question, asked.answer
        facts.insert(0, asked.model)
    name = reference(aside.shot) if aside.shot else None
    shown = Box(*area(story.frames.get(aside.shot)))
    picture = Picture(name, shown, "The screen that was asked about", rings) if name else None
    return Question(title, answer, facts, not isinstance(asked, Located), picture)
