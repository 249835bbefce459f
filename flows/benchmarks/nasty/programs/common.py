"""The cashbook that all hostile programs modify: a menu, a form for one entry, a confirmation.

By itself it is harmless. A hazard is a subclass that overrides the affected step.
"""

from __future__ import annotations

import json
import os
import tkinter as tk
from collections.abc import Callable
from pathlib import Path

from legacy_ledger_look import ERROR_INK, FIELD, INK, NAVY, Look
from legacy_ledger_screens import Screen

from benchmarks.nasty.programs.seeds import Entry, Plan
from benchmarks.nasty.programs.store import Store

FIELDS = ("reference", "amount", "reason")


class Cashbook:
    title = "Cashbook"
    submit_caption = "Submit"

    def __init__(self, root: tk.Tk, look: Look, store: Store, plan: Plan, state_file: Path | None) -> None:
        self.root, self.look, self.store, self.plan = root, look, store, plan
        self.panel: Screen | None = None
        self.popup: str | None = None
        self.popup_parts: dict[str, tk.Widget] = {}
        self._changes = 0
        self._later: list[str] = []
        self._state_file = state_file
        self._state_due = False
        self._build()

    # -- steps that a hazard overrides --------------------------------------------------------

    def start(self) -> None:
        self.main_menu()

    def main_menu(self) -> None:
        self.show(Menu(self))

    def open_form(self) -> None:
        self.show(Form(self))

    def edited(self, form: Form) -> None:
        """Called when a field of the form has changed."""

    def submit(self, entry: Entry) -> None:
        """Called when the form is filled in and its button was pressed."""
        self.confirm(entry, self.store.submit(entry))

    def confirm(self, entry: Entry, number: int) -> None:
        self.show(Filed(self, entry, number))

    # -- called by screens and hazards --------------------------------------------------------

    def show(self, panel: Screen, message: str = "") -> None:
        """Replace the visible screen, and cancel the delayed actions of the previous one."""
        self.put_off()
        if self.panel is not None:
            self.panel.destroy()
        self.panel = panel
        panel.pack(fill="both", expand=True, padx=self.look.px(18), pady=self.look.px(12))
        self._heading.configure(text=panel.heading)
        self._changes += 1
        self.say(message)
        panel.shown()

    def later(self, seconds: float, do: Callable[..., object], *arguments: object) -> None:
        """Schedule an action. It is cancelled if another screen comes first."""
        self._later.append(self.root.after(round(seconds * 1000), do, *arguments))

    def put_off(self) -> None:
        while self._later:
            self.root.after_cancel(self._later.pop())

    def say(self, message: str, error: bool = False) -> None:
        self._message.configure(text=message or "M-000 Ready", foreground=ERROR_INK if error else INK)
        self.note_state()

    def note_state(self, *_: object) -> None:
        """Schedule an update of the state file for when Tk is idle, after a visible change."""
        if self._state_file is not None and not self._state_due:
            self._state_due = True
            self.root.after_idle(self.write_state)

    def write_state(self, busy: bool = False) -> None:
        """Write the visible screen and the positions of its parts, for tests that click without OCR."""
        self._state_due = False
        if self._state_file is None or self.panel is None or not self.root.winfo_viewable():
            return
        self.root.update_idletasks()
        parts = self.panel.parts | self.popup_parts
        state = {
            "screen": self.panel.name,
            "heading": self.panel.heading,
            "popup": self.popup,
            "busy": busy,
            "status": str(self._message.cget("text")),
            "changes": self._changes,
            "window": box(self.root),
            "widgets": {name: box(part) for name, part in parts.items() if part.winfo_viewable()},
            "values": self.panel.values(),
            "focus": next((name for name, part in parts.items() if part == self.root.focus_get()), None),
        }
        draft = self._state_file.with_name(self._state_file.name + ".draft")
        draft.write_text(json.dumps(state))
        os.replace(draft, self._state_file)  # noqa: PTH105

    # -- inside ------------------------------------------------------------------------------

    def _build(self) -> None:
        root, look = self.root, self.look
        root.title(self.title)
        root.resizable(False, False)
        self._heading = tk.Label(root, font=look.heading, foreground=FIELD, background=NAVY, anchor="w")
        self._heading.configure(padx=look.px(12), pady=look.px(5))
        self._heading.pack(fill="x", padx=look.px(4), pady=look.px(4))
        entry = self.plan.entry
        task = f"To file:   {entry.reference}   {entry.amount}   {entry.reason}"
        input_permit = look.label(root, task, relief="groove", borderwidth=2, padx=look.px(8), pady=look.px(4))
        input_permit.pack(fill="x", padx=look.px(4))
        self._message = look.label(root, "", relief="sunken", borderwidth=2, padx=look.px(6), pady=look.px(2))
        self._message.pack(side="bottom", fill="x", padx=look.px(4), pady=look.px(3))
        self.stage = tk.Frame(root, relief="ridge", borderwidth=3)
        self.stage.pack(fill="both", expand=True, padx=look.px(4), pady=(look.px(4), 0))
        for event in ("<Configure>", "<Map>", "<FocusIn>", "<FocusOut>"):
            root.bind(event, self.note_state)


