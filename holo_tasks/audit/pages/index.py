"""Write the overview of many runs as one self-contained HTML page: success rate, cost and reasons of failures.

`row_of` and `write_index` are used by `holo-tasks index`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median

from holo_tasks.audit.many_runs import ReadTrace, failure_kind
from holo_tasks.audit.pages.charts import Bar, Chart, Kind
from holo_tasks.audit.pages.formatting import STATUS_WORDS, count, duration, moment, money
from holo_tasks.audit.pages.page import whole_page, write_page
from holo_tasks.core.person import SUSPENDED

MAX_BARS = 60
MAX_TEXT = 20_000
"""Characters of a title or a reason that the page shows. The trace has the whole text."""


@dataclass(frozen=True)
class Row:
    """A run in the overview. ``cost_micro_usd`` is ``None`` if the cost is unknown. ``damage`` is an empty string if
    the trace is intact."""

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
        """Whether the agent was opened and never used. Such a run does not count as answered."""
        return self.status == "answered" and not (self.subgoals or self.steps or self.model_calls)

    @property
    def suspended(self) -> bool:
        """Whether the run ended to wait for a person. Another run continues it."""
        return self.reason.startswith(SUSPENDED)


def row_of(run: ReadTrace, *, alive: frozenset[str] = frozenset(), report: str = "") -> Row:
    """Return a run's row. ``alive`` has the ids of runs that are in progress."""
    story = run.story
    status = story.status
    if status == "interrupted" and run.run_id in alive:
        status = "running"
    if run.damage:
        status = "damaged"
    calls = [call for step in story.steps for call in step.calls]
    calls += story.calls_outside_steps
    return Row(
        run_id=run.run_id[:MAX_TEXT],
        title=run.title[:MAX_TEXT],
        status=status,
        reason=(run.damage or run.reason)[:MAX_TEXT],
        kind_of_failure="" if status in ("answered", "running") else failure_kind(run.damage or run.reason),
        model=", ".join(story.models)[:MAX_TEXT],
        begun=story.begun,
        seconds=round(story.seconds, 3),
        subgoals=len(story.subgoals) + len(story.done_before),
        layers=_layer_counts([*(goal.layer for goal in story.subgoals), *("done before" for _ in story.done_before)]),
        steps=run.steps,
        model_calls=len(calls),
        cost_micro_usd=run.cost_micro_usd,
        trace=run.uri,
        flow_run_id=story.opened.flow_run_id if story.opened else "",
        report=report,
        damage=run.damage,
    )


def as_json(rows: Sequence[Row]) -> dict[str, object]:
    """Return everything that the page shows, as plain values."""
    intact = _intact(rows)
    return {
        "runs": len(rows),
        "damaged": len(rows) - len(intact),
        "success_rate": _rate(intact),
        "cost_micro_usd": sum(row.cost_micro_usd or 0 for row in intact),
        "cost_unknown": sum(row.cost_micro_usd is None for row in intact),
        "failures": [
            {"status": status, "reason": reason, "runs": number}
            for (status, reason), number in _failures(rows).most_common()
        ],
        "rows": [asdict(row) for row in rows],
    }


def write_index(rows: Sequence[Row], out: Path, *, where: str) -> Path:
    """Write the page to ``out`` atomically."""
    rows = sorted(rows, key=lambda row: _sortable(row.begun), reverse=True)
    intact = _intact(rows)
    with whole_page(out, "index") as page:
        write_page(
            page,
            "index.html",
            "index_page.js",
            title=f"Runs in {where}",
            rows=rows,
            damaged=len(rows) - len(intact),
            tiles=_tiles(rows),
            over_time=_over_time([row for row in intact if not row.idle]),
            failures=_failures(rows).most_common(),
            works=_by_work(intact),
            statuses=Counter(row.status for row in rows),
            status_words=_status,
            chip=_chip,
            sortable=_sortable,
            when=_when,
        )
    return out


def _layer_counts(layers: Iterable[str]) -> str:
    """Format the layers that resolved sub-goals, most frequent first: ``model 12, done before 3``."""
    return ", ".join(f"{layer} {number}" for layer, number in Counter(filter(None, layers)).most_common())


def _intact(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not row.damage]


def _rate(rows: Sequence[Row]) -> float | None:
    ended = [row for row in rows if row.status != "running" and not row.idle and not row.suspended]
    return round(sum(row.status == "answered" for row in ended) / len(ended), 4) if ended else None


def _cost(rows: Sequence[Row]) -> str:
    """Format the total cost of runs, with the number of runs whose cost is unknown."""
    unknown = sum(row.cost_micro_usd is None for row in rows)
    return money(sum(row.cost_micro_usd or 0 for row in rows)) + (f" + {unknown} unknown" if unknown else "")


def _chip(row: Row) -> tuple[str, str]:
    if row.idle:
        return "", "Did nothing"
    return ("info", "Suspended") if row.suspended else _status(row.status)


