"""A file manager: move files into folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.office.trial import WAIT, OfficeTrial, drag, drawn, keys
from benchmarks.values import Item


class Files(OfficeTrial):
    """Thunar: move one file into a folder and touch no other."""

    program, packages = "thunar", "thunar"

    @staticmethod
    def prepare(item: Item, work: Path) -> list[str]:
        name, people = drawn(item)
        (work / "Paid").mkdir()
        for each in people:
            (work / f"{each}.txt").write_text(f"{each}: {name}\n")
        return ["thunar", str(work)]

    def asked(self) -> str:
        _, people = self.draw
        return f"Move the file {people[1]}.txt into the folder Paid. Leave the others where they are."

    def fault(self) -> str:
        name, people = self.draw
        wanted = {"Paid", *(f"Paid/{each}.txt" if each == people[1] else f"{each}.txt" for each in people)}
        there = {str(each.relative_to(self.work)) for each in self.work.rglob("*")}
        if there != wanted:
            return f"there are {sorted(there)}"[:200]
        moved = (self.work / "Paid" / f"{people[1]}.txt").read_text()
        return "" if moved == f"{people[1]}: {name}\n" else f"{people[1]}.txt holds {moved[:80]!r}"

    def next_act(self) -> Mapping[str, Any] | None:
        tree = self.tree()
        name = f"{self.draw[1][1]}.txt"
        file, folder = tree.find("cell", name), tree.find("cell", "Paid")
        if file and folder:
            return drag(file[0].box.center, folder[0].box.center, name)
        # Its icon view has no accessible elements; the rows of its list view have.
        return keys("ctrl", "2") if tree.find(name="Icon view") else WAIT
