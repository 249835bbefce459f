"""Grisbi: enter a transaction with payee, amount and number in the form of an account, and save the file."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from collections.abc import Sequence
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
    press,
    types,
)
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Size

PAYEES = ("Adler Ltd", "Berg and Sons", "Cedar Foods", "Dorn Printing")
BOOK = """<?xml version="1.0" encoding="UTF-8"?>
<Grisbi>
<General File_version="2.0.0" Grisbi_version="2.0.5" File_title="Office" Date_format="%d/%m/%Y" Decimal_point="."
 Thousands_separator="" Currency_general="1" Form_columns_number="6" Form_lines_number="4"
 Form_organization="1-2-3-4-0-0-6-7-8-9-0-0-12-14-16-17-0-0-5-10-11-15-0-0-" Form_columns_width="10-12-30-12-12-24-" />
<Currency Nb="1" Na="Euro" Co="EUR" Ico="EUR" Fl="2" />
<Account Name="Main account" Id="" Number="1" Owner="" Kind="0" Currency="1" Bank="0" Initial_balance="0.00"
 Minimum_wanted_balance="0.00" Minimum_authorised_balance="0.00" Closed_account="0" Lines_per_transaction="1"
 Default_debit_method="1" Default_credit_method="2" Sort_order="1/2" />
<Payment Number="1" Name="Card" Sign="1" Show_entry="0" Automatic_number="0" Account="1" />
<Payment Number="2" Name="Deposit" Sign="2" Show_entry="0" Automatic_number="0" Account="1" />
{payees}
</Grisbi>
"""


SETTINGS = """[Root]
first-use=false
[Display]
formulaire-toujours-affiche=true
[Tips]
show-tip=false
[Geometry]
maximized=true
"""
"""No assistant and no tip at the start, and the form is always visible."""


class Grisbi(Program):
    name, title = "grisbi", "Grisbi 2.0 (GTK 3)"
    binary, packages = "grisbi", ("grisbi",)
    task = "Enter a transaction with this payee, debit and note, and save the file. Answer done."
    drifts = ("larger font", "dark theme", "smaller screen", "window moved", "another order", "tip", "slow")
    items = (
        {"payee": "Adler Ltd", "debit": "125.50", "note": "paper for May"},
        {"payee": "Cedar Foods", "debit": "48.20", "note": "lunch of the board"},
        {"payee": "Dorn Printing", "debit": "1310.00", "note": "flyers"},
        {"payee": "Berg and Sons", "debit": "7.95", "note": "two keys"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        payees = "\n".join(
            f'<Party Nb="{key}" Na="{name}" Txt="" Search="" />'
            for key, name in enumerate(reversed(PAYEES) if drift == "another order" else PAYEES, 1)
        )
        (folder / "office.gsb").write_text(BOOK.format(payees=payees), encoding="utf-8")
        settings = folder / ".config" / "grisbi" / "grisbi.conf"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS)
        environment = {"larger font": GTK_FONT, "dark theme": GTK_DARK}.get(drift, {})
        return Started(["grisbi", str(folder / "office.gsb")], environment)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("cell", "Main account")) or bool(tree.find("label", "Main account*"))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            press("cell", "Main account"),
            press("button", "New transaction"),
            _field("Payee"),
            types(item["payee"], overwrite=True),
            keys("tab"),  # a click would only close the list of suggested payees
            _field("Debit"),
            types(item["debit"], overwrite=True),
            _field("Notes"),
            types(item["note"], overwrite=True),
            press("button", "Validate"),
            keys("ctrl", "s"),
            press("button", "Save"),  # Grisbi asks before each time that it saves
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        root = xml.parse(folder / "office.gsb").getroot()
        payees = {one.get("Nb"): one.get("Na", "") for one in root.iter("Party")}
        return [
            (payees.get(one.get("Pa"), ""), f"{float(one.get('Am', '0')):.2f}", one.get("No", ""))
            for one in root.iter("Transaction")
        ]

    def expected(self, before: Records, item: Values) -> Records:
        return [*before, (item["payee"], f"-{item['debit']}", item["note"])]


def _field(hint: str) -> Step:
    """Return a click into the field that holds this hint. The fields of the form have no names."""

    def step(tree: ElementTree, size: Size) -> Call | None:
        found = [each for each in tree.find("text field") if each.value == hint and "editable" in each.states]
        return pointed(found[0].box.center.x, found[0].box.center.y, hint, size) if found else None

    return step