def _status(status: str) -> tuple[str, str]:
    return STATUS_WORDS.get(status, ("bad", "Damaged"))


def _failures(rows: Iterable[Row]) -> Counter[tuple[str, str]]:
    return Counter((row.status, row.kind_of_failure) for row in filter(_is_unsuccessful, rows))


def _tiles(rows: Sequence[Row]) -> list[tuple[str, str]]:
    intact = _intact(rows)
    rate = _rate(intact)
    known = [row.cost_micro_usd for row in intact if row.cost_micro_usd is not None]
    return [
        ("Runs", f"{len(rows):,}"),
        ("Answered", "–" if rate is None else f"{rate:.0%}"),
        ("Cost", _cost(intact)),
        ("Median cost", money(round(median(known))) if known else "–"),
        ("Median duration", duration(median(row.seconds for row in intact)) if intact else "–"),
        ("Steps", f"{sum(row.steps for row in intact):,}"),
    ]


@dataclass(frozen=True)
class OverTime:
    """Charts with their headings. If all runs began in one hour, day or month, a sentence replaces the charts."""

    charts: Sequence[tuple[str, Chart]] = ()
    summary: str = ""


def _over_time(rows: Sequence[Row]) -> OverTime:
    each, shown = _by_time(rows)
    if not shown:
        return OverTime()
    runs = [Bar(name, [sum(map(_is_answered, group)), sum(map(_is_unsuccessful, group))]) for name, group in shown]
    known = [row for _, group in shown for row in group]
    answered, other = (sum(bar.parts[part] for bar in runs) for part in (0, 1))
    going_on, suspended = sum(row.status == "running" for row in known), sum(row.suspended for row in known)
    ends = f"{answered} answered, {other} did not"
    ends += (f", {going_on} still running" if going_on else "") + (f", {suspended} suspended" if suspended else "")
    spent = _cost(known)
    if len(shown) == 1:
        return OverTime(summary=f"All in one {each.lower()}, {shown[0][0]}, UTC: {ends}. {spent} together.")
    span = f"{count(len(shown), each.lower())} with runs, from {shown[0][0]} to {shown[-1][0]}, UTC"
    legend = [("answered", f"Answered {answered}"), ("failed", f"Other {other}")]
    legend += [("", f"Still running {going_on}")] if going_on else []
    legend += [("", f"Suspended {suspended}")] if suspended else []
    kinds = [Kind("answered", "Answered"), Kind("failed", "Other")]
    success = Chart("success", "Runs over time", f"{span}. {ends}.", kinds, runs, str, each, [*legend, ("", span)])
    costs = [Bar(name, [sum(row.cost_micro_usd or 0 for row in group)]) for name, group in shown]
    about = f"{span}. {spent} together."
    cost = Chart("cost", "Cost over time", about, [Kind("cost", "Cost")], costs, money, each, [("cost", spent)])
    return OverTime([("Runs over time", success), ("Cost over time", cost)])


def _by_time(rows: Sequence[Row]) -> tuple[str, list[tuple[str, list[Row]]]]:
    """Group runs by hour, day or month, so that there are few groups. Return the unit's name and the latest groups."""
    dated = sorted(((at, row) for row in rows if (at := moment(row.begun))), key=lambda pair: pair[0])
    if not dated:
        return "", []
    span = dated[-1][0] - dated[0][0]
    form, each = ("%Y-%m", "Month") if span > timedelta(days=MAX_BARS) else ("%Y-%m-%d", "Day")
    if span <= timedelta(days=2):
        form, each = "%Y-%m-%d %H h", "Hour"
    groups: dict[str, list[Row]] = defaultdict(list)
    for at, row in dated:
        groups[at.strftime(form)].append(row)
    return each, list(groups.items())[-MAX_BARS:]


def _is_answered(row: Row) -> bool:
    return row.status == "answered"


def _is_unsuccessful(row: Row) -> bool:
    return row.status not in ("answered", "running") and not row.suspended


def _sortable(begun: str) -> str:
    """Return a time as text that sorts chronologically. Text that is not a time sorts first."""
    found = moment(begun)
    return found.isoformat() if found else ""


@dataclass(frozen=True)
class TitleTotals:
    """The totals of all runs with one title and model."""

    title: str
    model: str
    runs: int
    answered: str
    cost: str
    steps: str
    seconds: float


def _by_work(rows: Sequence[Row]) -> list[TitleTotals]:
    groups: Mapping[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[(row.title, row.model)].append(row)
    works = []
    for (title, model), group in sorted(groups.items(), key=lambda pair: -len(pair[1])):
        rate = _rate(group)
        answered = "–" if rate is None else f"{rate:.0%}"
        steps, seconds = f"{median(row.steps for row in group):g}", median(row.seconds for row in group)
        works.append(TitleTotals(title[:200], model, len(group), answered, _cost(group), steps, seconds))
    return works


def _when(begun: str) -> str:
    found = moment(begun)
    return f"{found:%Y-%m-%d %H:%M}" if found else ""
