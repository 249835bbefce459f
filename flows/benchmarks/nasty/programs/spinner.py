"""A spinner that never ends: it repaints forever, or until Esc cancels the wait (not always the filing).

It spins once: started again with the same store the program works.
"""

from __future__ import annotations

import tkinter as tk

from legacy_ledger_look import GREY, NAVY
from legacy_ledger_screens import Screen

from benchmarks.nasty.programs.common import Cashbook, Menu
from benchmarks.nasty.programs.seeds import Entry

_REPAINT_S = 0.03


class Spinner(Cashbook):
    title = "Linden Cashbook"

    def submit(self, entry: Entry) -> None:
        if "spun" in self.store.notes():
            super().submit(entry)
            return
        self.store.note("spun")
        variant = self.plan.variant
        if variant == "until Esc, filed":
            self.store.submit(entry)
        self.show(Spinning(self, can_cancel="Esc" in variant))
        if variant == "ends":
            self.later(self.plan.delay_s, super().submit, entry)

    def cancel(self) -> None:
        self.store.note("cancelled")
        self.show(Menu(self), "M-020 Waiting cancelled")


class Spinning(Screen):
    name, heading = "spinning", "PLEASE WAIT"
    window: Spinner  # type: ignore[assignment]

    def __init__(self, window: Spinner, can_cancel: bool) -> None:
        super().__init__(window)  # type: ignore[arg-type]
        look = self.look
        size = look.px(90)
        self._canvas = tk.Canvas(self, width=size, height=size, background=GREY, highlightthickness=0)
        self._canvas.pack(pady=(look.px(50), look.px(20)))
        edge = look.px(12)
        self._arc = self._canvas.create_arc(
            edge, edge, size - edge, size - edge, style="arc", extent=100, width=look.px(9), outline=NAVY
        )
        text = "Filing the entry. Press Esc to cancel." if can_cancel else "Filing the entry."
        look.label(self, text).pack()
        if can_cancel:
            self.bind("<Escape>", lambda _event: window.cancel())
        self._turn(0)

    def _turn(self, angle: int) -> None:
        self._canvas.itemconfigure(self._arc, start=-angle)
        self.after(round(_REPAINT_S * 1000), self._turn, (angle + 8) % 360)
