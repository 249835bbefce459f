"""Export runs or their steps as CSV (RFC 4180, UTF-8). Spreadsheets read every cell as data, never as a formula.

Every cell is quoted, so that programs that expect another separator do not split cells. Used by `holo-tasks export`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import IO
from unicodedata import category

from holo_tasks.audit.many_runs import ReadTrace
from holo_tasks.audit.pages.formatting import kind_counts, visible
from holo_tasks.audit.pages.index import Row, row_of
from holo_tasks.audit.pages.run_view import Step, Subgoal

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that start a formula in a spreadsheet, with their full-width forms."""
_INVISIBLE = ("Cf", "Zs", "Zl", "Zp")
RUN_COLUMNS = [
    each.name.replace("cost_micro_usd", "cost_usd") for each in fields(Row) if each.name not in ("report", "damage")
]
STEP_COLUMNS = [
    *("run_id", "subgoal", "subgoal_title", "subgoal_status", "step", "label", "tool", "outcome", "began", "ended"),
    *("model_calls", "prompt_tokens", "completion_tokens", "cost_usd", "cached_decision"),
    *("perceive_ms", "decide_ms", "act_ms", "total_ms", "masks", "frame_before", "frame_after", "trouble", "trace"),
    *("waiting_ms", "waiting_for"),
]


def write_runs(runs: Iterable[ReadTrace], out: IO[str], *, alive: frozenset[str] = frozenset()) -> None:
    """Write one row for each run, in the given order. Runs in ``alive`` are still in progress."""
    _write(out, RUN_COLUMNS, (_run(row_of(run, alive=alive)) for run in runs))


def write_steps(runs: Iterable[ReadTrace], out: IO[str]) -> None:
    """Write one row for each step."""
    _write(out, STEP_COLUMNS, (row for run in runs for row in _steps(run)))


def cell(value: object) -> str:
    """Return a value as the text of a cell. An apostrophe is put before text that would be a formula."""
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return str(value)
    text = visible(str(value))
    # Spreadsheets skip spaces and invisible characters at the start of a cell.
    shown = next((at for at, sign in enumerate(text) if category(sign) not in _INVISIBLE), len(text))
    return "'" + text if text.startswith(_FORMULA, shown) else text


def _write(out: IO[str], columns: list[str], rows: Iterable[Mapping[str, object]]) -> None:
    table = csv.writer(out, dialect="excel", lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    table.writerow(columns)
    for row in rows:
        table.writerow([cell(row[column]) for column in columns])


def _run(row: Row) -> dict[str, object]:
    return {**asdict(row), "cost_usd": _usd(row.cost_micro_usd)}


def _steps(run: ReadTrace) -> Iterator[dict[str, object]]:
    for goal in run.story.subgoals:
        for step in goal.steps:
            yield _step(run, goal, step)


def _step(run: ReadTrace, goal: Subgoal, step: Step) -> dict[str, object]:
    prompt, reply = step.tokens
    frame = run.story.frames.get(step.before)
    timed = step.timed
    trouble = [*step.failures, *(permit.rule for permit in step.refusals), *step.questions, *step.corrections]
    return {
        "run_id": run.run_id,
        "subgoal": goal.number,
        "subgoal_title": goal.title,
        "subgoal_status": goal.status,
        "step": step.number,
        "label": step.label,
        "tool": step.decision.tool_name if step.decision else "",
        "outcome": step.outcome,
        "began": step.begun,
        "ended": step.ended,
        "model_calls": len(step.calls),
        "prompt_tokens": prompt,
        "completion_tokens": reply,
        "cost_usd": _usd(step.cost_micro_usd),
        "cached_decision": "yes" if step.decision and step.decision.cached else "",
        "perceive_ms": timed and round(timed.perceive_us / 1000),
        "decide_ms": timed and round(timed.decide_us / 1000),
        "act_ms": timed and round(timed.act_us / 1000),
        "total_ms": timed and round(timed.total_us / 1000),
        "masks": kind_counts([mask.kind for mask in frame.masks]) if frame else "",
        "frame_before": step.before,
        "frame_after": step.after,
        "trouble": "; ".join(trouble),
        "trace": run.uri,
        "waiting_ms": timed and round(timed.waiting_us / 1000),
        "waiting_for": step.waiting_for,
    }


def _usd(micro: int | None) -> str | None:
    """Return an exact amount in dollars with six decimals. Floating point would round it."""
    return None if micro is None else f"{micro // 1_000_000}.{micro % 1_000_000:06d}"
