"""The top of a run's page: what came of it, what it cost, and where the time went."""

from __future__ import annotations

from holo_tasks.audit.pages.charts import Bar, Kind, bar_chart
from holo_tasks.audit.pages.formatting import STATUS_WORDS, clock, count, duration, money, safe
from holo_tasks.audit.pages.report_step import latency_parts, legend_items, step_anchor
from holo_tasks.audit.pages.run_view import Step, Story
from holo_tasks.audit.reader import ChainCheck, Trace


def header(trace: Trace, story: Story, chain: ChainCheck, title: str) -> str:
    opened, closed = story.opened, story.closed
    kind, status = STATUS_WORDS[story.status]
    tiles = [
        ("Steps", f"{closed.steps if closed else len(story.steps):,}", ""),
        ("Cost", money(closed.cost_micro_usd if closed else story.cost_micro_usd), ""),
        ("Duration", duration(story.seconds), ""),
        ("Sub-goals", f"{len(story.subgoals):,}", ""),
        *([("Done before", f"{len(story.done_before):,}", "")] if story.done_before else []),
        ("Model", safe(", ".join(story.models) or "–"), "small"),
    ]
    shown = "".join(f'<div><dt>{name}</dt><dd class="{size}">{value}</dd></div>' for name, value, size in tiles)
    facts = [("Run", f"<code>{safe(opened.run_id if opened else trace.uri.rpartition('/')[2])}</code>")]
    facts += [("Prefect flow run", f"<code>{safe(opened.flow_run_id)}</code>")] if opened and opened.flow_run_id else []
    facts += [("Trace", f"<code>{safe(trace.uri)}</code>"), ("Evidence", _chain_words(chain))]
    if opened and opened.signed_by:
        checked = "checked by <code>holo-tasks verify</code>, not by this page"
        facts.append(("Signed with", f"key <code>{safe(opened.signed_by[:16])}…</code> · {checked}"))
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    reason = _reason(story)
    return (
        f'<p class="eyebrow">Run report · {safe(clock(story.begun, date=True))}</p>\n'
        f'<div class="title"><h1><bdi>{safe(title)}</bdi></h1><span class="chip {kind}">{status}</span></div>\n'
        + (f'<p class="answer text" dir="auto">{safe(reason)}</p>\n' if reason else "")
        + _banner(chain, story)
        + f'<dl class="tiles">{shown}</dl>\n<dl class="facts">{listed}</dl>'
    )


def _reason(story: Story) -> str:
    """What a run came to; of one that was killed the banner says it."""
    came_to = (story.closed.answer or story.closed.reason) if story.closed else ""
    return "" if came_to in story.kills else came_to


def _banner(chain: ChainCheck, story: Story) -> str:
    banners = [("bad", f"The run was stopped: {safe(reason)}") for reason in story.kills]
    if not chain.whole:
        banners.append(
            (
                "bad",
                f"<strong>This trace is not what was written.</strong> Record {chain.first_bad} {safe(chain.reason)}."
                " What follows may be wrong from there on.",
            )
        )
    elif not chain.closed:
        banners.append(
            (
                "warn",
                "<strong>This trace is incomplete.</strong> The run did not record its end: it is still going on,"
                " or it was interrupted. Everything recorded until then is below.",
            )
        )
    return "".join(f'<p class="banner {kind}" role="note">{words}</p>\n' for kind, words in banners)


def _chain_words(chain: ChainCheck) -> str:
    if not chain.whole:
        return f'<span class="notok">Hash chain broken at record {chain.first_bad}</span>'
    records = f"{count(chain.records, 'record')}, head <code>{chain.head[:16]}</code>"
    if not chain.closed:
        return f'<span class="partly">Hash chain intact, end of run missing</span> · {records}'
    return f'<span class="ok">Hash chain intact and closed</span> · {records}'


MOST_DONE_BEFORE = 500
"""So many rows the table of what was done before has."""


def done_before(story: Story) -> str:
    """A folded table of what earlier runs had done, and where the evidence of it is."""
    if not story.done_before:
        return ""
    rows = "".join(
        f"<tr><td><bdi>{safe(one.token)}</bdi></td><td><bdi>{safe(one.title)}</bdi></td>"
        f"<td><code>{safe(one.trace)}</code></td></tr>"
        for one in story.done_before[:MOST_DONE_BEFORE]
    )
    more = len(story.done_before) - MOST_DONE_BEFORE
    rows += f'<tr><td colspan="3">and {more:,} more, which the trace names</td></tr>' if more > 0 else ""
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Item", "Sub-goal", "Evidence"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    table = f'<div class="panel overview" tabindex="0" role="region" aria-label="Done before this run">{table}</div>'
    told = f"{count(len(story.done_before), 'item')} that earlier runs had finished; nothing was done for them again"
    return f"<section><h2>Done before this run</h2><details><summary>{told}</summary>{table}</details></section>\n"


