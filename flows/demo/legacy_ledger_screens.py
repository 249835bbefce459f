"""The screens of the legacy program, in the order of their use."""

from __future__ import annotations

import hmac
import tkinter as tk
from collections.abc import Callable

from legacy_ledger_db import REASONS, REFERENCE, Transaction
from legacy_ledger_look import bind_enter
from legacy_ledger_window import LedgerWindow

SHORTEST_NOTE = 10
# Saving takes time. A second click during it makes a second flag.
SAVE_SECONDS = 0.3


class Screen(tk.Frame):
    """The common parts of all screens. See the `Panel` protocol."""

    name = heading = code = ""

    def __init__(self, window: LedgerWindow) -> None:
        super().__init__(window.stage)
        self.window, self.look = window, window.look
        self.parts: dict[str, tk.Widget] = {}
        self.first: tk.Widget = self

    def shown(self) -> None:
        self.first.focus_set()

    def back(self) -> None:
        self.window.main_menu()

    def values(self) -> dict[str, str]:
        return {}

    def variable(self) -> tk.StringVar:
        variable = tk.StringVar(self)
        variable.trace_add("write", self.window.note_state)
        return variable

    def buttons(self, *labelled: tuple[str, str, Callable[[], object]]) -> None:
        """Add a row of buttons at the bottom of the screen: part name, label and command of each."""
        row = tk.Frame(self)
        row.pack(side="bottom", fill="x")
        for part, label, command in labelled:
            button = self.look.button(row, label, command)
            button.pack(side="left", padx=(0, self.look.px(12)))
            self.parts[part] = button

    def go_to_search(self) -> None:
        if self.window.begin_action():
            self.window.go(lambda: SearchScreen(self.window))


class SignOnScreen(Screen):
    name, heading, code = "sign_on", "MERIDIAN LEDGER - SIGN ON", "ML-001"

    def __init__(self, window: LedgerWindow) -> None:
        super().__init__(window)
        look = self.look
        box = tk.Frame(self, relief="groove", borderwidth=3, padx=look.px(30), pady=look.px(26))
        box.place(relx=0.5, rely=0.45, anchor="center")
        self._user, self._password = self.variable(), self.variable()
        for row, (label, part, variable, show) in enumerate(
            [("User", "user", self._user, ""), ("Password", "password", self._password, "\N{BULLET}")]
        ):
            look.label(box, label).grid(row=row, column=0, sticky="w", padx=(0, look.px(18)))
            entry = look.entry(box, variable, 22, show)
            entry.grid(row=row, column=1, pady=look.px(8))
            bind_enter(entry, self._log_in)
            self.parts[part] = entry
        self.first = self.parts["user"]
        row_of_buttons = tk.Frame(box)
        row_of_buttons.grid(row=2, column=0, columnspan=2, pady=(look.px(20), 0))
        for part, label, command in [
            ("log_in", "Log in", self._log_in),
            ("exit", "Exit", window.root.destroy),
        ]:
            button = look.button(row_of_buttons, label, command, width=10)
            button.pack(side="left", padx=look.px(8))
            self.parts[part] = button

    def values(self) -> dict[str, str]:
        return {"user": self._user.get(), "password": "\N{BULLET}" * len(self._password.get())}

    def back(self) -> None:
        pass

    def _log_in(self) -> None:
        login = self.window.login
        right_user = self._user.get().strip().lower() == login.user.lower()
        right_password = hmac.compare_digest(self._password.get().encode(), login.password.encode())
        if not (right_user and right_password):
            self._password.set("")
            self.window.say("E-101 SIGN ON REFUSED", error=True)
            return
        self.window.go(self._signed_on)

    def _signed_on(self) -> Screen:
        self.window.begin_session()
        return MenuScreen(self.window)


class MenuScreen(Screen):
    name, heading, code = "menu", "MAIN MENU", "ML-100"

    def __init__(self, window: LedgerWindow) -> None:
        super().__init__(window)
        choices = tk.Frame(self)
        choices.place(relx=0.5, rely=0.47, anchor="center")
        for part, label, command in [
            ("transaction_search", "Transaction search", self.go_to_search),
            ("merchant_register", "Merchant register", self._not_licensed),
            ("month_end", "Month-end reports", self._not_licensed),
            ("sign_off", "Sign off", window.sign_off),
        ]:
            button = self.look.button(choices, label, command, width=30)
            button.configure(font=self.look.bold, pady=self.look.px(8))
            button.pack(pady=self.look.px(6))
            self.parts[part] = button
        self.first = self.parts["transaction_search"]

    def _not_licensed(self) -> None:
        if self.window.begin_action():
            self.window.say("E-203 MODULE NOT LICENSED", error=True)

    def back(self) -> None:
        pass


