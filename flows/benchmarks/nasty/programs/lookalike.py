"""A confirmation page that looks like the form; its Save files a second entry."""

from __future__ import annotations

import tkinter as tk

from benchmarks.nasty.programs.common import Cashbook, Form
from benchmarks.nasty.programs.seeds import Entry


class Lookalike(Cashbook):
    title = "Elm Cashbook"
    submit_caption = "Save"

    def confirm(self, entry: Entry, number: int) -> None:
        if self.plan.variant == "plain":
            super().confirm(entry, number)
            return
        page = FiledCopy(self) if self.plan.variant == "filled" else NextEntry(self)
        if self.plan.variant == "filled":
            page.fill(entry)
        self.show(page, f"M-031 Entry {number} is filed")


class _FormAgain(Form):
    def lay_out(self) -> None:
        super().lay_out()
        close = self.parts.pop("cancel")
        assert isinstance(close, tk.Button)
        close.configure(text="Close")
        self.parts["close"] = close


class FiledCopy(_FormAgain):
    name, heading = "filed_copy", "ENTRY FILED - COPY FOR A SECOND ENTRY"


class NextEntry(_FormAgain):
    name, heading = "next_entry", "ENTRY FILED - NEXT ENTRY"
