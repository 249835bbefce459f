"""Storage of benchmark results: one folder for each benchmark, with its history and comparisons."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from benchmarks.figures import Share, regressed, task_of
from benchmarks.values import Result
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.private import make_private

PLAN, RESULTS, TABLE, PAGE = "plan.json", "results.json", "results.csv", "index.html"
COLUMNS = (
    *("suite", "task", "seed", "scale", "word", "status", "reward", "why", "reason", "seconds", "steps", "calls"),
    *("micro_usd", "perceive_s", "decide_s", "act_s", "layer", "looked_again", "corrections", "trace", "key"),
)


class Plan(BaseModel):
    """The plan of a benchmark. A benchmark started again with the same plan resumes."""

    model_config = ConfigDict(frozen=True)

    suites: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    scales: tuple[float, ...] = (1.0,)
    model: str = ""
    tree: bool = False
    replay: bool = False

    @property
    def played(self) -> str:
        """Return the name of the decider: the model or the oracle."""
        return f"the model {self.model}" if self.model else "the oracle, which is not a model"

    @property
    def asked(self) -> str:
        """Return a summary of the items in one line."""
        tasks = f"the tasks {', '.join(self.tasks)}" if self.tasks else "all that an oracle can do"
        seeds = f"seeds {self.seeds[0]} to {self.seeds[-1]}" if len(self.seeds) > 1 else f"seed {self.seeds[0]}"
        scales = ", ".join(f"{scale:g}" for scale in self.scales)
        suites = ", ".join(self.suites)
        return f"Suites: {suites} · {tasks} · {seeds} · scales: {scales} · decided by {self.conditions}"

    @property
    def conditions(self) -> str:
        """Return the settings in which benchmarks of the same items may differ."""
        more = (", with the tree" if self.tree else "", ", by playbooks first" if self.replay else "")
        return f"{self.played}{''.join(more)}"


@dataclass(frozen=True)
class Kept:
    """A benchmark's stored results."""

    name: str
    plan: Plan
    results: tuple[Result, ...]

    @property
    def success(self) -> Share:
        return Share(sum(result.outcome.good for result in self.results), len(self.results))


class Shelf:
    """The folder of all benchmarks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_private(folder)

    def place(self, name: str) -> Path:
        """Return the folder of a benchmark."""
        if not name or name.startswith(".") or set(name) & set("/\\:"):
            raise InvalidUsage(f"{name!r} is not a name for a benchmark: use letters, digits and dashes.")
        return self.folder / name

    def begin(self, name: str, plan: Plan) -> Path:
        """Return its folder, created if necessary. An existing one must have the same plan."""
        place = self.place(name)
        make_private(place)
        file = place / PLAN
        if file.exists():
            if Plan.model_validate_json(file.read_text()) != plan:
                raise InvalidUsage(
                    f"The benchmark {name!r} was started with other options: give those, or another name."
                )
        else:
            file.write_text(plan.model_dump_json(indent=1))
        return place

    def unfinished(self, plan: Plan) -> str:
        """Return the name of the last benchmark with this plan if it is unfinished, otherwise an empty string."""
        begun = sorted(self.folder.glob(f"*/{PLAN}"), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in begun:
            if Plan.model_validate_json(file.read_text()) == plan:
                return "" if (file.parent / RESULTS).exists() else file.parent.name
        return ""

    def keep(self, name: str, results: Sequence[Result]) -> None:
        """Store a benchmark's results as JSON and as a CSV table."""
        place = self.place(name)
        with (place / TABLE).open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows(map(line, results))
        reported = [result.model_dump(mode="json") for result in results]
        (place / RESULTS).write_text(json.dumps(reported, indent=1), encoding="utf-8")

    def read(self, name: str) -> Kept:
        """Return the results of a finished benchmark."""
        place = self.place(name)
        try:
            reported = json.loads((place / RESULTS).read_text(encoding="utf-8"))
            plan = Plan.model_validate_json((place / PLAN).read_text(encoding="utf-8"))
        except FileNotFoundError:
            known = ", ".join(kept.name for kept in self.all()) or "none yet"
            raise InvalidUsage(
                f"{self.folder} has no results of a benchmark {name!r}. It has results of: {known}."
            ) from None
        return Kept(name, plan, tuple(map(Result.model_validate, reported)))

    def all(self) -> list[Kept]:
        """Return all finished benchmarks, oldest first."""
        done = sorted(self.folder.glob(f"*/{RESULTS}"), key=lambda file: file.stat().st_mtime)
        return [self.read(file.parent.name) for file in done]

    def fewest(self) -> dict[tuple[str, str, int], int]:
        """Return the fewest steps in which each task with each seed was ever completed."""
        known: dict[tuple[str, str, int], int] = {}
        for kept in self.all():
            for result in kept.results:
                if result.outcome.word == "success":
                    of = task_of(result.outcome.item)
                    known[of] = min(known.get(of, result.took.steps), result.took.steps)
        return known


def line(result: Result) -> dict[str, Any]:
    """Return a result as a row of the CSV table."""
    outcome, took = result.outcome, result.took
    return {
        **{name: getattr(outcome, name) for name in ("suite", "task", "seed", "scale", "word", "status", "reason")},
        "reward": f"{outcome.judged.reward:g}",
        "why": outcome.judged.why,
        **{name: getattr(took, name) for name in ("steps", "calls", "micro_usd", "layer", "corrections")},
        **{name: f"{getattr(took, name):.3f}" for name in ("seconds", "perceive_s", "decide_s", "act_s")},
        "looked_again": len(took.looked_again),
        "trace": outcome.trace,
        "key": outcome.key,
    }


@dataclass(frozen=True)
class Past:
    """One benchmark in the history of a plan, with its regressions against the one before."""

    name: str
    success: Share
    silent_wrong: int
    worse: tuple[str, ...]


def history(kept: Sequence[Kept]) -> list[Past]:
    """Return benchmarks of one plan in order, each with its regressions against the one before.

    A regression is a success share whose interval lies below the other's, more silent wrongs, or a task whose seeds had
    all succeeded and no longer do.
    """
    reported: list[Past] = []
    before: Kept | None = None
    for each in kept:
        worse: list[str] = []
        wrongs = sum(result.outcome.word == "silent wrong" for result in each.results)
        if before is not None:
            if regressed(each.success, before.success):
                worse.append("fewer succeed")
            if reported and wrongs > reported[-1].silent_wrong:
                worse.append("more silent wrongs")
            worse += sorted(_all_good(before) - _all_good(each))
        reported.append(Past(each.name, each.success, wrongs, tuple(worse)))
        before = each
    return reported


def _all_good(kept: Kept) -> set[str]:
    """Return the tasks whose items were all successful."""
    found: dict[str, bool] = {}
    for result in kept.results:
        task = f"{result.outcome.suite} {result.outcome.task}"
        found[task] = found.get(task, True) and result.outcome.good
    return {task for task, good in found.items() if good}


def compared(first: Kept, second: Kept) -> list[dict[str, str]]:
    """Return the items with different outcomes, of those in both benchmarks."""
    others = {result.outcome.item: result for result in second.results}
    rows = []
    for result in first.results:
        other = others.get(result.outcome.item)
        if other is not None and other.outcome.word != result.outcome.word:
            item = result.outcome.item
            rows.append({"item": item.name, first.name: result.outcome.word, second.name: other.outcome.word})
    return rows