class Menu(Screen):
    name, heading = "menu", "MAIN MENU"
    window: Cashbook  # type: ignore[assignment]

    def __init__(self, window: Cashbook) -> None:
        super().__init__(window)  # type: ignore[arg-type]
        look = self.look
        button = look.button(self, "New entry", lambda: window.open_form(), width=24)
        button.configure(font=look.bold, pady=look.px(8))
        button.pack(pady=(look.px(40), look.px(30)))
        self.parts["new_entry"] = self.first = button
        filed = [submission.entry.reference for submission in window.store.submissions()]
        self._filed = f"Filed today: {', '.join(filed) or 'none'}"
        look.label(self, self._filed, wraplength=look.px(600)).pack()

    def values(self) -> dict[str, str]:
        return {"filed": self._filed}


class Form(Screen):
    name, heading = "form", "NEW ENTRY"
    window: Cashbook  # type: ignore[assignment]

    def __init__(self, window: Cashbook) -> None:
        super().__init__(window)  # type: ignore[arg-type]
        self._variables = {name: tk.StringVar(self) for name in FIELDS}
        self.lay_out()
        self.first = self.parts["reference"]
        for variable in self._variables.values():
            variable.trace_add("write", self._edited)

    def lay_out(self) -> None:
        fields = tk.Frame(self)
        fields.pack(anchor="nw", pady=self.look.px(16))
        self.fields(fields, gap=self.look.px(6))
        self.buttons(
            ("submit", self.window.submit_caption, self.submit), ("cancel", "Cancel", lambda: self.window.main_menu())
        )

    def fields(self, grid: tk.Frame, gap: int) -> None:
        """Add the labelled fields to the first rows of a grid."""
        for row, name in enumerate(FIELDS):
            label = self.look.label(grid, name.capitalize())
            label.grid(row=row, column=0, sticky="w", padx=(0, self.look.px(24)))
            self.parts[name] = self.look.entry(grid, self._variables[name], 30)
            self.parts[name].grid(row=row, column=1, sticky="w", pady=gap)

    def fill(self, entry: Entry) -> None:
        for name, variable in self._variables.items():
            variable.set(getattr(entry, name))

    def entry(self) -> Entry:
        return Entry(**{name: variable.get().strip() for name, variable in self._variables.items()})

    def complete(self) -> bool:
        return not self._missing()

    def values(self) -> dict[str, str]:
        return {name: variable.get() for name, variable in self._variables.items()}

    def submit(self) -> None:
        missing = self._missing()
        if missing:
            self.window.say(f"E-114 CHECK FIELD: {missing[0].upper()}", error=True)
        else:
            self.window.submit(self.entry())

    def _missing(self) -> list[str]:
        return [name for name, variable in self._variables.items() if not variable.get().strip()]

    def _edited(self, *_: object) -> None:
        self.window.note_state()
        self.window.edited(self)


class Filed(Screen):
    name, heading = "filed", "ENTRY FILED"

    def __init__(self, window: Cashbook, entry: Entry, number: int) -> None:
        super().__init__(window)  # type: ignore[arg-type]
        look = self.look
        look.label(self, f"Entry {number} is filed.", font=look.bold).pack(anchor="w", pady=(look.px(24), look.px(8)))
        look.label(self, f"{entry.reference}, {entry.amount}, {entry.reason}").pack(anchor="w")
        self.buttons(("back", "Back to menu", lambda: window.main_menu()))
        self.first = self.parts["back"]


def box(widget: tk.Misc) -> list[int]:
    """Return x, y, width and height in screen pixels."""
    return [widget.winfo_rootx(), widget.winfo_rooty(), widget.winfo_width(), widget.winfo_height()]
