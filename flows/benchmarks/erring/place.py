"""A task on a program, as the benchmark of an erring model needs it: its oracle, its judge, and its work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchmarks.erring.errors import Call, Control, Kind, Meant, Mind
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop

SIZE = Size(1280, 800)


@dataclass(frozen=True)
class Verdict:
    """Finding of a judge outside the screen.

    ``right`` is true if the program holds the wanted effect once and no other effect. ``wrong`` names each unwanted
    effect, also a doubled one.
    """

    right: bool
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Started:
    """Command and settings of a desktop."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    size: Size = SIZE


class Place(Protocol):
    """One task with one seed, on a program of its own in a folder of its own."""

    goal: str
    """The task in words, for the library."""
    goal_with_password: str
    """The task in words, for the naive loop. It holds the password itself."""
    started: Started

    async def ready(self, desktop: VirtualDesktop) -> None:
        """Prepare the task after the program has started."""
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

    async def run_agent(self, arm: str) -> object:
        """Have the agent work on it in an arm: "plain" declares nothing, "declared" all that can be declared."""
        ...

    async def judged(self) -> Verdict:
        """Return the finding outside the screen, after a wait for late effects."""
        ...


def answer(content: str) -> Call:
    """Return an answer as a model calls it."""
    return {"tool_name": "answer", "content": content}


def fresh(folder: Path) -> Path:
    """Return a folder, made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder
