"""A text editor: replace a name in a file by another one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.office.trial import WAIT, OfficeTrial, click, drawn, keys, write
from benchmarks.values import Item


class Editor(OfficeTrial):
    """Mousepad; the file has several lines."""

    program, packages = "mousepad", "mousepad"

    @staticmethod
    def prepare(item: Item, work: Path) -> list[str]:
        name, people = drawn(item)
        (work / f"{name}.txt").write_text(before(people))
        return ["mousepad", "--disable-server", str(work / f"{name}.txt")]

    def asked(self) -> str:
        _, people = self.draw
        return f"In the file that is open, replace {people[0]} by {people[2]} everywhere, and save it."

    def wanted(self) -> str:
        _, people = self.draw
        return before(people).replace(people[0], people[2])

    def fault(self) -> str:
        name, _ = self.draw
        reported = (self.work / f"{name}.txt").read_text()
        return "" if reported == self.wanted() else f"{name}.txt holds {reported[:120]!r}"

    def next_act(self) -> Mapping[str, Any] | None:
        fields = [each for each in self.tree().find("text field") if each.value.startswith("Monday")]
        if not fields:
            return WAIT
        (field,) = fields
        if field.value == " ".join(self.wanted().split()):
            return keys("ctrl", "s")
        if "focused" not in field.states:
            return click(field.box.center, "the text")
        return write(self.wanted(), overwrite=True)


def before(people: list[str]) -> str:
    """Return the initial content of the file."""
    first, second, _ = people
    return f"Monday: {first}\nTuesday: {second}\nWednesday: {first} and {second}\nThursday: {first}\n"
