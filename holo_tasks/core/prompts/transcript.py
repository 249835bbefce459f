"""The conversation of one sub-goal in structured form, which a dialect turns into messages.

It starts empty for each sub-goal, which resets the action history.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from holo_tasks.core.prompts.step import Step
from holo_tasks.core.screen.frame import Shot

KEPT_TURNS = 4
NOTES_BYTES = 12_000
LEFT_OUT = "\n\nEarlier steps left out: "


@dataclass(frozen=True)
class Strip:
    """Small pictures of the last actions, shown before the screen if the model is stuck."""

    shot: Shot
    actions: int


@dataclass(frozen=True)
class Observed:
    """A picture was shown to the model."""

    shot: Shot
    strip: Strip | None = None

    @property
    def pictures(self) -> tuple[Shot, ...]:
        return (self.shot,) if self.strip is None else (self.strip.shot, self.shot)


@dataclass(frozen=True)
class ModelStep:
    """The model's parsed step. Its raw text is not stored, because it is never replayed."""

    step: Step


@dataclass(frozen=True)
class StepResult:
    """The result of the previous step. ``unsent`` is true if no input was sent because the screen had changed."""

    tool_name: str
    text: str
    is_error: bool = False
    unsent: bool = False


@dataclass(frozen=True)
class Correction:
    """The error in the model's last reply. It is sent once before the model is asked again, and never replayed."""

    tool: str
    text: str


Entry: TypeAlias = Observed | ModelStep | StepResult


@dataclass(frozen=True)
class Turn:
    """One step, with the screen it was decided on and the screen after it."""

    before: Shot
    step: Step
    after: Shot


@dataclass(frozen=True)
class Transcript:
    """The task and then the pictures, steps and results in order.

    ``left_out`` counts the oldest steps that were removed because the model's context is full. ``pictures_left_out``
    counts the pictures in them, and ``notes`` holds the model's notes from them.
    """

    task: str
    entries: tuple[Entry, ...] = ()
    left_out: int = 0
    pictures_left_out: int = 0
    notes: tuple[str, ...] = ()
    surroundings: str = ""
    """Description of the machine, the same in all conversations of a run. It comes before the task."""

    def extended(self, *entries: Entry) -> Transcript:
        """Return the transcript with these entries appended."""
        return replace(self, entries=(*self.entries, *entries))

    def also(self, shot: Shot, text: str) -> Transcript:
        """Return the transcript with the newest picture replaced and a text added.

        The text is appended to the result of the last step or, before the first step, to the task.
        """
        entries, task = list(self.entries), self.task
        last = entries[-1]
        assert isinstance(last, Observed)
        entries[-1] = replace(last, shot=shot)
        reported = entries[-2] if len(entries) > 1 else None
        if text and isinstance(reported, StepResult):
            entries[-2] = replace(reported, text=f"{reported.text}\n{text}")
        elif text:
            task = f"{task}\n\n{text}"
        return replace(self, task=task, entries=tuple(entries))

    @property
    def opening(self) -> str:
        """The first message: the surroundings, the task, and the number and notes of the removed steps."""
        task = f"{self.surroundings}\n\n{self.task}" if self.surroundings else self.task
        if not self.left_out:
            return task
        noted = " Noted in them:" + "".join(f"\n- {note}" for note in self.notes) if self.notes else ""
        return f"{task}{LEFT_OUT}{self.left_out}.{noted}"

    @property
    def pictures(self) -> tuple[Shot, ...]:
        """All pictures that are still in the transcript, oldest first."""
        return tuple(shot for entry in self.entries if isinstance(entry, Observed) for shot in entry.pictures)

    @property
    def call_ids(self) -> frozenset[str]:
        """The ids of the calls that are still in the transcript."""
        return frozenset(entry.step.call_id for entry in self.entries if isinstance(entry, ModelStep))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The completed steps, oldest first."""
        found: list[Turn] = []
        before: Shot | None = None
        step: Step | None = None
        for entry in self.entries:
            if isinstance(entry, ModelStep):
                step = entry.step
            elif isinstance(entry, Observed):
                if before is not None and step is not None:
                    found.append(Turn(before, step, entry.shot))
                before, step = entry.shot, None
        return tuple(found)

    def compacted(self, notes_bytes: int = NOTES_BYTES) -> Transcript | None:
        """Return the transcript without the older half of its steps, or ``None`` if only one is left.

        Half the steps go at once, so that the requests until the next cut have the same prefix. The newest few steps go
        one at a time. The newest ``notes_bytes`` of the removed notes are kept.
        """
        starts = [place for place, entry in enumerate(self.entries) if isinstance(entry, Observed)]
        if len(starts) <= 2:
            return None
        drop = max(1, min(len(starts) // 2, len(starts) - 1 - KEPT_TURNS))
        gone = self.entries[: starts[drop]]
        pictures = sum(len(entry.pictures) for entry in gone if isinstance(entry, Observed))
        noted = [entry.step.note.strip() for entry in gone if isinstance(entry, ModelStep) and entry.step.note]
        notes = dict.fromkeys((*self.notes, *(note for note in noted if note)))
        return replace(
            self,
            entries=self.entries[starts[drop] :],
            left_out=self.left_out + drop,
            pictures_left_out=self.pictures_left_out + pictures,
            notes=_newest(tuple(notes), notes_bytes),
        )

    def evicted(self, *, budget: int, batch: int) -> int:
        """Return the number of oldest pictures to leave out of a request. A strip stays with the newest screen."""
        last = next((entry for entry in reversed(self.entries) if isinstance(entry, Observed)), None)
        newest = min(budget, len(last.pictures)) if last else 1
        gone = self.pictures_left_out
        return max(0, evicted(gone + len(self.pictures), budget=budget, batch=batch, newest=newest) - gone)


def _newest(notes: tuple[str, ...], room: int) -> tuple[str, ...]:
    """Return the newest notes that fit, in order. A note that is too long alone is cut."""
    kept: list[str] = []
    for note in reversed(notes):
        size = len(note.encode()) + len("\n- ")
        if size > room:
            break
        kept.append(note)
        room -= size
    if notes and not kept:
        kept = [notes[-1].encode()[:room].decode(errors="ignore") + "…"]
    return tuple(reversed(kept))


def evicted(images: int, *, budget: int, batch: int = 1, newest: int = 1) -> int:
    """Return the number of oldest images to leave out of a request, never one of the ``newest``.

    It never decreases as ``images`` grows, so an evicted image never returns. With ``batch`` 2, images go in pairs, so
    that every other request repeats the one before it word for word.
    """
    over = max(0, images - budget)
    return min(-(-over // batch) * batch, max(0, images - newest))
