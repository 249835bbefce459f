"""HomeBank: enter a payment with its number, payee, amount and memo, and save the file."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import GTK_DARK, GTK_FONT, Program, Records, Started, Step, Values, answers, press, types
from holo_tasks.core.elements.elements import ElementTree

PAYEES = ("Adler Ltd", "Berg and Sons", "Cedar Foods", "Dorn Printing")
BOOK = """<homebank v="1.3999999999999999" d="050206">
<properties title="Office" curr="1" auto_smode="1" auto_weekday="1"/>
<cur key="1" flags="0" iso="EUR" name="Euro" symb="€" syprf="0" dchar="," gchar="." frac="2" rate="0" mdate="0"/>
<account key="1" pos="1" type="1" curr="1" name="Main account" initial="0" minimum="0"/>
{payees}
</homebank>
"""


class HomeBank(Program):
    name, title = "homebank", "HomeBank 5.6 (GTK 3)"
    binary, packages = "homebank", ("homebank",)
    task = "Add a payment with this amount, number, payee and memo, and save the file. Answer done."
    drifts = ("larger font", "dark theme", "smaller screen", "window moved", "another order", "tip", "slow")
    items = (
        {"amount": "125.50", "number": "R-1001", "payee": "Adler Ltd", "memo": "paper for May"},
        {"amount": "48.20", "number": "R-1002", "payee": "Cedar Foods", "memo": "lunch of the board"},
        {"amount": "1310.00", "number": "R-1007", "payee": "Dorn Printing", "memo": "flyers"},
        {"amount": "7.95", "number": "R-1010", "payee": "Berg and Sons", "memo": "two keys"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        payees = "\n".join(
            f'<pay key="{key}" name="{name}"/>'
            for key, name in enumerate(reversed(PAYEES) if drift == "another order" else PAYEES, 1)
        )
        (folder / "office.xhb").write_text(BOOK.format(payees=payees), encoding="utf-8")
        environment = {"larger font": GTK_FONT, "dark theme": GTK_DARK}.get(drift, {})
        return Started(["homebank", str(folder / "office.xhb")], environment)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("cell", "Main account"))

    def plan(self, item: Values) -> Sequence[Step]:
        fields = ("Amount:", "amount"), ("Info:", "number"), ("Payee:", "payee"), ("Memo:", "memo")
        typed = [
            step
            for label, value in fields
            for step in (
                press("spin button" if value == "amount" else "text field", label),
                types(item[value], overwrite=True),
            )
        ]
        # The first press on Memo only closes the list of suggested payees.
        typed.insert(-2, press("text field", "Memo:"))
        return [
            press("button", "Add"),
            *typed,
            press("button", "Add", last=True),
            press("button", "Close"),  # the dialog stays for the next payment
            press("button", "Save"),
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        root = xml.parse(folder / "office.xhb").getroot()
        payees = {one.get("key"): one.get("name", "") for one in root.iter("pay")}
        return [
            (
                f"{float(one.get('amount', '0')):.2f}",
                one.get("info", ""),
                payees.get(one.get("payee"), ""),
                one.get("wording", ""),
            )
            for one in root.iter("ope")
        ]

    def expected(self, before: Records, item: Values) -> Records:
        return [*before, (f"-{item['amount']}", item["number"], item["payee"], item["memo"])]