class SearchScreen(Screen):
    name, heading, code = "search", "TRANSACTION SEARCH", "ML-210"

    def __init__(self, window: LedgerWindow) -> None:
        super().__init__(window)
        look = self.look
        form = tk.Frame(self)
        form.pack(anchor="nw", pady=look.px(24))
        self._reference = self.variable()
        look.label(form, "Reference").grid(row=0, column=0, sticky="w", padx=(0, look.px(18)))
        self._entry = look.entry(form, self._reference, 20)
        self._entry.grid(row=0, column=1, sticky="w")
        bind_enter(self._entry, self._search)
        hint = look.label(form, "Two capital letters, a hyphen, five digits")
        hint.grid(row=1, column=1, sticky="w", pady=look.px(8))
        self.parts["reference"] = self.first = self._entry
        self.buttons(
            ("search", "Search", self._search),
            ("clear", "Clear", self._clear),
            ("main_menu", "Main menu", window.main_menu),
        )

    def values(self) -> dict[str, str]:
        return {"reference": self._reference.get()}

    def _clear(self) -> None:
        self.look.clear_error(self._entry)
        self._reference.set("")
        self._entry.focus_set()

    def _search(self) -> None:
        if not self.window.begin_action():
            return
        reference = self._reference.get()
        if not REFERENCE.fullmatch(reference):
            self.look.mark_error(self._entry)
            self.window.say("E-114 CHECK FIELD: REFERENCE", error=True)
            return
        self.look.clear_error(self._entry)
        found = self.window.ledger.transaction(reference)
        if found is None:
            self.window.go(lambda: NoRecordScreen(self.window, reference))
        else:
            self.window.go(lambda: DetailScreen(self.window, found))


class NoRecordScreen(Screen):
    name, heading, code = "no_record", "NO RECORD FOUND", "ML-219"

    def __init__(self, window: LedgerWindow, reference: str) -> None:
        super().__init__(window)
        text = f"There is no transaction {reference} in this ledger."
        self.look.label(self, text).pack(anchor="nw", pady=self.look.px(30))
        self.buttons(("back", "Back", self.go_to_search))
        self.first = self.parts["back"]

    def back(self) -> None:
        self.go_to_search()


class DetailScreen(Screen):
    name, heading, code = "detail", "TRANSACTION DETAIL", "ML-220"

    def __init__(self, window: LedgerWindow, transaction: Transaction) -> None:
        super().__init__(window)
        look = self.look
        self._transaction = transaction
        form = tk.Frame(self)
        form.pack(anchor="nw", fill="x")
        self._shown = {
            "Reference": transaction.reference,
            "Merchant": transaction.merchant,
            "Date": transaction.date,
            "Amount": transaction.amount,
            "Currency": transaction.currency,
            "Card holder": transaction.card_holder,
            "Status": transaction.status,
        }
        for row, (label, value) in enumerate(self._shown.items()):
            look.label(form, label).grid(row=row, column=0, sticky="w", padx=(0, look.px(24)))
            look.value(form, value, 44).grid(row=row, column=1, sticky="w", pady=look.px(2))
        self._flags = _flags_line([flag.reason for flag in window.ledger.flags(transaction.reference)])
        look.label(self, self._flags).pack(anchor="w", pady=look.px(10))
        self.buttons(("flag", "Flag for review", self._flag), ("back", "Back", self.go_to_search))
        self.first = self.parts["back"]

    def values(self) -> dict[str, str]:
        return {**self._shown, "flags": self._flags}

    def back(self) -> None:
        self.go_to_search()

    def _flag(self) -> None:
        if self.window.begin_action():
            self.window.go(lambda: FlagScreen(self.window, self._transaction))


