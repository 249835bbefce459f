"""Compute the top of a run's report: its outcome, its cost, and how the time was spent."""

from __future__ import annotations

from holo_tasks.audit.pages.charts import Bar, Chart, Kind
from holo_tasks.audit.pages.formatting import count, duration, money
from holo_tasks.audit.pages.report_step import latency_parts, legend_items
from holo_tasks.audit.pages.run_view import Step, Story, Subgoal

MAX_DONE_BEFORE = 500
"""Rows in the table of items that earlier runs finished."""


def tiles(story: Story) -> list[tuple[str, str, str]]:
    """Return the figures at the top: name, value and class of the style sheet of each."""
    closed = story.closed
    return [
        ("Steps", f"{closed.steps if closed else len(story.steps):,}", ""),
        ("Cost", money(closed.cost_micro_usd if closed else story.cost_micro_usd), ""),
        ("Duration", duration(story.seconds), ""),
        ("Sub-goals", f"{len(story.subgoals):,}", ""),
        *([("Done before", f"{len(story.done_before):,}", "")] if story.done_before else []),
        ("Model", ", ".join(story.models) or "–", "small"),
    ]


def outcome_text(story: Story) -> str:
    """Return the run's answer or reason. Returns an empty string if the banner of a killed run shows it already."""
    found = (story.closed.answer or story.closed.reason) if story.closed else ""
    return "" if found in story.kills else found


def subtitles(goal: Subgoal) -> list[str]:
    """Return the lines below a sub-goal's title in the overview."""
    result = (goal.closed.answer or goal.closed.reason) if goal.closed else ""
    progress = goal.opened.progress if goal.opened else ""
    return [text for text in (progress, result) if text]


def charts(story: Story) -> list[tuple[str, Chart]]:
    """Return the charts of time and cost with their headings, as far as the data exists."""
    both = (("Time", _time_chart(story)), ("Cost", _cost_chart(story)))
    return [(heading, chart) for heading, chart in both if chart] if story.subgoals else []


def _time_chart(story: Story) -> Chart | None:
    timed = [(step, latency_parts(step)) for step in story.steps if step.timed]
    if not timed:
        return None
    bars = [Bar(_name(step), [us for _, us in parts], f"#{step.anchor}") for step, parts in timed]
    sums = sorted(sum(bar.parts) for bar in bars)
    typical = f"Median step {duration(_at(sums, 0.5) / 1e6)}, 95th percentile {duration(_at(sums, 0.95) / 1e6)}"
    totals = [(name, sum(dict(parts)[name] for _, parts in timed)) for name, _ in timed[0][1]]
    return Chart(
        key="time",
        title="Time of each step",
        about=f"{count(len(bars), 'step')}, in their order. {typical}, longest {duration(sums[-1] / 1e6)}.",
        kinds=[Kind(name, name.capitalize()) for name, _ in totals],
        bars=bars,
        amount=lambda us: duration(us / 1e6),
        each="Step",
        legend=[*legend_items(totals), ("", typical)],
    )


def _cost_chart(story: Story) -> Chart | None:
    paid = [step for step in story.steps if step.calls]
    if not any(step.cost_micro_usd for step in paid):
        return None
    bars = [Bar(_name(step), [step.cost_micro_usd or 0], f"#{step.anchor}") for step in paid]
    sums = sorted(step.cost_micro_usd or 0 for step in paid)
    asked = sum(len(step.calls) for step in paid)
    typical = f"Median step {money(_at(sums, 0.5))}, dearest {money(sums[-1])}"
    return Chart(
        key="cost",
        title="Cost of each step",
        about=f"{count(len(bars), 'step')} that asked the model, in their order. {typical}.",
        kinds=[Kind("cost", "Cost")],
        bars=bars,
        amount=money,
        each="Step",
        legend=[("cost", f"{money(sum(sums))} in {count(asked, 'model call')}"), ("", typical)],
    )


def _name(step: Step) -> str:
    return f"Step {step.subgoal}.{step.number}, {step.label[:120]}"


def _at(sums: list[int], part: float) -> int:
    return sums[min(len(sums) - 1, int(len(sums) * part))]
