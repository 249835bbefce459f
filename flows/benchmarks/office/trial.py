"""Common parts of tasks in office programs: a program, its files, and their required final state."""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.values import Item, Judgement
from holo_tasks import pursue
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.ports import ReportsElements
from holo_tasks.core.screen.geometry import Point
from holo_tasks.run.run import Run

WIDTH, HEIGHT = 1280, 800
PATIENCE_S = 60.0
NAMES = ("Ada", "Berta", "Cem", "Dunja", "Emil", "Farah", "Goran", "Hanna", "Ilse", "Jonas", "Kira", "Lew")


class OfficeTrial(ABC):
    """One task. Its oracle uses the program's current accessibility tree, the files, and the last action."""

    program: ClassVar[str]
    packages: ClassVar[str]
    """The Debian packages of the program and its accessibility support."""

    def __init__(self, item: Item, key: str, run: Run, work: Path) -> None:
        self.key, self.work, self.draw = key, work, drawn(item)
        self.turns: Sequence[Any] = ()
        """The agent's actions."""
        self.run, self._loop = run, asyncio.get_running_loop()
        self.goal = f"Task {item.name}: {self.asked()} When it is done, answer with the word done."

    @staticmethod
    @abstractmethod
    def prepare(item: Item, work: Path) -> list[str]:
        """Write the files, and return the command that starts the program."""

    @abstractmethod
    def asked(self) -> str:
        """Return the task in words."""

    @abstractmethod
    def fault(self) -> str:
        """Return the reason why the files are wrong, or an empty string if they are right."""

    @abstractmethod
    def next_act(self) -> Mapping[str, Any] | None:
        """Return the oracle's next action while the files are wrong."""

    async def run_agent(self) -> object:
        return await pursue(self.goal)

    def next_step(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        self.turns = turns
        return self.next_act() if self.fault() else {"tool_name": "answer", "content": "done"}

    async def judged(self, said: object) -> Judgement:
        wrong = await asyncio.to_thread(self.fault)
        return Judgement(right=not wrong, reward=float(not wrong), why=wrong)

    def last_act(self) -> tuple[Mapping[str, Any], int]:
        """Return the last successful call other than a wait, and the number of waits after it. Returns {} without one.

        On a busy machine an effect is visible late, and a repeated action would have a double effect.
        """
        done = [turn for turn in self.turns if not turn.failed]
        at = next((n for n in range(len(done) - 1, -1, -1) if done[n].tool != "wait"), None)
        return ({}, len(done)) if at is None else (done[at].call, len(done) - 1 - at)

    def tree(self) -> ElementTree:
        """Return the programs' current accessibility tree. Called from the oracle's thread."""
        assert isinstance(self.run.desktop, ReportsElements)
        return asyncio.run_coroutine_threadsafe(self.run.desktop.elements(), self._loop).result(PATIENCE_S)


def drawn(item: Item) -> tuple[str, list[str]]:
    """Return the random choices of an item: a name, and three people."""
    draw = random.Random(f"{item.task} {item.seed}")
    return f"list-{draw.randrange(100, 1000)}", draw.sample(NAMES, 3)


def click(at: Point, element: str, tool: str = "click") -> dict[str, Any]:
    """Return a click at a point of the screen as a model's call."""
    x, y = round(1000 * at.x / WIDTH), round(1000 * at.y / HEIGHT)
    return {"tool_name": tool, "element": element, "x": x, "y": y}


def drag(start: Point, end: Point, element: str) -> dict[str, Any]:
    """Return a drag from one point of the screen to another as a model's call."""
    (x1, y1), (x2, y2) = ((round(1000 * at.x / WIDTH), round(1000 * at.y / HEIGHT)) for at in (start, end))
    return {"tool_name": "drag_and_drop", "element": element, "x1": x1, "y1": y1, "x2": x2, "y2": y2}


def keys(*names: str) -> dict[str, Any]:
    """Return a key combination as a model's call."""
    return {"tool_name": "hotkey", "keys": list(names)}


def write(text: str, **more: Any) -> dict[str, Any]:
    """Return text for the focused element as a model's call."""
    return {"tool_name": "write", "content": text, **more}


WAIT = {"tool_name": "wait", "seconds": 0.5}
PATIENT = 8
"""Number of waits for an action's effect before the action is repeated."""
