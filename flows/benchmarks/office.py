"""Office tasks on real Debian programs, judged by the files that they leave."""

from __future__ import annotations

import asyncio
import csv
import random
import shlex
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.values import Item, Judgement
from holo_blocks import HoloDesktop
from holo_tasks import pursue
from holo_tasks.core.elements import ElementTree
from holo_tasks.core.ports import TellsElements
from holo_tasks.run.run import Run

WIDTH, HEIGHT = 1280, 800
NEEDS = {
    "terminal": ("xterm", "xterm"),
    "calc": ("soffice", "libreoffice-calc and libreoffice-gtk3"),
}
"""Each task's program, and the Debian packages that it is in."""
NAMES = ("Ada", "Berta", "Cem", "Dunja", "Emil", "Farah", "Goran", "Hanna", "Ilse", "Jonas", "Kira", "Lew")
OFFICE = "--norestore --nologo --nofirststartwizard"
PATIENCE_S = 60.0


class Office:
    """The suite. The oracle goes by what the programs' trees tell and by the files, and types."""

    name = "office"
    about = "real programs, judged by the files that they leave"
    every: tuple[str, ...] = tuple(NEEDS)
    scales: tuple[float, ...] = (1.0,)

    def __init__(self) -> None:
        self.tasks = tuple(task for task, (program, _) in NEEDS.items() if shutil.which(program))
        self.quick = self.tasks

    def why_not(self) -> str:
        missing = [f"{task} needs {packages}" for task, (_, packages) in NEEDS.items() if task not in self.tasks]
        return "; ".join(missing)

    def program(self, item: Item) -> str:
        """Each item has its own program and its own folder."""
        return f"{item.task}-{item.seed}"

    def desktop(self, folder: Path, item: Item) -> HoloDesktop:
        work = folder / self.program(item) / "work"
        if work.exists():
            shutil.rmtree(work)  # what was begun and not finished is begun anew
        work.mkdir(parents=True)
        command = _TASKS[item.task].prepare(item, work)
        home = {"HOME": str(work.parent), "LC_ALL": "C.UTF-8", "SAL_USE_VCLPLUGIN": "gtk3"}
        return HoloDesktop(app=shlex.join(command), width=WIDTH, height=HEIGHT, environment=home)

    @asynccontextmanager
    async def trial(self, item: Item, key: str, run: Run, folder: Path) -> AsyncIterator[OfficeTrial]:
        """Tell what is to be done with the files."""
        yield _TASKS[item.task](item, key, run, folder / self.program(item) / "work")


class OfficeTrial:
    """One task: a program, files, and what is to become of them."""

    def __init__(self, item: Item, key: str, run: Run, work: Path) -> None:
        self.key, self.work, self.draw = key, work, _draw(item)
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

    def next_act(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        """Return what an oracle does as long as the files are not right."""
        raise NotImplementedError

    async def worked(self) -> object:
        return await pursue(self.goal)

    def next_step(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        return self.next_act(turns) if self.why_wrong() else {"tool_name": "answer", "content": "done"}

    async def judged(self, said: object) -> Judgement:
        wrong = await asyncio.to_thread(self.why_wrong)
        return Judgement(right=not wrong, reward=float(not wrong), why=wrong)

    def tree(self) -> ElementTree:
        """Return what the programs tell of their elements now; asked for from the oracle's thread."""
        assert isinstance(self.run.desktop, TellsElements)
        return asyncio.run_coroutine_threadsafe(self.run.desktop.elements(), self._loop).result(PATIENCE_S)


class Terminal(OfficeTrial):
    """A file written by a command."""

    @staticmethod
    def prepare(item: Item, work: Path) -> list[str]:
        return ["sh", "-c", f"cd {shlex.quote(str(work))} && exec xterm -fa Monospace -fs 12 -T Terminal -e sh"]

    def asked(self) -> str:
        name, people = self.draw
        return f"In the terminal, make a file {name}.txt in the folder it is in that holds the one line: {people}"

    def why_wrong(self) -> str:
        name, people = self.draw
        file = self.work / f"{name}.txt"
        if not file.exists():
            return f"there is no {file.name}"
        return "" if file.read_text() == f"{people}\n" else f"{file.name} holds {file.read_text()[:80]!r}"

    def next_act(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        name, people = self.draw
        return {"tool_name": "write", "content": f"echo '{people}' > {name}.txt", "press_enter": True}


class Calc(OfficeTrial):
    """Amounts put into a sheet beside names that are there."""

    @staticmethod
    def prepare(item: Item, work: Path) -> list[str]:
        _, people = _draw(item)
        rows = ["Name,Amount", *(f"{name}," for name in people.split(", "))]
        (work / "amounts.csv").write_text("\n".join(rows) + "\n")
        profile = f"-env:UserInstallation=file://{work.parent}/profile"
        # Comma, double quotes, UTF-8: said here, it asks no question as it opens the file.
        reads = "--infilter=Text - txt - csv (StarCalc):44,34,76,1"
        return ["soffice", "--calc", *OFFICE.split(), profile, reads, str(work / "amounts.csv")]

    def wanted(self) -> list[tuple[str, str]]:
        name, people = self.draw
        draw = random.Random(name)
        return [(each, str(draw.randrange(10, 1000))) for each in people.split(", ")]

    def asked(self) -> str:
        told = ", ".join(f"{amount} for {name}" for name, amount in self.wanted())
        return f"In the sheet, put these amounts beside the names: {told}. Save the file, and keep its format."

    def why_wrong(self) -> str:
        with (self.work / "amounts.csv").open(newline="", encoding="utf-8") as file:
            rows = [tuple(row) for row in csv.reader(file)]
        return "" if rows == [("Name", "Amount"), *self.wanted()] else f"the file holds {rows}"[:200]

    def next_act(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        tree = self.tree()
        held = {each.name: each for each in tree.find("cell", hidden=True)}
        if keep := _keeps_format(tree):
            return keep
        last = turns[-1] if turns else None
        for row, (name, amount) in enumerate(self.wanted(), 2):
            cell = held.get(f"B{row}")
            if cell is not None and cell.value == amount:
                continue
            if last is not None and last.tool == "hotkey" and not last.failed:
                return {"tool_name": "write", "content": amount, "press_enter": True}
            if last is not None and last.tool == "click" and last.call.get("element") == name and not last.failed:
                return {"tool_name": "hotkey", "keys": ["right"]}
            beside = held.get(f"A{row}")
            return _click(beside.box.center, name) if beside else {"tool_name": "wait", "seconds": 1.0}
        return {"tool_name": "hotkey", "keys": ["ctrl", "s"]}


_TASKS: Mapping[str, type[OfficeTrial]] = {"terminal": Terminal, "calc": Calc}


def _draw(item: Item) -> tuple[str, str]:
    """Return what the seed decides: a name, and some people."""
    draw = random.Random(f"{item.task} {item.seed}")
    return f"list-{draw.randrange(100, 1000)}", ", ".join(draw.sample(NAMES, 3))


def _keeps_format(tree: ElementTree) -> dict[str, Any] | None:
    """Return the click that keeps a file's format, where the program asks whether to."""
    found = [each for each in tree.find("button") if each.name.startswith("Use ") and "ormat" in each.name]
    return _click(found[0].box.center, found[0].name) if found else None


def _click(at: Any, element: str) -> dict[str, Any]:
    return {
        "tool_name": "click",
        "element": element,
        "x": round(1000 * at.x / WIDTH),
        "y": round(1000 * at.y / HEIGHT),
    }
