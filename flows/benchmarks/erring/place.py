"""A task on a program, as the benchmark of an erring model needs it: its oracle, its judge, and its work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchmarks.erring.errors import Call, Control, Kind, Meant, Mind
from holo_tasks.core.geometry import Size
from holo_tasks.desktop import VirtualDesktop

SIZE = Size(1280, 800)


@dataclass(frozen=True)
class Verdict:
    """What a judge found outside the screen.

    ``right`` is true if the wanted effect is there once and nothing else was done. ``wrong`` names each effect that
    nobody wanted, a doubled one among them.
    """

    right: bool
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Started:
    """What a desktop is started with."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    size: Size = SIZE


class Place(Protocol):
    """One task with one seed, on a program of its own in a folder of its own."""

    goal: str
    """The task as the library's model is told it."""
    told: str
    """The same for the naive loop, which types passwords as they are."""
    started: Started

    async def ready(self, desktop: VirtualDesktop) -> None:
        """Do what is to be done once the program is up."""
        ...

    def mind(self) -> Mind:
        """Return the mind of a model that has just read the task."""
        ...

    def controls(self) -> Sequence[Control]:
        """Return the controls that are on the screen now."""
        ...

    def meant(self, mind: Mind) -> Meant | None:
        """Return the right next step, by the state of the program now and the values that the model believes."""
        ...

    def answers(self, number: int) -> Mapping[Kind, Call]:
        """Return the false answers of a model that stops too early or invents a success."""
        ...

    async def worked(self, arm: str) -> object:
        """Have the agent work on it, with nothing declared ("plain") or with all that can be declared ("declared")."""
        ...

    async def judged(self) -> Verdict:
        """Say what is found outside the screen; waits for effects that may come late."""
        ...


def answer(content: str) -> Call:
    """Return an answer as a model calls it."""
    return {"tool_name": "answer", "content": content}


def fresh(folder: Path) -> Path:
    """Return a folder, made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder
