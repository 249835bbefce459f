"""Ledger: a small desktop program without an API. It takes the place of the program that you have to use.

It keeps the flags in a JSON file, which its argument names.
"""

import json
import sys
from pathlib import Path

from window import Window

POSTED = {
    "TX-10482": ("Kestrel House Hotel", "1,284.50"),
    "TX-10716": ("Tandem Car Hire", "381.60"),
    "TX-10742": ("Brenner Werkzeuge", "1,476.90"),
}
records = Path(sys.argv[1])
flags = json.loads(records.read_text()) if records.exists() else {}
window = Window("Ledger")


def search_page() -> None:
    window.show("TRANSACTION SEARCH")
    reference = window.field("Reference")
    window.button("Search", lambda: detail_page(reference.get().strip()))


def detail_page(reference: str) -> None:
    if reference not in POSTED:
        window.show("NO SUCH TRANSACTION")
        window.line("Reference", reference)
    else:
        merchant, amount = POSTED[reference]
        window.show("TRANSACTION DETAIL")
        window.line("Reference", reference)
        window.line("Merchant", merchant)
        window.line("Amount", amount)
        window.line("Currency", "EUR")
        window.line("Status", "flagged" if reference in flags else "open")
        remark = window.field("Remark")
        window.button("Flag for review", lambda: flag(reference, remark.get()))
    window.button("Back", search_page)


def flag(reference: str, remark: str) -> None:
    flags[reference] = remark
    records.write_text(json.dumps(flags))
    window.show("FLAG SAVED")
    window.line("Reference", reference)
    window.line("Status", "flagged")
    window.button("Back", search_page)


search_page()
window.mainloop()