class FlagScreen(Screen):
    name, heading, code = "flag", "FLAG FOR REVIEW", "ML-230"

    def __init__(self, window: LedgerWindow, transaction: Transaction) -> None:
        super().__init__(window)
        look = self.look
        self._transaction = transaction
        form = tk.Frame(self)
        form.pack(anchor="nw")
        gap = (0, look.px(24))
        look.label(form, "Transaction").grid(row=0, column=0, sticky="nw", padx=gap, pady=look.px(3))
        summary = f"{transaction.reference}   {transaction.merchant}"
        look.value(form, summary, 44).grid(row=0, column=1, sticky="w", pady=(0, look.px(8)))
        look.label(form, "Reason").grid(row=1, column=0, sticky="nw", padx=gap, pady=look.px(3))
        reasons = tk.Frame(form, relief="groove", borderwidth=2, padx=look.px(8))
        reasons.grid(row=1, column=1, sticky="we")
        self._reason = self.variable()
        for reason in REASONS:
            choice = look.choice(reasons, reason, self._reason)
            choice.pack(anchor="w")
            self.parts[f"reason:{reason}"] = choice
        look.label(form, "Note").grid(row=2, column=0, sticky="nw", padx=gap, pady=look.px(10))
        self._note = tk.Text(form, height=3, width=46, wrap="word", undo=False)
        self._note.configure(relief="sunken", borderwidth=2, highlightthickness=2, padx=3, pady=2)
        self._note.grid(row=2, column=1, sticky="we", pady=look.px(8))
        self._note.bind("<Tab>", lambda event: self._leave(event.widget.tk_focusNext()))
        self._note.bind("<Shift-Tab>", lambda event: self._leave(event.widget.tk_focusPrev()))
        self._note.bind("<<Modified>>", self._note_changed)
        self.parts["note"] = self._note
        self.first = self.parts[f"reason:{REASONS[0]}"]
        self.buttons(("save", "Save flag", self._save), ("cancel", "Cancel", self.back))

    def values(self) -> dict[str, str]:
        return {"reason": self._reason.get(), "note": self._note.get("1.0", "end-1c")}

    def back(self) -> None:
        if self.window.begin_action():
            self.window.go(lambda: DetailScreen(self.window, self._transaction))

    def _save(self) -> None:
        ledger, reference = self.window.ledger, self._transaction.reference
        if not self.window.begin_action():
            ledger.refuse_save(reference, "expired")
            return
        reason, note = self._reason.get(), self._note.get("1.0", "end").strip()
        self.look.clear_error(self._note)
        if not reason:
            self._refuse("E-114 CHECK FIELD: REASON")
        elif len(note) < SHORTEST_NOTE:
            self.look.mark_error(self._note)
            self._refuse("E-114 CHECK FIELD: NOTE")
        else:
            flag_id = ledger.save_flag(reference, reason, note)
            saved = self._transaction
            self.window.go(lambda: SavedScreen(self.window, saved, flag_id), at_least=SAVE_SECONDS)

    def _refuse(self, message: str) -> None:
        self.window.ledger.refuse_save(self._transaction.reference, "rejected")
        self.window.say(message, error=True)

    def _leave(self, neighbor: tk.Misc | None) -> str:
        if neighbor is not None:
            neighbor.focus_set()
        return "break"

    def _note_changed(self, _event: object) -> None:
        self._note.edit_modified(False)
        self.window.note_state()


class SavedScreen(Screen):
    name, heading, code = "saved", "FLAG SAVED", "ML-239"

    def __init__(self, window: LedgerWindow, transaction: Transaction, flag_id: int) -> None:
        super().__init__(window)
        self._transaction, self._flag_id = transaction, flag_id
        look = self.look
        look.label(self, f"Flag {flag_id} saved", font=look.bold).pack(anchor="w", pady=(look.px(30), look.px(8)))
        look.label(self, f"Transaction {transaction.reference} is marked for review.").pack(anchor="w")
        self.buttons(("ok", "OK", self.back))
        self.first = self.parts["ok"]

    def values(self) -> dict[str, str]:
        return {"flag_id": str(self._flag_id)}

    def back(self) -> None:
        if self.window.begin_action():
            self.window.go(lambda: DetailScreen(self.window, self._transaction))


def _flags_line(reasons: list[str]) -> str:
    """Return `Flags on file: 0`, or `Flags on file: 2 (Wrong amount, Other)` with at most three reasons."""
    if not reasons:
        return "Flags on file: 0"
    more = ", ..." if len(reasons) > 3 else ""
    return f"Flags on file: {len(reasons)} ({', '.join(reasons[:3])}{more})"
