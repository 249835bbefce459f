"""What tasks on office programs have in common: a program, files, and what is to become of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.values import Item, Judgement
from holo_tasks import pursue
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.ports import TellsElements
from holo_tasks.core.screen.geometry import Point
from holo_tasks.run.run import Run

WIDTH, HEIGHT = 1280, 800
PATIENCE_S = 60.0
NAMES = ("Ada", "Berta", "Cem", "Dunja", "Emil", "Farah", "Goran", "Hanna", "Ilse", "Jonas", "Kira", "Lew")


class OfficeTrial:
    """One task. Its oracle goes by what the program's tree tells now, by the files, and by what was done last."""

    program: ClassVar[str]
    packages: ClassVar[str]
    """The Debian packages that the program and its tree are in."""

    def __init__(self, item: Item, key: str, run: Run, work: Path) -> None:
        self.key, self.work, self.draw = key, work, drawn(item)
        self.turns: Sequence[Any] = ()
        """What the agent has done by now."""
        self.run, self._loop = run, asyncio.get_running_loop()
        self.goal = f"Task {item.name}: {self.asked()} When it is done, answer with the word done."

    @staticmethod
    def prepare(item: Item, work: Path) -> list[str]:
        """Put the files there, and return the command that starts the program."""
        raise NotImplementedError

    def asked(self) -> str:
        """Return what is to be done, in words."""
        raise NotImplementedError

    def why_wrong(self) -> str:
        """Say what is not right about the files; nothing if they are as they are to be."""
        raise NotImplementedError

    def next_act(self) -> Mapping[str, Any] | None:
        """Return what an oracle does as long as the files are not right."""
        raise NotImplementedError

    async def worked(self) -> object:
        return await pursue(self.goal)

    def next_step(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        self.turns = turns
        return self.next_act() if self.why_wrong() else {"tool_name": "answer", "content": "done"}

    async def judged(self, said: object) -> Judgement:
        wrong = await asyncio.to_thread(self.why_wrong)
        return Judgement(right=not wrong, reward=float(not wrong), why=wrong)

    def last_act(self) -> tuple[Mapping[str, Any], int]:
        """Return the last call that was carried out and no wait, and how often was waited since; {} if there is none.

        On a busy machine a program tells late what came of it: to do it again would do it twice.
        """
        done = [turn for turn in self.turns if not turn.failed]
        at = next((n for n in range(len(done) - 1, -1, -1) if done[n].tool != "wait"), None)
        return ({}, len(done)) if at is None else (done[at].call, len(done) - 1 - at)

    def tree(self) -> ElementTree:
        """Return what the programs tell of their elements now; asked for from the oracle's thread."""
        assert isinstance(self.run.desktop, TellsElements)
        return asyncio.run_coroutine_threadsafe(self.run.desktop.elements(), self._loop).result(PATIENCE_S)


def drawn(item: Item) -> tuple[str, list[str]]:
    """Return what the seed decides: a name, and three people."""
    draw = random.Random(f"{item.task} {item.seed}")
    return f"list-{draw.randrange(100, 1000)}", draw.sample(NAMES, 3)


def click(at: Point, element: str, tool: str = "click") -> dict[str, Any]:
    """Return a click at a place of the screen, as a model calls it."""
    x, y = round(1000 * at.x / WIDTH), round(1000 * at.y / HEIGHT)
    return {"tool_name": tool, "element": element, "x": x, "y": y}


def drag(start: Point, end: Point, element: str) -> dict[str, Any]:
    """Return a drag from one place of the screen to another."""
    (x1, y1), (x2, y2) = ((round(1000 * at.x / WIDTH), round(1000 * at.y / HEIGHT)) for at in (start, end))
    return {"tool_name": "drag_and_drop", "element": element, "x1": x1, "y1": y1, "x2": x2, "y2": y2}


def keys(*names: str) -> dict[str, Any]:
    """Return keys that are pressed together."""
    return {"tool_name": "hotkey", "keys": list(names)}


def write(text: str, **more: Any) -> dict[str, Any]:
    """Return text that is typed where the keyboard goes."""
    return {"tool_name": "write", "content": text, **more}


WAIT = {"tool_name": "wait", "seconds": 0.5}
PATIENT = 8
"""So often is waited for what was done to show, before it is done again."""
