"""Tables of episodes: outcomes by arm and rate, errors by kind and guard, and the aims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.erring.episodes import ARMS, OVER, PROBED, RIGHT, SILENT, Episode, Made, steps_of
from benchmarks.erring.errors import ABOUT, KINDS
from benchmarks.figures import Share

UNCATCHABLE = "wrong_value"
"""The kind that no guard can catch: the model means the digit, and the field holds it."""
NO_ACTION = (UNCATCHABLE, "early", "invented")
"""Kinds that no check of a click or a key can tell from the model's intention."""
LEAST_TIMES_FEWER = 20
MOST_NEEDLESS = 0.003
Cells = Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table: its title, its columns and its rows."""

    title: str
    columns: Cells
    rows: Sequence[Cells]

    def markdown(self) -> str:
        """Write the table in Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join([f"{self.title}:", "", *(f"| {' | '.join(cells)} |" for cells in lines), ""])

    def plain(self) -> str:
        """Write the table for a terminal."""
        every = [self.columns, *self.rows]
        wide = [max(len(row[place]) for row in every) for place in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip() for row in every]
        return "\n".join([self.title, *(f"  {line}" for line in lines), ""])


def share(count: int, of: int) -> str:
    """Write a share with its interval."""
    return f"{count} of {of}" if not of else f"{Share(count, of)}"


def needless(every: Sequence[Episode]) -> Share:
    """Return the share of actions that were withheld without need."""
    return Share(sum(sum(one.needless.values()) for one in every), sum(one.actions for one in every))


def by_rate(episodes: Sequence[Episode]) -> Table:
    """Return a line for each rate and arm."""
    rows = []
    for rate in sorted({one.rate for one in episodes}):
        for arm in ARMS:
            mine = [one for one in episodes if (one.arm, one.rate) == (arm, rate)]
            if not mine:
                continue
            rows.append((f"{rate:.0%}", arm, *_cells(mine)))
    columns = (
        *("errors a step", "arm", "tasks", "run at this rate", "calls", "done right", "silently wrong"),
        *("of these a wrong effect", "of these none", "handed over", "withheld without need", "USD"),
    )
    return Table("Outcomes of the tasks", columns, rows)


def _cells(mine: Sequence[Episode]) -> Cells:
    """Return the cells of one arm at one rate."""
    words, refused = Counter(one.word for one in mine), needless(mine)
    missing = sum(one.missing for one in mine)
    left = sum(bool(one.wrong) for one in mine if one.word == OVER)
    return (
        str(len(mine)),
        str(sum(one.run_at is None for one in mine)),
        str(steps_of(mine)),
        share(words[RIGHT], len(mine)),
        share(words[SILENT], len(mine)),
        str(words[SILENT] - missing),
        str(missing),
        f"{share(words[OVER], len(mine))}{f', {left} with a wrong effect' if left else ''}",
        f"{refused.count} of {refused.of}",
        f"{sum(one.micro_usd for one in mine) / 1e6:.2f}",
    )


def by_task(episodes: Sequence[Episode]) -> Table:
    """Return a line for each task, with its outcomes in each arm at all rates above 0. Shared runs count once."""
    rows = []
    for task in dict.fromkeys(one.task for one in episodes if one.rate):
        cells = [task]
        for arm in ARMS:
            mine = Counter(
                one.word for one in episodes if (one.arm, one.task) == (arm, task) and one.rate and one.run_at is None
            )
            cells.append(" / ".join(str(mine[word]) for word in (RIGHT, SILENT, OVER)))
        rows.append(cells)
    return Table("By task, at all rates above 0: right / silently wrong / handed over", ("task", *ARMS), rows)


