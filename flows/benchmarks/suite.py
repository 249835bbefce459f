"""Protocols of a suite of tasks: its desktops, its trials, and their judgement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from benchmarks.values import Item, Judgement
from holo_blocks import HoloDesktop
from holo_tasks.run.run import Run


class Trial(Protocol):
    """One item, set up on a desktop."""

    goal: str
    """Beginning of its conversation."""
    key: str
    """Key of its evidence."""

    async def run_agent(self) -> object:
        """Let the agent work on the item, as a flow would; return its answer."""
        ...

    def next_step(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        """Return an oracle's next tool call, from the program's current state.

        Returns None if the oracle knows no next step, or if a playbook plays.
        """
        ...

    async def judged(self, said: object) -> Judgement:
        """Judge the state of the program itself. ``said`` is the agent's answer, or None."""
        ...


class Suite(Protocol):
    """Tasks of one kind."""

    name: str
    about: str
    every: tuple[str, ...]
    tasks: tuple[str, ...]
    """The tasks that an oracle can do."""
    quick: tuple[str, ...]
    """The tasks that `make benchmark` runs."""
    scales: tuple[float, ...]
    """The scales that make a difference. A suite that does not scale has only 1."""

    def missing(self) -> str:
        """Return the missing requirement of this machine, or an empty string. Lists only tasks that can run here."""
        ...

    def program(self, item: Item) -> str:
        """Return the key of items that share desktops."""
        ...

    def desktop(self, folder: Path, item: Item) -> HoloDesktop:
        """Return the desktop for an item and similar ones. ``folder`` is for the files of its programs."""
        ...

    def trial(self, item: Item, key: str, run: Run, folder: Path) -> AbstractAsyncContextManager[Trial]:
        """Set an item up on the desktop of a run. Its work is recorded under the key."""
        ...
