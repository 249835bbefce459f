"""Office tasks in real Debian programs, judged by their files."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.office.calc import Calc
from benchmarks.office.editor import Editor
from benchmarks.office.files import Files
from benchmarks.office.mail import Mail
from benchmarks.office.terminal import Terminal
from benchmarks.office.trial import HEIGHT, WIDTH, OfficeTrial
from benchmarks.office.writer import Writer
from benchmarks.values import Item
from holo_blocks import HoloDesktop
from holo_tasks.run.run import Run

TASKS: Mapping[str, type[OfficeTrial]] = {
    "terminal": Terminal,
    "calc": Calc,
    "writer": Writer,
    "editor": Editor,
    "files": Files,
    "mail": Mail,
}


class Office:
    """The suite. It has the tasks whose programs are installed."""

    name = "office"
    about = "real programs, judged by the files that they leave"
    every: tuple[str, ...] = tuple(TASKS)
    scales: tuple[float, ...] = (1.0,)

    def __init__(self) -> None:
        self.tasks = tuple(name for name, task in TASKS.items() if shutil.which(task.program))
        self.quick = self.tasks

    def missing(self) -> str:
        return "; ".join(f"{name} needs {TASKS[name].packages}" for name in self.every if name not in self.tasks)

    def program(self, item: Item) -> str:
        """Return one program and folder per item."""
        return f"{item.task}-{item.seed}"

    def desktop(self, folder: Path, item: Item) -> HoloDesktop:
        work = folder / self.program(item) / "work"
        if work.parent.exists():
            shutil.rmtree(work.parent)  # an unfinished item starts from scratch
        work.mkdir(parents=True)
        command = TASKS[item.task].prepare(item, work)
        home = {"HOME": str(work.parent), "LC_ALL": "C.UTF-8", "SAL_USE_VCLPLUGIN": "gtk3"}
        return HoloDesktop(app=shlex.join(command), width=WIDTH, height=HEIGHT, environment=home)

    @asynccontextmanager
    async def trial(self, item: Item, key: str, run: Run, folder: Path) -> AsyncIterator[OfficeTrial]:
        """Return the trial of the item's task."""
        yield TASKS[item.task](item, key, run, folder / self.program(item) / "work")
