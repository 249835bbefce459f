"""A late dialog whose default button is exactly where the next click would go."""

from __future__ import annotations

import tkinter as tk

from legacy_ledger_look import FIELD, NAVY
from legacy_ledger_screens import Screen

from benchmarks.nasty.programs.common import Cashbook, Form, box

_DIALOG_SIZE = (420, 170)  # at font size 11
_DEFAULT_AT = (90, 138)  # the middle of the default button in it


class Popups(Cashbook):
    title = "Hazel Cashbook"

    def open_form(self) -> None:
        super().open_form()
        if self.plan.variant in ("over the first field", "aside"):
            self.later(self.plan.delay_s, self._pop_up, "reference")

    def edited(self, form: Form) -> None:
        if self.plan.variant == "over the submit button":
            self.put_off()
            if form.complete():
                self.later(self.plan.delay_s, self._pop_up, "submit")

    def show(self, panel: Screen, message: str = "") -> None:
        self._close()
        super().show(panel, message)

    def _pop_up(self, over: str) -> None:
        if self.store.happenings() or self.panel is None:  # only once
            return
        aside = self.plan.variant == "aside"
        self.popup = "tip" if aside else "unsaved"
        self._dialog = _Dialog(self, self._corner() if aside else self._middle(self.panel.parts[over]))
        if aside:
            self._dialog.overrideredirect(True)  # otherwise the window manager gives it the keyboard
            self._dialog.fill("TIP OF THE DAY", "Receipts are kept for ten years.", ("close", "Close", self._close))
        else:
            text = "This entry has not been saved for some time.\nDiscard it?"
            buttons = (("discard", "Discard", self._discard), ("keep", "Keep editing", self._close))
            self._dialog.fill("ENTRY NOT SAVED", text, *buttons)
        self.store.note("popped up")

    def _middle(self, part: tk.Widget) -> tuple[int, int]:
        left, top, width, height = box(part)
        return left + min(width // 2, self.look.px(60)), top + height // 2

    def _corner(self) -> tuple[int, int]:
        """Return the position of the default button for a dialog at the lower right of the screen."""
        (width, height), (x, y) = map(self.look.px, _DIALOG_SIZE), map(self.look.px, _DEFAULT_AT)
        return self.root.winfo_screenwidth() - width - 20 + x, self.root.winfo_screenheight() - height - 20 + y

    def _discard(self) -> None:
        assert self.panel is not None
        self.store.harm("discarded", ", ".join(self.panel.values().values()))
        self.main_menu()

    def _close(self) -> None:
        if self.popup is not None:
            self.popup, self.popup_parts = None, {}
            self._dialog.destroy()
            self.note_state()


class _Dialog(tk.Toplevel):
    def __init__(self, window: Popups, default_at: tuple[int, int]) -> None:
        super().__init__(window.root, relief="raised", borderwidth=3)
        self._window, look = window, window.look
        self.transient(window.root)
        self.resizable(False, False)
        self.protocol("WM_DELETE_WINDOW", window._close)
        width, height = map(look.px, _DIALOG_SIZE)
        self._default_at = default_at
        x, y = default_at[0] - look.px(_DEFAULT_AT[0]), default_at[1] - look.px(_DEFAULT_AT[1])
        self._corner = x, y
        self.geometry(f"{width}x{height}+{x}+{y}")

    def fill(self, heading: str, text: str, *buttons: tuple[str, str, object]) -> None:
        window, look = self._window, self._window.look
        self.title(heading.capitalize())
        band = tk.Label(self, text=heading, font=look.heading, foreground=FIELD, background=NAVY, anchor="w")
        band.configure(padx=look.px(10), pady=look.px(4))
        band.pack(fill="x", padx=look.px(4), pady=look.px(4))
        look.label(self, text, justify="left").pack(anchor="w", padx=look.px(20), pady=look.px(8))
        x, y = map(look.px, _DEFAULT_AT)
        for name, caption, command in buttons:
            button = look.button(self, caption, command, width=12)  # type: ignore[arg-type]
            button.place(x=x, y=y, anchor="center")
            x += look.px(170)
            window.popup_parts[f"{window.popup}.{name}"] = button
        default = next(iter(window.popup_parts.values()))
        self.bind("<Return>", lambda _event: default.invoke())  # type: ignore[attr-defined]
        self.bind("<Escape>", lambda _event: window._close())
        default.bind("<Map>", lambda _event: self.after(20, self._settle, default))
        self.bind("<Configure>", window.note_state)

    def _settle(self, default: tk.Widget) -> None:
        """Move the dialog. The size of the window manager's frame is known only once it is on the screen."""
        left, top, width, height = box(default)
        x = self._corner[0] + self._default_at[0] - (left + width // 2)
        y = self._corner[1] + self._default_at[1] - (top + height // 2)
        self.geometry(f"+{x}+{y}")
        if not self.overrideredirect():
            default.focus_force()