def by_kind(episodes: Sequence[Episode], arm: str) -> Table:
    """Return a line for each kind of error: its number, the guards that withheld it, and the outcomes of its tasks."""
    runs = [one for one in episodes if one.arm == arm and one.run_at is None]
    made: list[tuple[Episode, Made]] = [(one, each) for one in runs for each in one.errors]
    rows = []
    for kind in KINDS:
        mine = [(one, each) for one, each in made if each.kind == kind]
        guards = Counter(each.guard for _, each in mine if each.guard)
        through = [one for one, each in mine if not each.guard]
        words = Counter(one.word for one in through)
        caught = ", ".join(f"{name} {count}" for name, count in guards.most_common()) or "–"
        reported = sum(bool(each.reported) for _, each in mine if not each.guard)
        alone = [one for one in through if {each.kind for each in one.errors if not each.guard} == {kind}]
        wrong = sum(one.word == SILENT for one in alone)
        rows.append(
            (
                *(kind.replace("_", " "), ABOUT[kind], str(len(mine)), str(guards.total()), caught, str(reported)),
                *(str(words[RIGHT]), str(words[OVER]), str(words[SILENT]), f"{wrong} of {len(alone)}"),
            )
        )
    columns = (
        *("kind", "", "made", "withheld", "by which guard", "reported by the read-back"),
        *(
            "went through, right in the end",
            "handed over",
            "silently wrong",
            "silently wrong, the only kind",
        ),
    )
    return Table(f"By kind of error, {arm}", columns, rows)


@dataclass(frozen=True)
class Aim:
    """An aim and its figures. ``met`` is ``None`` without figures."""

    name: str
    found: str
    met: bool | None

    def __str__(self) -> str:
        word = {True: "PASS", False: "FAIL", None: "----"}[self.met]
        return f"{word}  {self.name}: {self.found}"


def aims(episodes: Sequence[Episode]) -> list[Aim]:
    """Return the aims of the benchmark."""
    erring = [one for one in episodes if one.rate and one.run_at is None]
    found = [_fewer("", erring), _fewer(" by a click or a key", _without(erring, NO_ACTION))]
    declared = [one for one in erring if one.arm == "declared" and one.task in PROBED]
    wrong = [one for one in declared if one.wrong]
    digits = sum(any(each.kind == UNCATCHABLE and not each.guard for each in one.errors) for one in wrong)
    found.append(
        Aim(
            "declared, with a probe: no wrong or doubled effect",
            f"{len(wrong)} of {len(declared)}, {digits} of them after a wrong digit",
            not wrong if declared else None,
        )
    )
    for arm in ("plain", "declared"):
        mine = needless([one for one in episodes if one.arm == arm and not one.rate])
        within = mine.count <= MOST_NEEDLESS * mine.of if mine.of else None
        found.append(Aim(f"{arm}, at 0 %: at most 0.3 % of actions withheld", f"{mine.count} of {mine.of}", within))
    return found


def _paired(episodes: Iterable[Episode], *arms: str) -> list[list[Episode]]:
    """Return the episodes of some arms whose rate, task and seed all these arms have done."""
    by_arm = {arm: {one.key[1:]: one for one in episodes if one.arm == arm} for arm in arms}
    both = set.intersection(*(set(mine) for mine in by_arm.values()))
    return [[one for key, one in mine.items() if key in both] for mine in by_arm.values()]


def _without(episodes: Iterable[Episode], kinds: Sequence[str]) -> list[Episode]:
    """Return the tasks in which the model has not made an error of these kinds in any arm."""
    every = list(episodes)
    with_it = {(one.rate, one.task, one.seed) for one in every if any(each.kind in kinds for each in one.errors)}
    return [one for one in every if (one.rate, one.task, one.seed) not in with_it]


def _fewer(of: str, episodes: Sequence[Episode]) -> Aim:
    """Say whether the plain arm is silently wrong at most 1 in 20 times as often as the naive one.

    Only tasks and seeds that both arms have done count.
    """
    naive, plain = _paired(episodes, "naive", "plain")
    shares = [Share(sum(one.word == SILENT for one in mine), len(mine)) for mine in (naive, plain)]
    met = None
    if shares[1].of and shares[0].count:  # of a naive loop that is never wrong, nothing is 1 in 20
        met = shares[1].count / shares[1].of * LEAST_TIMES_FEWER <= shares[0].count / shares[0].of
    return Aim(f"plain, silently wrong{of}: at most 1 in 20 of the naive loop's", f"{shares[1]} to {shares[0]}", met)


def tables(episodes: Sequence[Episode]) -> list[Table]:
    """Return all tables."""
    kinds = [by_kind(episodes, arm) for arm in ARMS if any(one.arm == arm and one.errors for one in episodes)]
    return [by_rate(episodes), by_task(episodes), *kinds]
