"""LibreOffice Calc: enter amounts into a sheet next to existing names."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.office.libreoffice import keeps_format, started
from benchmarks.office.trial import WAIT, OfficeTrial, click, drawn, keys, write
from benchmarks.values import Item


class Calc(OfficeTrial):
    """The sheet is a file of comma-separated values, and must stay one."""

    program, packages = "localc", "libreoffice-calc and libreoffice-gtk3"

    @staticmethod
    def prepare(item: Item, work: Path) -> list[str]:
        _, people = drawn(item)
        (work / "amounts.csv").write_text("\n".join(["Name,Amount", *(f"{name}," for name in people)]) + "\n")
        # Comma, double quotes, UTF-8: given here, so that the program does not ask when it opens the file.
        reads = "--infilter=Text - txt - csv (StarCalc):44,34,76,1"
        return started(work, "--calc", reads, str(work / "amounts.csv"))

    def wanted(self) -> list[tuple[str, str]]:
        name, people = self.draw
        draw = random.Random(name)
        return [(each, str(draw.randrange(10, 1000))) for each in people]

    def asked(self) -> str:
        reported = ", ".join(f"{amount} for {name}" for name, amount in self.wanted())
        return f"In the sheet, put these amounts beside the names: {reported}. Save the file, and keep its format."

    def fault(self) -> str:
        with (self.work / "amounts.csv").open(newline="", encoding="utf-8") as file:
            rows = [tuple(row) for row in csv.reader(file)]
        return "" if rows == [("Name", "Amount"), *self.wanted()] else f"the file holds {rows}"[:200]

    def next_act(self) -> Mapping[str, Any] | None:
        tree = self.tree()
        if keep := keeps_format(tree):
            return keep
        held = {each.name: each for each in tree.find("cell", hidden=True)}
        if not {"A1", "B1", *(f"A{row}" for row, _ in enumerate(self.wanted(), 2))} <= held.keys():
            return WAIT  # cells of the tree arrive one by one, and late on a busy machine
        # The field left of the formula shows the cursor's cell.
        at = next((each.value for each in tree.find("text field") if re.fullmatch(r"[A-Z]+\d+", each.value)), "")
        rows = len(self.wanted()) + 1
        if wrong := [each for name, each in held.items() if each.value and int(name[1:]) > rows]:
            return keys("delete") if at == wrong[0].name else click(wrong[0].box.center, wrong[0].name)
        last = self.turns[-1] if self.turns else None
        for row, (name, amount) in enumerate(self.wanted(), 2):
            cell, beside = held.get(f"B{row}"), held.get(f"A{row}")
            if cell is not None and cell.value == amount:
                continue
            if last is not None and last.call.get("content") == amount and not last.failed:
                return WAIT  # the tree does not have it yet
            if at == f"B{row}":
                return write(amount, press_enter=True)
            if at == f"A{row}":
                return keys("right")
            return click(beside.box.center, name) if beside else WAIT
        return keys("ctrl", "s")