def overview(story: Story) -> str:
    if not story.subgoals:
        return done_before(story)
    rows = []
    for goal in story.subgoals:
        kind, status = STATUS_WORDS[story.status_of(goal)]
        result = (goal.closed.answer or goal.closed.reason) if goal.closed else ""
        progress = goal.opened.progress if goal.opened else ""
        subs = [text for text in (progress, result) if text]
        below = "".join(f'<bdi class="sub">{safe(text[:400])}</bdi>' for text in subs)
        taken = goal.closed.steps if goal.closed else len(goal.steps)
        by = goal.layer if goal.layer in ("", "done before") else f"by {goal.layer}"
        layer = f" ({safe(by)})" if by else ""
        rows.append(
            f'<tr><td class="num">{goal.number}</td>'
            f'<td><a href="#g{goal.number}"><bdi>{safe(goal.title)}</bdi></a>{below}</td>'
            f'<td><span class="chip {kind}">{status}{layer}</span></td><td class="num">{taken}</td>'
            f'<td class="num">{money(goal.cost_micro_usd)}</td><td class="num">{duration(goal.seconds)}</td></tr>'
        )
    heads = '<th scope="col" class="num">#</th><th scope="col">Sub-goal</th><th scope="col">Status</th>'
    heads += "".join(f'<th scope="col" class="num">{name}</th>' for name in ("Steps", "Cost", "Time"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    table = f'<div class="panel overview" tabindex="0" role="region" aria-label="Sub-goals">{table}</div>'
    sections = f"<section><h2>Sub-goals</h2>{table}</section>\n{done_before(story)}"
    return f"{sections}{_where_time_went(story)}{_what_it_cost(story)}"


def _where_time_went(story: Story) -> str:
    timed = [(step, latency_parts(step)) for step in story.steps if step.timed]
    if not timed:
        return ""
    bars = [Bar(_name(step), [us for _, us in parts], f"#{step_anchor(step)}") for step, parts in timed]
    sums = sorted(sum(bar.parts) for bar in bars)
    typical = f"Median step {duration(_at(sums, 0.5) / 1e6)}, 95th percentile {duration(_at(sums, 0.95) / 1e6)}"
    totals = [(name, sum(dict(parts)[name] for _, parts in timed)) for name, _ in timed[0][1]]
    kinds = [Kind(name, name.capitalize()) for name, _ in totals]
    chart = bar_chart(
        "time",
        "Time of each step",
        f"{count(len(bars), 'step')}, in their order. {typical}, longest {duration(sums[-1] / 1e6)}.",
        kinds,
        bars,
        lambda us: duration(us / 1e6),
        each="Step",
        legend=f"{legend_items(totals)}<span>{typical}</span>",
    )
    return f'<section class="charts"><h2>Where the time went</h2>{chart}</section>\n'


def _what_it_cost(story: Story) -> str:
    paid = [step for step in story.steps if step.calls]
    if not any(step.cost_micro_usd for step in paid):
        return ""
    bars = [Bar(_name(step), [step.cost_micro_usd or 0], f"#{step_anchor(step)}") for step in paid]
    sums = sorted(step.cost_micro_usd or 0 for step in paid)
    asked = sum(len(step.calls) for step in paid)
    typical = f"Median step {money(_at(sums, 0.5))}, dearest {money(sums[-1])}"
    chart = bar_chart(
        "cost",
        "Cost of each step",
        f"{count(len(bars), 'step')} that asked the model, in their order. {typical}.",
        [Kind("cost", "Cost")],
        bars,
        money,
        each="Step",
        legend=f'<span><i class="cost"></i>{money(sum(sums))} in {count(asked, "model call")}</span>'
        f"<span>{typical}</span>",
    )
    return f'<section class="charts"><h2>What it cost</h2>{chart}</section>\n'


def _name(step: Step) -> str:
    return f"Step {step.subgoal}.{step.number}, {step.label[:120]}"


def _at(sums: list[int], part: float) -> int:
    return sums[min(len(sums) - 1, int(len(sums) * part))]
