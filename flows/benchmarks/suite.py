"""What a suite of tasks is: how its desktop is made, how a task is set up, and who judges it."""

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
    """What its conversation begins with."""
    key: str
    """Under which its evidence is."""

    async def worked(self) -> object:
        """Let the agent work on it, as a flow would; return its answer."""
        ...

    def next_step(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        """Return the step that an oracle takes here: a tool call, by the state of the program as it is now.

        None if it knows no next step, or where another one plays.
        """
        ...

    async def judged(self, said: object) -> Judgement:
        """Say what the program itself holds by now; ``said`` is the answer, None if there is none."""
        ...


class Suite(Protocol):
    """Tasks of one kind."""

    name: str
    about: str
    every: tuple[str, ...]
    tasks: tuple[str, ...]
    """Those of all that an oracle can do."""
    quick: tuple[str, ...]
    """The tasks that `make benchmark` runs."""
    scales: tuple[float, ...]
    """The scales at which there is something to see; one that does not scale has 1 alone."""

    def why_not(self) -> str:
        """Say what is missing on this machine, empty if nothing is: its tasks are those that can be done."""
        ...

    def program(self, item: Item) -> str:
        """Return what items have in common that are done on the same desktops."""
        ...

    def desktop(self, folder: Path, item: Item) -> HoloDesktop:
        """Return the desktop for an item and those like it; ``folder`` is for what its programs keep."""
        ...

    def trial(self, item: Item, key: str, run: Run, folder: Path) -> AbstractAsyncContextManager[Trial]:
        """Set an item up on the desktop of a run; what is done for it is under a key."""
        ...
