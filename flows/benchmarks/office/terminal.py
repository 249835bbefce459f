"""A terminal: write a file by a command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.office.trial import OfficeTrial, write
from benchmarks.values import Item


class Terminal(OfficeTrial):
    """A program without accessible elements."""

    program, packages = "xterm", "xterm"

    @staticmethod
    def prepare(item: Item, work: Path) -> list[str]:
        return ["sh", "-c", f"cd {shlex.quote(str(work))} && exec xterm -fa Monospace -fs 12 -T Terminal -e sh"]

    def asked(self) -> str:
        name, people = self.draw
        reported = ", ".join(people)
        return f"In the terminal, make a file {name}.txt in the folder it is in that holds the one line: {reported}"

    def fault(self) -> str:
        name, people = self.draw
        file = self.work / f"{name}.txt"
        if not file.exists():
            return f"there is no {file.name}"
        return "" if file.read_text() == f"{', '.join(people)}\n" else f"{file.name} holds {file.read_text()[:80]!r}"

    def next_act(self) -> Mapping[str, Any] | None:
        name, people = self.draw
        return write(f"echo '{', '.join(people)}' > {name}.txt", press_enter=True)
