"""A button that ignores the first click and works on the second."""

from __future__ import annotations

from benchmarks.nasty.programs.common import Cashbook
from benchmarks.nasty.programs.seeds import Entry


class Deaf(Cashbook):
    title = "Alder Cashbook"

    def open_form(self) -> None:
        if not self._ignores("new entry"):
            super().open_form()

    def submit(self, entry: Entry) -> None:
        if not self._ignores("submit"):
            super().submit(entry)

    def _ignores(self, button: str) -> bool:
        note = f"ignored a click: {button}"
        if self.plan.variant not in (button, "both") or note in self.store.notes():
            return False
        self.store.note(note)
        return True
