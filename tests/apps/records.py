"""A small program of orders for any toolkit: its pages as values, the effects of its buttons, and its drifts.

`records_tk`, `records_gtk3` and `records_qt` draw it. Permanent effects go to a file, one JSON object per line. A
replay is judged by this file, never by the screen. A drift is the difference between the current and the recorded
program.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

ORDERS = {
    "AB-1207": ("Fischer and Sons", "1,284.50", "Open"),
    "CD-3391": ("Harvest Market", "77.00", "Packed"),
    "EF-5050": ("Kite Supplies", "9,310.25", "Open"),
    "GH-6128": ("Lantern Works", "450.75", "Packed"),
}
FIRST_RECEIPT = 5012
SLOW_MS, LATE_MS, HUNG_S = 4000, 20_000, 90
"""Working time of a slow program, delay of a late answer, and duration of a hang."""
SHIFT_MS = 350
"""Delay after drawing a page until its buttons change places."""


@dataclass(frozen=True)
class Text:
    """A line of text on a page."""

    text: str
    heading: bool = False


@dataclass(frozen=True)
class Value:
    """A label with a value to its right."""

    label: str
    text: str


@dataclass(frozen=True)
class Field:
    """A field to type into, with its label."""

    name: str
    label: str
    text: str = ""


@dataclass(frozen=True)
class Button:
    """A button: its label, its action, and whether it is enabled."""

    label: str
    press: str
    enabled: bool = True


@dataclass(frozen=True)
class Buttons:
    """Buttons in a row."""

    row: tuple[Button, ...]


Row = Text | Value | Field | Buttons


@dataclass(frozen=True)
class Look:
    """How pages are drawn: ``place`` is the window's, ``above`` puts labels above their fields."""

    font: str = "DejaVu Sans"
    points: int = 11
    bold: bool = False
    fore: str = "#101010"
    back: str = "#dcdcdc"
    field_back: str = "#ffffff"
    pad: int = 6
    width: int = 560
    height: int = 420
    place: tuple[int, int] = (60, 40)
    above: bool = False
    colon: bool = False
    title: str = "Order Desk"
    scale: float = 1.0


@dataclass(frozen=True)
class Drift:
    """Differences from the recorded program: in its looks, and in its behaviour (by names)."""

    look: Look = field(default_factory=Look)
    does: tuple[str, ...] = ()


_LOOK = Look()
_DARK = replace(_LOOK, fore="#e8e8e8", back="#262a30", field_back="#3a4049")
COSMETIC = {
    "larger font": Drift(replace(_LOOK, points=14, height=560, width=680)),
    "smaller font": Drift(replace(_LOOK, points=9)),
    "bold": Drift(replace(_LOOK, bold=True)),
    "serif": Drift(replace(_LOOK, font="DejaVu Serif")),
    "monospaced": Drift(replace(_LOOK, font="DejaVu Sans Mono", width=700)),
    "another sans": Drift(replace(_LOOK, font="Nimbus Sans", points=12)),
    "dark theme": Drift(_DARK),
    "blue theme": Drift(replace(_LOOK, fore="#0b2545", back="#c9dcf2", field_back="#f4f9ff")),
    "larger window": Drift(replace(_LOOK, width=980, height=680, place=(10, 10))),
    "smaller window": Drift(replace(_LOOK, width=460, height=380)),
    "moved": Drift(replace(_LOOK, place=(430, 210))),
    "buttons the other way round": Drift(does=("buttons reversed",)),
    "fields in another order": Drift(does=("fields reversed",)),
    "a field inserted above": Drift(does=("field above",)),
    "a field inserted below": Drift(does=("field below",)),
    "a line inserted": Drift(does=("line inserted",)),
    "one more button": Drift(does=("more buttons",)),
    "scaled by 1.5": Drift(replace(_LOOK, scale=1.5, place=(10, 10))),
    "another title": Drift(replace(_LOOK, title="Order Desk 2027 - Northern branch")),
    "labels above, with colons": Drift(replace(_LOOK, above=True, colon=True, height=560)),
}
HARMFUL = {
    name: Drift(does=(name,))
    for name in (
        "renamed",
        "look-alike",
        "look-alike alone",
        "popup",
        "slow",
        "confirmation",
        "disabled",
        "another record",
        "filled field",
        "missing",
        "other language",
        "layout shift",
        "session expired",
    )
}
FAULTS = {name: Drift(does=(name,)) for name in ("hung", "effect lost", "effect doubled", "answer late")}
DRIFTS = {"none": Drift(), **COSMETIC, **HARMFUL, **FAULTS}
GERMAN = {
    "FIND AN ORDER": "BESTELLUNG SUCHEN",
    "Order number": "Bestellnummer",
    "Branch": "Filiale",
    "Find order": "Suchen",
    "Clear form": "Leeren",
    "ORDER RECORD": "BESTELLUNG",
    "Note": "Notiz",
    "Save note": "Notiz sichern",
    "Delete order": "Bestellung entfernen",
    "Back to search": "Zur Suche",
}


