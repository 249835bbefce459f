"""LibreOffice Calc: enter an invoice in the next free row of a sheet, cell by cell, and save the file."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from benchmarks.field.program import (
    GTK_DARK,
    GTK_FONT,
    Call,
    Program,
    Records,
    Started,
    Step,
    Values,
    answers,
    keys,
    pointed,
    types,
)
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.screen.geometry import Size

HEADINGS = ("Number", "Customer", "Amount")
ROWS = (("R-0901", "Adler Ltd", "75"), ("R-0902", "Cedar Foods", "140.5"))
LONGER = (*ROWS, ("R-0903", "Hill Bakery", "18"))
"""The rows after a colleague has entered one more."""
ODF = "urn:oasis:names:tc:opendocument:xmlns:"
SPACES = " ".join(f'xmlns:{name}="{ODF}{name}:1.0"' for name in ("office", "table", "text"))
SHEET = (
    f'<?xml version="1.0" encoding="UTF-8"?><office:document {SPACES} office:version="1.2" '
    'office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:body><office:spreadsheet>'
    '<table:table table:name="Invoices">{rows}</table:table></office:spreadsheet></office:body></office:document>'
)
QUIETLY = ("--norestore", "--nologo", "--nofirststartwizard", "--calc")


class Calc(Program):
    name, title = "calc", "LibreOffice Calc 7.4 (GTK 3)"
    binary, packages = "localc", ("libreoffice-calc", "libreoffice-gtk3")
    task = "Enter the invoice with this number, customer and amount in the next free row, and save it. Answer done."
    drifts = (
        *("larger font", "dark theme", "smaller screen", "window moved"),
        *("longer list", "new column", "tip", "slow"),
    )
    items = (
        {"number": "R-1001", "customer": "Berg and Sons", "amount": "125.5"},
        {"number": "R-1002", "customer": "Dorn Printing", "amount": "48.2"},
        {"number": "R-1007", "customer": "Elm Street Kitchen", "amount": "1310"},
        {"number": "R-1010", "customer": "Ferry Lines", "amount": "7.95"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        rows: list[tuple[str, ...]] = [HEADINGS, *(LONGER if drift == "longer list" else ROWS)]
        if drift == "new column":
            rows = [(row[0], "Clerk" if row is rows[0] else "Ann", *row[1:]) for row in rows]
        (folder / "invoices.fods").write_text(SHEET.format(rows="".join(map(_row, rows))), encoding="utf-8")
        environment = {"larger font": GTK_FONT, "dark theme": GTK_DARK}.get(drift, {})
        return Started(["soffice", *QUIETLY, str(folder / "invoices.fods")], environment)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("cell", "C3"))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            _next_free,
            types(item["number"]),
            keys("tab"),
            types(item["customer"]),
            keys("tab"),
            types(item["amount"], press_enter=True),
            keys("ctrl", "s"),
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        root = xml.parse(folder / "invoices.fods").getroot()
        rows = [[*_texts(row)] for row in root.iter(f"{{{ODF}table:1.0}}table-row")]
        filled = [row for row in rows if any(row)]
        return [tuple("".join(row[n : n + 1]) for n in range(max(map(len, filled)))) for row in filled]

    def expected(self, before: Records, item: Values) -> Records:
        headings = before[0]
        return [*before, tuple(item.get(heading.casefold(), "") for heading in headings)]


def _row(cells: Iterable[str]) -> str:
    return f"<table:table-row>{''.join(map(_cell, cells))}</table:table-row>"


def _cell(text: str) -> str:
    is_number = text.replace(".", "", 1).isdigit()
    kind = f'office:value-type="float" office:value="{text}"' if is_number else 'office:value-type="string"'
    return f"<table:table-cell {kind}><text:p>{escape(text)}</text:p></table:table-cell>"


def _texts(row: xml.Element) -> Iterable[str]:
    """Yield the contents of a row's cells, numbers as the file holds them."""
    for cell in row.iter(f"{{{ODF}table:1.0}}table-cell"):
        text = "".join(cell.itertext()).strip()
        times = int(cell.get(f"{{{ODF}table:1.0}}number-columns-repeated", "1")) if text else 1
        yield from [cell.get(f"{{{ODF}office:1.0}}value") or text] * times


def _next_free(tree: ElementTree, size: Size) -> Call | None:
    """Return a click on the first cell of the row below the last invoice."""
    named: dict[str, Element] = {each.name: each for each in tree.find("cell") if each.value}
    rows = [int(name[1:]) for name in named if name[0] == "A" and name[1:].isdigit()]
    if len(rows) < 2:
        return None
    last = named[f"A{max(rows)}"]
    row = last.box.center.y - named[f"A{max(rows) - 1}"].box.center.y
    return pointed(last.box.center.x, last.box.center.y + row, "the first free cell of column A", size)
