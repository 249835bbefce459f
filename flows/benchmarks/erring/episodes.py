"""Episodes: one task with one seed, done in one arm by a model that errs at one rate; and the file of results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from benchmarks.erring.errors import drawn

Arm: TypeAlias = Literal["naive", "plain", "declared"]
ARMS: tuple[Arm, ...] = ("naive", "plain", "declared")
NASTY = ("double", "lookalike", "popups", "shift", "deaf", "expiry")
"""Kinds of nasty cashbooks. The other kinds need a person."""
PAGES = ("click-button", "click-checkboxes", "enter-text", "login-user", "form-sequence-2", "email-inbox-forward")
"""MiniWoB++ pages on which clicks and typing are enough: the naive loop can do nothing else."""
OFFICE = ("calc", "mail", "note")
"""Real office programs: LibreOffice Calc, Claws Mail, Mousepad."""
PROBED = ("ledger", *NASTY, "mail")
"""Tasks whose declared arm has a probe."""
TASKS = ("ledger", *NASTY, *PAGES, *OFFICE)
RIGHT, SILENT, OVER = "done right", "silently wrong", "handed over"


class Made(BaseModel):
    """An error that the model made: its call, its kind, the guard that withheld it, and the guard's reason.

    ``reported`` is the guard that reported a difference after the input.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    kind: str
    guard: str = ""
    reason: str = ""
    reported: str = ""
    meant: str = ""
    given: str = ""


class Episode(BaseModel):
    """Outcome of an episode. ``wrong`` lists unwanted effects outside the screen.

    ``needless`` counts the refused actions that were right, by guard, and ``refusals`` has their calls and reasons.
    ``asked`` counts the steps that the model has decided, also those after the last recorded reply.
    ``run_at`` is the rate of the run if the model made the same errors at that rate; ``None`` if it ran at ``rate``.
    """

    model_config = ConfigDict(frozen=True)

    arm: str
    rate: float
    task: str
    seed: int
    status: str
    reason: str = ""
    right: bool = False
    wrong: tuple[str, ...] = ()
    calls: int = 0
    asked: int = 0
    actions: int = 0
    micro_usd: int = 0
    seconds: float = 0.0
    errors: tuple[Made, ...] = ()
    needless: dict[str, int] = {}
    refusals: tuple[str, ...] = ()
    trace: str = ""
    run_at: float | None = None

    @property
    def key(self) -> tuple[str, float, str, int]:
        return self.arm, self.rate, self.task, self.seed

    @property
    def word(self) -> str:
        """Outcome in words. A wrong answer is silently wrong: the status is *answered*, so no person looks at it."""
        if self.status != "answered":
            return OVER
        return RIGHT if self.right else SILENT

    @property
    def missing(self) -> bool:
        """Whether the model said that it is done, and the program holds no effect at all."""
        return self.word == SILENT and not self.wrong


class Shelf:
    """File of finished episodes, one a line. A run skips the episodes in it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "episodes.jsonl"

    def read(self) -> dict[tuple[str, float, str, int], Episode]:
        """Return all episodes by their keys. Skips a line that a kill has cut off."""
        found: dict[tuple[str, float, str, int], Episode] = {}
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else ():
            try:
                one = Episode.model_validate(json.loads(line))
            except ValueError:
                continue
            found[one.key] = one
        return found

    def keep(self, one: Episode) -> None:
        """Write an episode down."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(one.model_dump_json() + "\n")


def same_at(rate: float, arm: str, task: str, seed: int, done: Iterable[Episode]) -> Episode | None:
    """Return the outcome at a rate, from a run of this arm at another rate in which the model made the same errors.

    Whether the model errs at a call depends on the task, the seed and the number of the call alone. So two rates have
    the same run if they draw the same errors up to its last call. Returns ``None`` without such a run.
    """
    for one in done:
        asked = max(one.asked, one.calls)
        if (one.arm, one.task, one.seed) != (arm, task, seed) or one.run_at is not None or not asked:
            continue
        calls = range(asked)
        if errors_at(task, seed, rate, calls) == errors_at(task, seed, one.rate, calls):
            return one.model_copy(update={"rate": rate, "run_at": one.rate})
    return None


def errors_at(task: str, seed: int, rate: float, calls: Iterable[int]) -> list[int]:
    """Return the calls at which the model errs."""
    return [number for number in calls if drawn(task, seed, number, rate) is not None]


def steps_of(every: Iterable[Episode]) -> int:
    """Return how many calls some episodes took."""
    return sum(one.calls for one in every)
