"""The page of a benchmark: one file that loads nothing and runs no script."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from benchmarks.evidence import picture
from benchmarks.figures import row, rows_by
from benchmarks.results import Kept, compared, history
from benchmarks.values import Result, Word
from holo_tasks.audit.errors import DamagedTrace
from holo_tasks.audit.pages.page import asset, whole_page
from holo_tasks.core.errors import InvalidUsage

HERE = Path(__file__).parent
MOST_SHOWN = 40
"""Number of failures that are shown with pictures."""
KINDS: Mapping[Word, str] = {"silent wrong": "bad", "over-halt": "warn", "error": "warn"}
Fewest = Mapping[tuple[str, str, int], int]


def write_page(
    out: Path,
    kept: Kept,
    fewest: Fewest,
    *,
    earlier: Sequence[Kept] = (),
    other: Kept | None = None,
    left_out: Sequence[str] = (),
) -> None:
    """Write the page. ``earlier`` are the benchmarks with the same plan, ending with this one; ``other`` is compared
    with it.
    """
    results = kept.results
    whole = row(kept.plan.played, results, fewest)
    both = _compared(kept, other, fewest) if other else []
    style = Markup(asset("page.css") + (HERE / "page.css").read_text(encoding="utf-8"))
    with whole_page(out, "page") as page:
        template = _templates().get_template("page.html")
        pieces = template.stream(
            title=f"Benchmark {kept.name}",
            style=style,
            oracle=not kept.plan.model,
            asked=kept.plan.asked,
            left_out=left_out,
            tiles=[
                ("Items", whole.items),
                ("Success", f"{whole.success.count} of {whole.success.of}"),
                ("Silent wrong", whole.silent_wrong),
                ("Over-halt", whole.over_halt),
                ("Half took", f"{whole.p50_s:.1f} s"),
                ("95 % took", f"{whole.p95_s:.1f} s"),
            ],
            whole=[whole.cells, *(each.cells for each in rows_by(lambda one: one.outcome.suite, results, fewest))],
            compared=both,
            differing=compared(kept, other) if other else [],
            failures=[_failure(result) for result in results if not result.outcome.good][:MOST_SHOWN],
            held_back=_held_back(results),
            by_scale=[each.cells for each in rows_by(lambda one: f"scale {one.outcome.scale:g}", results, fewest)],
            by_task=[
                each.cells for each in rows_by(lambda one: f"{one.outcome.suite} {one.outcome.task}", results, fewest)
            ],
            past=past_rows(earlier),
        )
        page.writelines(pieces)


def past_rows(earlier: Sequence[Kept]) -> list[dict[str, str]]:
    """Return the rows of the history, newest first."""
    return [
        {
            "benchmark": past.name,
            "success (95 %)": str(past.success),
            "silent wrong": str(past.silent_wrong),
            "worse than before": ", ".join(past.worse) or "–",
        }
        for past in reversed(history(earlier))
    ]


def _compared(first: Kept, second: Kept, fewest: Fewest) -> list[dict[str, str]]:
    both = {result.outcome.item for result in first.results} & {result.outcome.item for result in second.results}
    shared = [(kept, [result for result in kept.results if result.outcome.item in both]) for kept in (first, second)]
    return [row(f"{kept.name}: {kept.plan.conditions}", results, fewest).cells for kept, results in shared if results]


def _failure(result: Result) -> dict[str, Any]:
    outcome, pictures = result.outcome, []
    for name, sha256 in (("before", result.took.before), ("after", result.took.after)):
        if sha256:
            try:
                data = base64.b64encode(picture(outcome.trace, sha256)).decode()
            except (DamagedTrace, InvalidUsage):  # the trace was deleted since
                continue
            pictures.append((name, f"data:image/jpeg;base64,{data}"))
    return {
        "name": outcome.item.name,
        "word": outcome.word,
        "kind": KINDS.get(outcome.word, "info"),
        "status": outcome.status,
        "reason": outcome.reason,
        "why": outcome.judged.why,
        "trace": outcome.trace,
        "pictures": pictures,
    }


def _held_back(results: Sequence[Result]) -> list[dict[str, str]]:
    reported = Counter((result.outcome.item.name, why) for result in results for why in result.took.looked_again)
    return [{"item": item, "times": str(times), "why": why} for (item, why), times in reported.most_common()]


def _templates() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters["hashed"] = lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return templates
