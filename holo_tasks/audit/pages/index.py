"""Many runs as one HTML page that needs nothing else: how often they succeed, what they cost, and why they fail."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from string import Template

from holo_tasks.audit.many_runs import Gathered, normalised
from holo_tasks.audit.pages.charts import Bar, Kind, bar_chart
from holo_tasks.audit.pages.formatting import STATUS_WORDS, count, duration, moment, money, safe
from holo_tasks.audit.pages.page import asset, end, head, whole_page
from holo_tasks.core.person import SUSPENDED

MOST_BARS = 60
MOST_TEXT = 20_000
"""Of a title or a reason; the trace has all of it."""


@dataclass(frozen=True)
class Row:
    """A run as the overview knows it; ``cost_micro_usd`` is None where nobody knows, ``damage`` empty where there is
    none."""

    run_id: str
    title: str
    status: str
    reason: str
    kind_of_failure: str
    model: str
    begun: str
    seconds: float
    subgoals: int
    layers: str
    steps: int
    model_calls: int
    cost_micro_usd: int | None
    trace: str
    flow_run_id: str
    report: str
    damage: str

    @property
    def idle(self) -> bool:
        """Whether an agent was opened, and nothing asked of it: that is no answer."""
        return self.status == "answered" and not (self.subgoals or self.steps or self.model_calls)

    @property
    def suspended(self) -> bool:
        """Whether it has ended for a person, and goes on as another run."""
        return self.reason.startswith(SUSPENDED)


def row_of(run: Gathered, *, alive: frozenset[str] = frozenset(), report: str = "") -> Row:
    """Shorten a run to its row; ``alive`` are the runs that are known to go on."""
    story = run.story
    status = story.status
    if status == "interrupted" and run.run_id in alive:
        status = "running"
    if run.damage:
        status = "damaged"
    calls = [call for step in story.steps for call in step.calls]
    calls += story.calls_beside
    return Row(
        run_id=run.run_id[:MOST_TEXT],
        title=run.title[:MOST_TEXT],
        status=status,
        reason=(run.damage or run.reason)[:MOST_TEXT],
        kind_of_failure="" if status in ("answered", "running") else normalised(run.damage or run.reason),
        model=", ".join(story.models)[:MOST_TEXT],
        begun=story.begun,
        seconds=round(story.seconds, 3),
        subgoals=len(story.subgoals) + len(story.done_before),
        layers=_layers([*(goal.layer for goal in story.subgoals), *("done before" for _ in story.done_before)]),
        steps=run.steps,
        model_calls=len(calls),
        cost_micro_usd=run.cost_micro_usd,
        trace=run.uri,
        flow_run_id=story.opened.flow_run_id if story.opened else "",
        report=report,
        damage=run.damage,
    )


def as_json(rows: Sequence[Row]) -> dict[str, object]:
    """All that the page shows, as plain values."""
    sound = _sound(rows)
    return {
        "runs": len(rows),
        "damaged": len(rows) - len(sound),
        "success_rate": _rate(sound),
        "cost_micro_usd": sum(row.cost_micro_usd or 0 for row in sound),
        "cost_unknown": sum(row.cost_micro_usd is None for row in sound),
        "failures": [
            {"status": status, "reason": reason, "runs": number}
            for (status, reason), number in _failures(rows).most_common()
        ],
        "rows": [asdict(row) for row in rows],
    }


def write_index(rows: Sequence[Row], out: Path, *, where: str) -> Path:
    """Write the page to ``out``, whole or not at all."""
    rows = sorted(rows, key=lambda row: _sortable(row.begun), reverse=True)
    script = asset("index_page.js")
    title = f"Runs in {where}"
    found = Counter(row.status for row in rows)
    body = Template(asset("index_page.html")).substitute(
        title=safe(title),
        summary=_tiles(rows),
        overview=_over_time([row for row in _sound(rows) if not row.idle]) + _why(rows) + _by_work(_sound(rows)),
        status_options="".join(f'<option value="{key}">{_status(key)[1]} ({found[key]})</option>' for key in found),
        rows="".join(map(_row, rows)),
        footer=f"{count(len(rows), 'trace')} read; the trace of each run is the evidence, this page is made from it.",
    )
    with whole_page(out, "index") as page:
        page.write(head(title, script) + body + end(script))
    return out


def _layers(layers: Iterable[str]) -> str:
    """What resolved the sub-goals, most often first: ``model 12, done before 3``."""
    return ", ".join(f"{layer} {number}" for layer, number in Counter(filter(None, layers)).most_common())


def _sound(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not row.damage]


def _rate(rows: Sequence[Row]) -> float | None:
    ended = [row for row in rows if row.status != "running" and not row.idle and not row.suspended]
    return round(sum(row.status == "answered" for row in ended) / len(ended), 4) if ended else None


def _cost(rows: Sequence[Row]) -> str:
    """What runs cost together, and how many of them nobody knows the cost of."""
    unknown = sum(row.cost_micro_usd is None for row in rows)
    return money(sum(row.cost_micro_usd or 0 for row in rows)) + (f" + {unknown} unknown" if unknown else "")


def _chip(row: Row) -> tuple[str, str]:
    if row.idle:
        return "", "Did nothing"
    return ("info", "Suspended") if row.suspended else _status(row.status)


def _status(status: str) -> tuple[str, str]:
    return STATUS_WORDS.get(status, ("bad", "Damaged"))


def _failures(rows: Iterable[Row]) -> Counter[tuple[str, str]]:
    failed = (row for row in rows if row.status not in ("answered", "running") and not row.suspended)
    return Counter((row.status, row.kind_of_failure) for row in failed)


def _tiles(rows: Sequence[Row]) -> str:
    sound = _sound(rows)
    rate = _rate(sound)
    known = [row.cost_micro_usd for row in sound if row.cost_micro_usd is not None]
    tiles = [
        ("Runs", f"{len(rows):,}"),
        ("Answered", "–" if rate is None else f"{rate:.0%}"),
        ("Cost", _cost(sound)),
        ("Median cost", money(round(median(known))) if known else "–"),
        ("Median duration", duration(median(row.seconds for row in sound)) if sound else "–"),
        ("Steps", f"{sum(row.steps for row in sound):,}"),
    ]
    damaged = len(rows) - len(sound)
    banner = (
        f'<p class="banner bad" role="note"><strong>{count(damaged, "trace")} damaged or unreadable.</strong>'
        " They count as runs and are listed below, but are left out of all rates, costs and times.</p>\n"
        if damaged
        else ""
    )
    return banner + '<dl class="tiles">' + "".join(f"<div><dt>{a}</dt><dd>{b}</dd></div>" for a, b in tiles) + "</dl>"


def _over_time(rows: Sequence[Row]) -> str:
    dated = [(at, row) for row in rows if (at := moment(row.begun))]
    if not dated:
        return ""
    first, last = min(at for at, _ in dated), max(at for at, _ in dated)
    form, each = ("%Y-%m", "Month") if last - first > timedelta(days=MOST_BARS) else ("%Y-%m-%d", "Day")
    if last - first <= timedelta(days=2):
        form, each = "%Y-%m-%d %H h", "Hour"
    groups: dict[str, list[Row]] = defaultdict(list)
    for at, row in sorted(dated, key=lambda pair: pair[0]):
        groups[at.strftime(form)].append(row)
    shown = list(groups.items())[-MOST_BARS:]
    runs = [
        Bar(
            name,
            [
                sum(row.status == "answered" for row in group),
                sum(row.status not in ("answered", "running") and not row.suspended for row in group),
            ],
        )
        for name, group in shown
    ]
    known = [row for _, group in shown for row in group]
    going_on = sum(row.status == "running" for row in known)
    suspended = sum(row.suspended for row in known)
    costs = [Bar(name, [sum(row.cost_micro_usd or 0 for row in group)]) for name, group in shown]
    span = f"{count(len(shown), each.lower())} with runs, from {shown[0][0]} to {shown[-1][0]}, UTC"
    answered = sum(bar.parts[0] for bar in runs)
    other = sum(bar.parts[1] for bar in runs)
    spent = _cost(known)
    legend = f'<span><i class="answered"></i>Answered {answered}</span><span><i class="failed"></i>Other {other}</span>'
    legend += f"<span>Still running {going_on}</span>" if going_on else ""
    legend += f"<span>Suspended {suspended}</span>" if suspended else ""
    ends = f"{answered} answered, {other} did not"
    ends += (f", {going_on} still running" if going_on else "") + (f", {suspended} suspended" if suspended else "")
    if len(shown) == 1:
        told = f"All in one {each.lower()}, {shown[0][0]}, UTC: {ends}. {spent} together."
        return f'<section><h2>Runs over time</h2><p class="lead">{told}</p></section>\n'
    about = f"{span}. {ends}."
    kinds = [Kind("answered", "Answered"), Kind("failed", "Other")]
    success = bar_chart("success", "Runs over time", about, kinds, runs, str,
                        each=each, legend=f"{legend}<span>{span}</span>")  # fmt: skip
    cost = bar_chart("cost", "Cost over time", f"{span}. {spent} together.", [Kind("cost", "Cost")], costs,
                     money, each=each, legend=f'<span><i class="cost"></i>{spent}</span>')  # fmt: skip
    return f"<section><h2>Runs over time</h2>{success}</section>\n<section><h2>What they cost</h2>{cost}</section>\n"


def _sortable(begun: str) -> str:
    """A time as text that sorts as times do; what is no time comes before them."""
    found = moment(begun)
    return found.isoformat() if found else ""


def _why(rows: Sequence[Row]) -> str:
    failures = _failures(rows)
    if not failures:
        return ""
    lines = []
    for (status, reason), number in failures.most_common():
        kind, words = _status(status)
        lines.append(
            f'<tr><td><span class="chip {kind}">{words}</span></td>'
            f'<td><bdi>{safe(reason) or "no reason was given"}</bdi></td><td class="num">{number}</td></tr>'
        )
    return _panel("Why runs did not end in an answer", (("Status", ""), ("Reason", ""), ("Runs", "num")), lines)


def _by_work(rows: Sequence[Row]) -> str:
    groups: Mapping[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[(row.title, row.model)].append(row)
    lines = []
    for (title, model), group in sorted(groups.items(), key=lambda pair: -len(pair[1])):
        rate = _rate(group)
        lines.append(
            f'<tr><td><bdi>{safe(title[:200])}</bdi></td><td><bdi class="mono">{safe(model) or "none"}</bdi></td>'
            f'<td class="num">{len(group)}</td><td class="num">{"–" if rate is None else f"{rate:.0%}"}</td>'
            f'<td class="num">{_cost(group)}</td><td class="num">{median(row.steps for row in group):g}</td>'
            f'<td class="num">{duration(median(row.seconds for row in group))}</td></tr>'
        )
    heads = (("Work", ""), ("Model", ""), ("Runs", "num"), ("Answered", "num"), ("Cost", "num"))
    return _panel("By work and model", (*heads, ("Median steps", "num"), ("Median time", "num")), lines)


def _panel(title: str, heads: Sequence[tuple[str, str]], lines: Sequence[str]) -> str:
    head_cells = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in heads)
    return (
        f'<section><h2>{title}</h2><div class="panel" tabindex="0" role="region" aria-label="{title}"><table>'
        f"<thead><tr>{head_cells}</tr></thead><tbody>{''.join(lines)}</tbody></table></div></section>\n"
    )


def _row(row: Row) -> str:
    kind, words = _chip(row)
    name = f'<bdi class="text">{safe(row.title[:200])}</bdi>'
    linked = f'<a href="{safe(row.report)}">{name}</a>' if row.report else name
    why = f'<bdi class="sub text">{safe(row.reason[:300])}</bdi>' if row.reason else ""
    cost = "" if row.cost_micro_usd is None else row.cost_micro_usd
    return (
        f'<tr data-status="{row.status}"><td>{linked}{why}<bdi class="sub mono" title="{safe(row.trace)}">'
        f"{safe(row.run_id[:120])}</bdi></td>"
        f'<td><span class="chip {kind}">{words}</span></td><td><bdi class="mono">{safe(row.model[:120])}</bdi></td>'
        f'<td data-key="{_sortable(row.begun)}">{safe(_when(row.begun))}</td>'
        f"<td>{safe(row.layers)}</td>"
        f'<td class="num" data-key="{row.steps}">{row.steps}</td>'
        f'<td class="num" data-key="{cost}">{money(row.cost_micro_usd)}</td>'
        f'<td class="num" data-key="{row.seconds}">{duration(row.seconds)}</td></tr>\n'
    )


def _when(begun: str) -> str:
    found = moment(begun)
    return f"{found:%Y-%m-%d %H:%M}" if found else ""
