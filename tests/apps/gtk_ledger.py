"""GTK version of the demo's ledger: the same screens and texts, in a toolkit with an accessibility tree.

Run it with an interpreter that has PyGObject (Debian: python3-gi, gir1.2-gtk-3.0) and `flows/demo` on its path:

    MERIDIAN_PASSWORD=... /usr/bin/python3 tests/apps/gtk_ledger.py --db FILE

It has none of the demo's difficulties: no tips, no expiring sessions, and a delay only when saving.
"""

from __future__ import annotations

import argparse
import hmac
import os
import sys
from collections.abc import Callable
from pathlib import Path

import gi

sys.path.insert(0, str(Path(__file__).parents[2] / "flows" / "demo"))
gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402
from legacy_ledger_db import REASONS, REFERENCE, LedgerFile, Transaction  # noqa: E402

TITLE = "Meridian Ledger 4.2"
SHORTEST_NOTE, SAVE_MS = 10, 300
LOOK = b"""
* { font-family: "DejaVu Sans"; font-size: 15px; color: #000000; }
.heading { font-weight: bold; font-size: 17px; color: #ffffff; background: #000070; padding: 6px 12px; }
.status { padding: 4px 8px; border: 1px solid #808080; }
.value { background: #dedede; padding: 3px 6px; border: 1px solid #808080; }
window { background: #c3c3c3; }
"""


class Ledger:
    """One window, one screen at a time."""

    def __init__(self, ledger: LedgerFile, user: str, password: str) -> None:
        self.ledger, self.user, self._password = ledger, user, password
        self.signed_on = False
        style = Gtk.CssProvider()
        style.load_from_data(LOOK)
        Gtk.StyleContext.add_provider_for_screen(
            Gdk.Screen.get_default(), style, Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION
        )
        self.window = Gtk.Window(title=TITLE, resizable=False, default_width=760, default_height=520)
        self.window.set_size_request(760, 520)
        self.window.connect("destroy", Gtk.main_quit)
        whole = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6)
        self.window.add(whole)
        self._heading, self._stage = label("", "heading"), Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=10)
        self._stage.set_border_width(20)
        status = Gtk.Box(spacing=4)
        self._message, self._who = label("", "status"), label("", "status")
        status.pack_start(self._message, True, True, 0)
        status.pack_start(self._who, False, False, 0)
        whole.pack_start(self._heading, False, False, 0)
        whole.pack_start(self._stage, True, True, 0)
        whole.pack_end(status, False, False, 0)
        self.sign_on()

    def show(self, heading: str, *parts: Gtk.Widget, message: str = "") -> None:
        """Replace the current screen by another one."""
        for old in self._stage.get_children():
            self._stage.remove(old)
        for part in parts:
            self._stage.pack_start(part, False, False, 0)
        self._heading.set_text(heading)
        self._who.set_text(f"USER {self.user.upper()}" if self.signed_on else "NO USER")
        self.say(message)
        self.window.show_all()

    def say(self, message: str) -> None:
        """Write on the status line."""
        self._message.set_text(message or "M-000 Ready")

    def sign_on(self, message: str = "") -> None:
        """Show the sign-on screen."""
        self.signed_on = False
        user, password = Gtk.Entry(), Gtk.Entry(visibility=False)

        def log_in(*_: object) -> None:
            right = hmac.compare_digest(password.get_text().encode(), self._password.encode())
            if user.get_text() != self.user or not right:
                password.set_text("")
                self.say("E-101 SIGN ON REFUSED")
                return
            self.signed_on = True
            self.menu()

        password.connect("activate", log_in)
        form = grid(("User", user), ("Password", password))
        self.show(
            "MERIDIAN LEDGER - SIGN ON", form, buttons(("Log in", log_in), ("Exit", Gtk.main_quit)), message=message
        )
        user.grab_focus()

    def menu(self, *_: object) -> None:
        """Show the main menu."""
        refused = lambda *_: self.say("E-203 MODULE NOT LICENSED")  # noqa: E731
        choices = [
            button("Transaction search", self.search),
            button("Merchant register", refused),
            button("Month-end reports", refused),
            button("Sign off", lambda *_: self.sign_on("M-010 Signed off")),
        ]
        self.show("MAIN MENU", *choices)

    def search(self, *_: object) -> None:
        """Show the form for a reference."""
        reference = Gtk.Entry()

        def find(*_: object) -> None:
            wanted = reference.get_text()
            if not REFERENCE.fullmatch(wanted):
                self.say("E-114 CHECK FIELD: REFERENCE")
                return
            found = self.ledger.transaction(wanted)
            if found is None:
                text = label(f"There is no transaction {wanted} in this ledger.")
                self.show("NO RECORD FOUND", text, buttons(("Back", self.search)))
            else:
                self.detail(found)

        reference.connect("activate", find)
        clear: Callable[..., None] = lambda *_: reference.set_text("")  # noqa: E731
        form = grid(("Reference", reference), ("", label("Two capital letters, a hyphen, five digits")))
        self.show("TRANSACTION SEARCH", form, buttons(("Search", find), ("Clear", clear), ("Main menu", self.menu)))
        reference.grab_focus()

    def detail(self, found: Transaction) -> None:
        """Show one transaction."""
        shown = {
            "Reference": found.reference,
            "Merchant": found.merchant,
            "Date": found.date,
            "Amount": found.amount,
            "Currency": found.currency,
            "Card holder": found.card_holder,
            "Status": found.status,
        }
        reasons = [flag.reason for flag in self.ledger.flags(found.reference)]
        line = f"Flags on file: {len(reasons)}" + (f" ({', '.join(reasons[:3])})" if reasons else "")
        form = grid(*((name, label(value, "value", width=44)) for name, value in shown.items()))
        flag: Callable[..., None] = lambda *_: self.flag(found)  # noqa: E731
        self.show("TRANSACTION DETAIL", form, label(line), buttons(("Flag for review", flag), ("Back", self.search)))

    def flag(self, found: Transaction) -> None:
        """Show the form for a flag."""
        first = Gtk.RadioButton.new_with_label(None, "(none)")
        choices = [Gtk.RadioButton.new_with_label_from_widget(first, reason) for reason in REASONS]
        listed = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        for choice in choices:
            listed.pack_start(choice, False, False, 0)
        note = Gtk.Entry(width_chars=46)

        def save(*_: object) -> None:
            reason = next((choice.get_label() for choice in choices if choice.get_active()), "")
            wrong = "REASON" if not reason else "NOTE" if len(note.get_text().strip()) < SHORTEST_NOTE else ""
            if wrong:
                self.ledger.refuse_save(found.reference, "rejected")
                self.say(f"E-114 CHECK FIELD: {wrong}")
                return
            number = self.ledger.save_flag(found.reference, reason, note.get_text().strip())
            self.say("Working...")
            GLib.timeout_add(SAVE_MS, saved, number)

        def saved(number: int) -> bool:
            self.show(
                "FLAG SAVED",
                label(f"Flag {number} saved"),
                label(f"Transaction {found.reference} is marked for review."),
                buttons(("OK", lambda *_: self.detail(found))),
            )
            return False

        summary = label(f"{found.reference}   {found.merchant}", "value", width=44)
        form = grid(("Transaction", summary), ("Reason", listed), ("Note", note))
        back: Callable[..., None] = lambda *_: self.detail(found)  # noqa: E731
        self.show("FLAG FOR REVIEW", form, buttons(("Save flag", save), ("Cancel", back)))


