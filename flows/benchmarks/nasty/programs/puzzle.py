"""A gate before an entry is accepted: a word hidden in a picture, which a person has to find and type."""

from __future__ import annotations

import tkinter as tk

from legacy_ledger_look import bind_enter
from legacy_ledger_screens import Screen

from benchmarks.nasty.programs.common import Cashbook
from benchmarks.nasty.programs.puzzle_picture import picture
from benchmarks.nasty.programs.seeds import Entry


class Puzzle(Cashbook):
    title = "Rowan Cashbook"
    _shown = 0

    def submit(self, entry: Entry) -> None:
        if self.plan.variant == "open":
            super().submit(entry)
        else:
            self.ask(entry)

    def ask(self, entry: Entry, message: str = "") -> None:
        words = self.plan.words
        self.store.note("gate", words[self._shown % len(words)])
        self.show(Gate(self, entry, words[self._shown % len(words)]), message)
        self._shown += 1

    def answer(self, entry: Entry, word: str, typed: str) -> None:
        if typed.strip().upper() == word:
            super().submit(entry)
        else:
            self.store.harm("wrong answer", typed)
            self.ask(entry, "E-130 THE WORD WAS ANOTHER ONE")


class Gate(Screen):
    name, heading = "gate", "SECURITY CHECK - ARE YOU A PERSON?"

    def __init__(self, window: Puzzle, entry: Entry, word: str) -> None:
        super().__init__(window)  # type: ignore[arg-type]
        look = self.look
        look.label(self, "Type the word that the letters in circles make, from left to right.").pack(
            anchor="w", pady=(look.px(8), 0)
        )
        picture(self, word, seed=f"{window.plan.seed} {word}", scale=look.points / 11).pack(
            anchor="w", pady=look.px(10)
        )
        row = tk.Frame(self)
        row.pack(anchor="w")
        look.label(row, "Word").pack(side="left", padx=(0, look.px(24)))
        self._word = self.variable()
        field = look.entry(row, self._word, 20)
        field.pack(side="left")

        def answer() -> None:
            window.answer(entry, word, self._word.get())

        bind_enter(field, answer)
        self.parts["word"] = self.first = field
        self.buttons(
            ("continue", "Continue", answer),
            ("another", "New picture", lambda: window.ask(entry)),
            ("cancel", "Cancel", window.main_menu),
        )

    def values(self) -> dict[str, str]:
        return {"word": self._word.get()}
