"""Gnumeric: enter an invoice in the next free row of a sheet, and save the file."""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import (
    GTK_DARK,
    GTK_FONT,
    Program,
    Records,
    Started,
    Step,
    Values,
    answers,
    keys,
    types,
)
from holo_tasks.core.elements.elements import ElementTree

ROWS = (("Number", "Customer", "Amount"), ("R-0901", "Adler Ltd", "75"), ("R-0902", "Cedar Foods", "140.5"))


class Gnumeric(Program):
    name, title = "gnumeric", "Gnumeric 1.12 (GTK 3)"
    binary, packages = "gnumeric", ("gnumeric",)
    task = "Enter the invoice with this number, customer and amount in the next free row, and save it. Answer done."
    drifts = ("larger font", "dark theme", "smaller screen", "window moved", "tip", "slow")
    items = (
        {"number": "R-1001", "customer": "Berg and Sons", "amount": "125.5"},
        {"number": "R-1002", "customer": "Dorn Printing", "amount": "48.2"},
        {"number": "R-1007", "customer": "Elm Street Kitchen", "amount": "1310"},
        {"number": "R-1010", "customer": "Ferry Lines", "amount": "7.95"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        text = "\n".join(",".join(row) for row in ROWS)
        source = folder / "invoices.csv"
        source.write_text(text + "\n", encoding="utf-8")
        subprocess.run(["ssconvert", str(source), str(folder / "invoices.gnumeric")], check=True, capture_output=True)
        environment = {"larger font": GTK_FONT, "dark theme": GTK_DARK}.get(drift, {})
        return Started(["gnumeric", "--no-splash", str(folder / "invoices.gnumeric")], environment)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("menu", "File")) and bool(tree.find("text field"))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            keys("ctrl", "down"),
            keys("down"),
            types(item["number"]),
            keys("tab"),
            types(item["customer"]),
            keys("tab"),
            types(item["amount"], press_enter=True),
            keys("ctrl", "s"),
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        text = gzip.decompress((folder / "invoices.gnumeric").read_bytes()).decode()
        cells = re.findall(r'<gnm:Cell Row="(\d+)" Col="(\d+)"[^>]*>([^<]*)<', text)
        return [(row, column, _as_shown(text)) for row, column, text in cells]

    def expected(self, before: Records, item: Values) -> Records:
        return [
            *before,
            *(("3", str(n), item[each]) for n, each in enumerate(("number", "customer", "amount"))),
        ]


def _as_shown(text: str) -> str:
    """Return a number as the sheet shows it. The file holds 7.95 as 7.94999999999999999983."""
    return f"{float(text):.12g}" if re.fullmatch(r"-?\d+\.\d+", text) else text