def label(text: str, look: str = "", *, width: int = -1) -> Gtk.Label:
    """Return a line of text."""
    made = Gtk.Label(label=text, xalign=0, width_chars=width)
    if look:
        made.get_style_context().add_class(look)
    return made


def button(text: str, press: Callable[..., None]) -> Gtk.Button:
    """Return a button with its action."""
    made = Gtk.Button(label=text)
    made.connect("clicked", press)
    return made


def buttons(*labelled: tuple[str, Callable[..., None]]) -> Gtk.Box:
    """Return a row of buttons."""
    row = Gtk.Box(spacing=12)
    for text, press in labelled:
        row.pack_start(button(text, press), False, False, 0)
    return row


def grid(*rows: tuple[str, Gtk.Widget]) -> Gtk.Grid:
    """Return a column of fields, each with a label that gives its accessible name."""
    made = Gtk.Grid(column_spacing=24, row_spacing=8)
    for number, (text, field) in enumerate(rows):
        words = label(text)
        if text:
            words.set_mnemonic_widget(field)
        made.attach(words, 0, number, 1, 1)
        made.attach(field, 1, number, 1, 1)
    return made


def main() -> int:
    """Show the window until it is closed."""
    parser = argparse.ArgumentParser(prog="gtk_ledger", description=TITLE)
    parser.add_argument("--db", type=Path, required=True, metavar="FILE", help="the ledger's SQLite file")
    parser.add_argument("--user", default="auditor", help="the user name (default: %(default)s)")
    options = parser.parse_args()
    password = os.environ.get("MERIDIAN_PASSWORD", "")
    if not password:
        print("gtk_ledger: no password: set MERIDIAN_PASSWORD", file=sys.stderr)
        return 2
    ledger = LedgerFile(options.db)
    ledger.check()
    Ledger(ledger, options.user, password).window.show_all()
    Gtk.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
