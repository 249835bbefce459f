"""Statistics of results: shares with their confidence intervals, medians and quantiles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.values import Item, Result

Z = 1.959964
"""Standard deviations that contain 95 % of a normal distribution."""


@dataclass(frozen=True)
class Share:
    """A count out of a total."""

    count: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's score interval at 95 %. It is also valid for small totals, and for none or all."""
        if not self.of:
            return 0.0, 1.0
        p, n = self.count / self.of, self.of
        center = p + Z * Z / (2 * n)
        spread = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        low, high = (center - spread) / (1 + Z * Z / n), (center + spread) / (1 + Z * Z / n)
        # For none and all the bound is exact; rounding must not change it.
        return (0.0 if self.count == 0 else max(0.0, low)), (1.0 if self.count == self.of else min(1.0, high))

    def __str__(self) -> str:
        if not self.of:
            return "–"
        low, high = self.interval
        return f"{self.count / self.of:.1%} ({low:.1%} to {high:.1%})"


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed. Returns 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


@dataclass(frozen=True)
class Row:
    """One row of a table: the summary of some results."""

    name: str
    items: int
    success: Share
    silent_wrong: int
    over_halt: int
    errors: int
    p50_s: float
    p95_s: float
    micro_usd: int | None
    calls: int
    steps: int
    fewest: int
    looked_again: int
    perceive: float
    decide: float
    act: float
    layers: Mapping[str, int]

    @property
    def cells(self) -> dict[str, str]:
        """Return the row as text, by column."""
        of = sum(self.layers.values())
        money = "unknown" if self.micro_usd is None else f"{self.micro_usd / 1e6:.4f}"
        return {
            "what": self.name,
            "items": str(self.items),
            "success (95 %)": str(self.success),
            "silent wrong": str(self.silent_wrong),
            "over-halt": str(self.over_halt),
            "errors": str(self.errors),
            "p50\N{NO-BREAK SPACE}s": f"{self.p50_s:.1f}",
            "p95\N{NO-BREAK SPACE}s": f"{self.p95_s:.1f}",
            "USD": money,
            "calls": str(self.calls),
            "steps / fewest": f"{self.steps} / {self.fewest}",
            "looked again": str(self.looked_again),
            "perceive · decide · act": f"{self.perceive:.0%} · {self.decide:.0%} · {self.act:.0%}",
            "layers": ", ".join(f"{name} {count / of:.0%}" for name, count in self.layers.items()) or "–",
        }


def fewest_steps(
    results: Iterable[Result], known: Mapping[tuple[str, str, int], int]
) -> dict[tuple[str, str, int], int]:
    """Return the fewest steps in which each task and seed was ever completed, by these results and earlier ones."""
    fewest = dict(known)
    for result in results:
        if result.outcome.word == "success":
            of = task_of(result.outcome.item)
            fewest[of] = min(fewest.get(of, result.took.steps), result.took.steps)
    return fewest


def task_of(item: Item) -> tuple[str, str, int]:
    """Return the part of an item that is independent of its scale."""
    return item.suite, item.task, item.seed


def row(name: str, results: Sequence[Result], fewest: Mapping[tuple[str, str, int], int]) -> Row:
    """Return the summary of some results."""
    words = Counter(result.outcome.word for result in results)
    took = [result.took for result in results]
    # An item that did not succeed may have used its whole time limit, so only the times of successes count.
    times = [result.took.seconds for result in results if result.outcome.good]
    spent = [each.micro_usd for each in took]
    whole = sum(each.seconds for each in took) or 1.0
    done = [result for result in results if result.outcome.word == "success"]
    return Row(
        name=name,
        items=len(results),
        success=Share(words["success"] + words["handed over"], len(results)),
        silent_wrong=words["silent wrong"],
        over_halt=words["over-halt"],
        errors=words["error"],
        p50_s=quantile(times, 0.5),
        p95_s=quantile(times, 0.95),
        micro_usd=None if None in spent else sum(each or 0 for each in spent),
        calls=sum(each.calls for each in took),
        steps=sum(result.took.steps for result in done),
        fewest=sum(fewest[task_of(result.outcome.item)] for result in done),
        looked_again=sum(len(each.looked_again) for each in took),
        perceive=sum(each.perceive_s for each in took) / whole,
        decide=sum(each.decide_s for each in took) / whole,
        act=sum(each.act_s for each in took) / whole,
        layers=Counter(each.layer for each in took if each.layer),
    )


def rows_by(
    by: Callable[[Result], str], results: Sequence[Result], fewest: Mapping[tuple[str, str, int], int]
) -> list[Row]:
    """Return a row for each group, in order of first appearance."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(by(result), []).append(result)
    return [row(name, group, fewest) for name, group in groups.items()]


def regressed(now: Share, before: Share) -> bool:
    """Return whether a share has fallen by more than chance explains: the intervals do not overlap."""
    return now.of > 0 and before.of > 0 and now.interval[1] < before.interval[0]