@dataclass
class Desk:
    """The program: the page on the screen and the effects of a press. ``state`` is the file of permanent effects."""

    state: Path
    drift: Drift
    page: str = "search"
    order: str = ""
    note: str = ""
    shifted: bool = False

    def press(self, what: str, fields: Mapping[str, str]) -> int:
        """Perform a button's action; return the delay in milliseconds until it shows."""
        does = self.drift.does
        self.note = fields.get("note", self.note)
        match what:
            case "find":
                self._find(fields.get("order", "").strip())
            case "save" if "confirmation" in does:
                self.page = "confirm"
            case "save" | "yes":
                self._save([self.order])
            case "save all":
                self._save(list(ORDERS))
            case "delete":
                self._tell({"deleted": self.order})
                self.page = "search"
            case "close":
                self.page = "record"
            case _:
                self.page = "search"
        if "hung" in does and what == "save":
            time.sleep(HUNG_S)
        if "answer late" in does and what == "save":
            return LATE_MS
        return SLOW_MS if "slow" in does and what in ("find", "save") else 0

    @property
    def shifts(self) -> bool:
        """Whether the page is about to change right after it was drawn."""
        return "layout shift" in self.drift.does and self.page == "record" and not self.shifted

    def _find(self, order: str) -> None:
        if order not in ORDERS:
            self.page = "nothing"
            return
        numbers = list(ORDERS)
        later = numbers[(numbers.index(order) + 1) % len(numbers)]
        self.order = later if "another record" in self.drift.does else order
        pages = {"popup": "tip", "session expired": "expired"}
        self.page = next((page for name, page in pages.items() if name in self.drift.does), "record")

    def _save(self, orders: Sequence[str]) -> None:
        times = 0 if "effect lost" in self.drift.does else 2 if "effect doubled" in self.drift.does else 1
        for order in (order for order in orders for _ in range(times)):
            self._tell({"saved": order, "note": self.note})
        self.page = "saved"

    def _tell(self, done: Mapping[str, str]) -> None:
        with self.state.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done) + "\n")

    def rows(self) -> list[Row]:
        """Return the rows of the page."""
        made: dict[str, Callable[[], list[Row]]] = {
            "search": self._search,
            "record": self._record,
            "saved": self._saved,
            "tip": self._tip,
            "confirm": self._confirm,
            "nothing": self._nothing,
            "expired": self._expired,
        }
        return [self._drifted(row) for row in self._inserted(made[self.page]())]

    def _search(self) -> list[Row]:
        fields: list[Row] = [Field("order", "Order number"), Field("branch", "Branch")]
        if "fields reversed" in self.drift.does:
            fields.reverse()
        pressed = Button("Find order", "find"), Button("Clear form", "clear")
        return [Text("FIND AN ORDER", heading=True), *fields, Buttons(pressed), Text("Press F1 for help")]

    def _record(self) -> list[Row]:
        note = Field("note", "Note", "call before noon" if "filled field" in self.drift.does else "")
        buttons = Buttons(self._record_buttons())
        filed = f'"saved": {json.dumps(self.order)}'
        times = sum(filed in line for line in self.state.read_text(encoding="utf-8").splitlines())
        on_file = [Text(f"Notes on file: {times}")] if times else []
        return [Text("ORDER RECORD", heading=True), *self._values(), *on_file, note, buttons, Text("Press F1 for help")]

    def _record_buttons(self) -> tuple[Button, ...]:
        does = self.drift.does
        save = Button("Put on file" if "renamed" in does else "Save note", "save", enabled="disabled" not in does)
        delete, back = Button("Delete order", "delete"), Button("Back to search", "back")
        if "look-alike alone" in does:
            return Button("Save notes", "save all"), delete, back
        if "look-alike" in does:
            return Button("Save notes", "save all"), save, delete, back
        if "missing" in does:
            return delete, back
        return (delete, save, back) if self.shifted else (save, delete, back)

    def _values(self) -> list[Row]:
        customer, total, status = ORDERS[self.order]
        told = {"Order": self.order, "Customer": customer, "Total": total, "Status": status}
        return [Value(label, text) for label, text in told.items()]

    def _saved(self) -> list[Row]:
        receipt = Value("Receipt", str(FIRST_RECEIPT + list(ORDERS).index(self.order)))
        back = Buttons((Button("Back to search", "back"),))
        return [Text("NOTE SAVED", heading=True), *self._values(), receipt, back, Text("Press F1 for help")]

    def _tip(self) -> list[Row]:
        said = Text("Orders of more than a thousand are packed first.")
        return [Text("TIP OF THE DAY", heading=True), said, Buttons((Button("Close tip", "close"),))]

    def _confirm(self) -> list[Row]:
        said = Text("The note goes to the customer, too. Send it?")
        return [Text("PLEASE CONFIRM", heading=True), said, Buttons((Button("Yes", "yes"), Button("No", "close")))]

    def _nothing(self) -> list[Row]:
        return [Text("NOTHING FOUND", heading=True), Buttons((Button("Back to search", "back"),))]

    def _expired(self) -> list[Row]:
        fields = Field("user", "User"), Field("password", "Password")
        return [Text("SIGN ON AGAIN", heading=True), *fields, Buttons((Button("Sign on", "back"),))]

    def _inserted(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Yield the rows of a page, and the rows that the drift inserts."""
        does = self.drift.does
        fields = [row for row in rows if isinstance(row, Field)]
        for row in rows:
            if "field above" in does and fields and row is fields[0]:
                yield Field("desk", "Desk")
            yield row
            if "field below" in does and fields and row is fields[-1]:
                yield Field("remark", "Remark for the books")
            if "line inserted" in does and isinstance(row, Text) and row.heading:
                yield Text("The warehouse is closed on the first of May.")

    def _drifted(self, row: Row) -> Row:
        does = self.drift.does
        if isinstance(row, Buttons):
            buttons = row.row
            if "more buttons" in does:
                buttons = (Button("Print", "back"), *buttons)
            if "buttons reversed" in does:
                buttons = buttons[::-1]
            return Buttons(tuple(replace(button, label=self._said(button.label)) for button in buttons))
        if isinstance(row, Text):
            return replace(row, text=self._said(row.text))
        colon = ":" if self.drift.look.colon else ""
        return replace(row, label=self._said(row.label) + colon)

    def _said(self, text: str) -> str:
        return GERMAN.get(text, text) if "other language" in self.drift.does else text


def started() -> Desk:
    """Return the program that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", type=Path)
    parser.add_argument("--drift", choices=DRIFTS, default="none")
    options = parser.parse_args()
    return Desk(options.state, DRIFTS[options.drift])
