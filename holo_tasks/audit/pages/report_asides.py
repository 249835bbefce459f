"""Questions to a model beside the steps as HTML: places on the screen, judgements."""

from __future__ import annotations

from holo_tasks.audit.pages.formatting import clock, count, duration, money, safe
from holo_tasks.audit.pages.gesture_marks import area
from holo_tasks.audit.pages.report_step import Reference, svg_picture, svg_ring
from holo_tasks.audit.pages.run_view import Aside, Story, together
from holo_tasks.core.events import Located


def asides(story: Story, reference: Reference) -> str:
    """The section of all questions, in their order."""
    facts = [count(len(story.asides), "question"), money(together(aside.cost_micro_usd for aside in story.asides))]
    cards = "".join(_card(story, aside, reference) for aside in story.asides)
    return (
        '<section class="goal" id="asides" aria-labelledby="asides-h">\n<header><h3 id="asides-h">Questions beside the '
        f'steps</h3><span class="meta">{" · ".join(facts)}</span></header>\n{cards}</section>\n'
    )


def _card(story: Story, aside: Aside, reference: Reference) -> str:
    asked = aside.asked
    facts = [money(aside.cost_micro_usd), duration(sum(call.latency_us for call in aside.calls) / 1e6)]
    facts.append(f"{safe(clock(aside.at))} UTC")
    if isinstance(asked, Located):
        x, y, *_ = [*asked.point, 0, 0]
        title, said = f"Where is ‘{asked.description}’?", f"At ({x}, {y})"
        said += f", mark {asked.mark}" if asked.mark is not None else ""
    else:
        x, y = -1, -1
        title, said = asked.question, asked.answer
        facts.insert(0, safe(asked.model))
    words = f'<p class="thought text" dir="auto">{safe(asked.reason)}</p>\n' if not isinstance(asked, Located) else ""
    return (
        f'<article class="step">\n<header><h4><bdi class="text">{safe(title)}</bdi></h4>'
        f'<span class="meta">{" · ".join(facts)}</span></header>\n{words}'
        f'<p class="note text" dir="auto"><b>Answer</b>{safe(said)}</p>\n{_picture(story, aside, (x, y), reference)}'
        "</article>\n"
    )


def _picture(story: Story, aside: Aside, point: tuple[int, int], reference: Reference) -> str:
    name = reference(aside.shot) if aside.shot else None
    if name is None:
        return ""
    shown = area(story.frames.get(aside.shot))
    ring = svg_ring(*point, shown[2]) if point[0] >= 0 else ""
    picture = svg_picture(name, shown, ring, "The screen that was asked about")
    return f'<div class="pair one"><figure>{picture}</figure></div>\n'
