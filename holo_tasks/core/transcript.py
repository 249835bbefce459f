"""The conversation of one sub-goal, as facts; a dialect turns it into messages.

Starts empty for each sub-goal: this is what resets the action history.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from holo_tasks.core.frame import Shot
from holo_tasks.core.step import Step


@dataclass(frozen=True)
class Observed:
    """A picture was shown to the model."""

    shot: Shot


@dataclass(frozen=True)
class Did:
    """The model's parsed step. Its raw text and its reasoning are not kept: they are never replayed."""

    step: Step


@dataclass(frozen=True)
class Told:
    """What came of the step before."""

    tool_name: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Correction:
    """What was wrong with the model's last reply: said once before it is asked again, never replayed."""

    tool: str
    text: str


Entry: TypeAlias = Observed | Did | Told


@dataclass(frozen=True)
class Transcript:
    """Task, then what was seen, done and told, in order."""

    task: str
    entries: tuple[Entry, ...] = ()

    def then(self, *entries: Entry) -> Transcript:
        """Return the transcript with these entries at its end."""
        return replace(self, entries=(*self.entries, *entries))

    @property
    def shots(self) -> tuple[Shot, ...]:
        """Every picture shown so far, oldest first."""
        return tuple(entry.shot for entry in self.entries if isinstance(entry, Observed))


def evicted(images: int, *, budget: int, batch: int = 1) -> int:
    """Say how many of the oldest images are left out of a request.

    It only ever grows with ``images``: an evicted image never returns. With ``batch`` 2 images go in
    pairs, so that every other request repeats the one before it word for word.
    """
    over = max(0, images - budget)
    return min(-(-over // batch) * batch, max(0, images - 1))
