"""Compute the top of a run's report: its outcome, its cost, and how the time was spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from holo_tasks.audit.pages.charts import Bar, Chart, Kind
from holo_tasks.audit.pages.formatting import (
    STATUS_WORDS,
    count,
    duration,
    kind_counts,
    listed,
    money,
)
from holo_tasks.audit.pages.report_step import latency_parts, legend_items, trouble
from holo_tasks.audit.pages.run_view import Step, Story, Subgoal
from holo_tasks.core.texts.visible_text import one_line

MAX_DONE_BEFORE = 500
"""Rows in the table of items that earlier runs finished."""
MAX_NAMED = 5
"""Sub-goals that the summary names if they did not end with an answer."""
MOST_SAID = 400
"""Characters of a reason in the summary."""
MOST = 10
"""Steps that the filter shows as the most expensive or the slowest ones."""

Sentence: TypeAlias = Sequence[tuple[str, str]]
"""Parts of a sentence: a text, and the target of its link or an empty string."""


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


def summary(story: Story) -> list[Sentence]:
    """Return sentences about a run: its results, its cost, its troubles, and its most expensive and slowest steps."""
    sentences = [*_results(story), _cost(story), *_asked_model(story)]
    still = [step for step in story.steps if step.outcome == "unchanged"]
    wrong = [step for step in story.steps if step not in still and trouble(step)]
    kinds = kind_counts([trouble(step) for step in wrong])
    for steps, happened in ((wrong, f"did not go as planned ({kinds})"), (still, "changed nothing on the screen")):
        if steps:
            how_many = f"{count(len(steps), 'step')} {happened}"
            sentences.append([(f"{how_many}, first ", ""), _link(steps[0]), (f" ({steps[0].label[:80]}).", "")])
    if story.steps and not wrong and not still:
        sentences.append([("No step failed or was without effect.", "")])
    extremes = ("most expensive", "cost", _step_cost, money), ("slowest", "time", _step_time, _time)
    for named, kind, amount, form in extremes:
        if most := most_of(story, kind):
            longest = _longest_part(most[0]) if kind == "time" else ""
            text = f" ({most[0].label[:80]}): {form(amount(most[0]))}{longest}."
            sentences.append([(f"The {named} step is ", ""), _link(most[0]), (text, "")])
    return sentences


def most_of(story: Story, kind: str) -> list[Step]:
    """Return the steps with the highest cost or the longest time, highest first: a fifth of all, at most `MOST`.

    ``kind`` is ``cost`` or ``time``. Returns an empty list for a single step.
    """
    amount = _step_cost if kind == "cost" else _step_time
    found = sorted((step for step in story.steps if amount(step)), key=amount, reverse=True)
    return found[: min(MOST, -(-len(found) // 5))] if len(found) > 1 else []


def _results(story: Story) -> list[Sentence]:
    total = len(story.subgoals)
    effort = f"in {count(len(story.steps), 'step')} and {duration(story.seconds)}."
    others = [goal for goal in story.subgoals if story.status_of(goal) != "answered"]
    answered = total - len(others)
    how_many = "Its sub-goal was" if total == 1 else f"All {total} sub-goals were"
    if others and answered:
        how_many = f"{answered} of {total} sub-goals {'was' if answered == 1 else 'were'}"
    elif others:
        how_many = "Its sub-goal was not" if total == 1 else f"None of the {total} sub-goals was"
    sentences: list[Sentence] = [[(f"{how_many} answered, {effort}", "")]] if total else []
    for goal in others[:MAX_NAMED]:
        words = STATUS_WORDS[story.status_of(goal)][1].lower()
        sentences.append([("Sub-goal ", ""), (f"{goal.number}", f"#g{goal.number}"), (f" ended with ‘{words}’.", "")])
    if len(others) > MAX_NAMED:
        rest = Counter(STATUS_WORDS[story.status_of(goal)][1].lower() for goal in others[MAX_NAMED:])
        more = f"{len(others) - MAX_NAMED} more ended without an answer ({kind_counts([*rest.elements()])})."
        sentences.append([(more, "")])
    for title in story.dialogs[:MAX_NAMED]:
        said = f"While its desktop closed, a program opened the dialog ‘{title}’ and was ended without saving."
        sentences.append([(said, "")])
    if story.done_before:
        sentences.append([(f"Earlier runs had finished {count(len(story.done_before), 'item')}.", "")])
    return sentences


def _cost(story: Story) -> Sentence:
    calls = [call for step in story.steps for call in step.calls] + story.calls_outside_steps
    if not calls:
        return [("No model was called.", "")]
    failed = sum(bool(call.failure) for call in calls)
    failures = f", {failed} of which failed" if failed else ""
    known = story.cost_micro_usd
    cost = "their cost is unknown" if known is None else f"together they cost {money(known)}"
    return [(f"The run made {count(len(calls), 'model call')}{failures}; {cost}.", "")]


def _asked_model(story: Story) -> list[Sentence]:
    """Return why a playbook asked the model: a sentence for each time, up to `MAX_NAMED`."""
    if not story.asked_model:
        return []
    times = "once" if len(story.asked_model) == 1 else f"{len(story.asked_model)} times"
    sentences: list[Sentence] = [[(f"A playbook asked the model {times}.", "")]]
    for subgoal, why in story.asked_model[:MAX_NAMED]:
        sentences.append([("In sub-goal ", ""), (f"{subgoal}", f"#g{subgoal}"), (f": {one_line(why, MOST_SAID)}", "")])
    return sentences


def _link(step: Step) -> tuple[str, str]:
    return f"{step.subgoal}.{step.number}", f"#{step.anchor}"


def _step_cost(step: Step) -> int:
    return step.cost_micro_usd or 0


def _step_time(step: Step) -> int:
    return step.timed.total_us if step.timed else 0


def _time(us: int) -> str:
    return duration(us / 1e6)


def _longest_part(step: Step) -> str:
    name, us = max(latency_parts(step), key=lambda part: part[1])
    return f", {_time(us)} of it to {name}" if name != "overhead" else ""


def subtitles(goal: Subgoal) -> list[str]:
    """Return the lines below a sub-goal's title in the overview."""
    result = (goal.closed.answer or goal.closed.reason) if goal.closed else ""
    progress = goal.opened.progress if goal.opened else ""
    return [text for text in (progress, listed(result)) if text]


def charts(story: Story) -> list[tuple[str, Chart]]:
    """Return the charts of time and cost with their headings, as far as the data exists."""
    both = (("Time", _time_chart(story)), ("Cost", _cost_chart(story)))
    return [(heading, chart) for heading, chart in both if chart] if story.subgoals else []


def _time_chart(story: Story) -> Chart | None:
    timed = [(step, latency_parts(step)) for step in story.steps if step.timed]
    if not timed:
        return None
    bars = [_bar(step, [us for _, us in parts]) for step, parts in timed]
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
    bars = [_bar(step, [_step_cost(step)]) for step in paid]
    sums = sorted(step.cost_micro_usd or 0 for step in paid)
    asked = sum(len(step.calls) for step in paid)
    typical = f"Median step {money(_at(sums, 0.5))}, most expensive {money(sums[-1])}"
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


def _bar(step: Step, parts: Sequence[int]) -> Bar:
    short = f"Step {step.subgoal}.{step.number}"
    return Bar(f"{short}, {step.label[:120]}", parts, f"#{step.anchor}", short)


def _at(sums: list[int], part: float) -> int:
    return sums[min(len(sums) - 1, int(len(sums) * part))]
