"""Values of a benchmark: items, outcomes, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Word: TypeAlias = Literal["success", "handed over", "silent wrong", "over-halt", "error"]
STOPPED = ("refused", "needs_person", "limit", "killed")
"""Endings of a run in which the product stopped by itself."""


@dataclass(frozen=True)
class Item:
    """One task with one seed at one scale. It runs once per benchmark."""

    suite: str
    task: str
    seed: int
    scale: float = 1.0

    @property
    def name(self) -> str:
        scale = "" if self.scale == 1.0 else f" at {self.scale:g}"
        return f"{self.suite} {self.task} {self.seed}{scale}"


class Judgement(BaseModel):
    """A judge's verdict on an item, based on the program's own state and not on the agent's answer."""

    model_config = ConfigDict(frozen=True)

    right: bool
    reward: float = 0.0
    why: str = ""
    halt_is_right: bool = False
    """Whether stopping and asking a person is right, for example if only a person can know the answer."""


class Outcome(BaseModel):
    """Outcome of an item. ``trace`` and ``key`` locate its evidence."""

    model_config = ConfigDict(frozen=True)

    suite: str
    task: str
    seed: int
    scale: float
    status: str
    reason: str = ""
    judged: Judgement
    trace: str = ""
    key: str = ""

    @property
    def item(self) -> Item:
        return Item(self.suite, self.task, self.seed, self.scale)

    @property
    def word(self) -> Word:
        """Return the class of the outcome.

        A silent wrong is an answer that the judge finds wrong: without the judge it would go unnoticed.
        """
        if self.status == "answered":
            return "success" if self.judged.right else "silent wrong"
        if self.judged.halt_is_right and self.status in STOPPED:
            return "handed over"
        return "over-halt" if self.status in STOPPED else "error"

    @property
    def good(self) -> bool:
        return self.word in ("success", "handed over")


class Took(BaseModel):
    """Effort and time of an item, from its evidence."""

    model_config = ConfigDict(frozen=True)

    seconds: float = 0.0
    steps: int = 0
    calls: int = 0
    micro_usd: int | None = 0
    perceive_s: float = 0.0
    decide_s: float = 0.0
    act_s: float = 0.0
    layer: str = ""
    looked_again: tuple[str, ...] = ()
    """Reason of each time that input was held back for another capture."""
    corrections: int = 0
    before: str = ""
    after: str = ""


class Result(BaseModel):
    """An outcome with its effort and time."""

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    took: Took
