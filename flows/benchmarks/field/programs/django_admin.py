"""Django's admin pages in Chromium: search an order, choose its status, add a remark, and save it."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import Program, Records, Started, Step, Values, answers, press, types
from holo_tasks.core.elements.elements import ElementTree

PYTHON = Path(__file__).resolve().parents[4] / ".venv-field" / "bin" / "python"
"""Python with the packages of deployments/field.lock."""
SITE = Path(__file__).parents[1] / "sites" / "django_site.py"
ORDERS = (
    *(("B-2001", "Adler Ltd", "125.50"), ("B-2002", "Berg and Sons", "48.20"), ("B-2007", "Cedar Foods", "1310.00")),
    *(
        ("B-2010", "Dorn Printing", "7.95"),
        ("B-2012", "Elm Street Kitchen", "220.00"),
        ("B-2021", "Ferry Lines", "61.30"),
    ),
)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--window-size=1200,760", "--window-position=0,0"),
)
DARK = ("--force-dark-mode", "--enable-features=WebContentsForceDark")


class DjangoAdmin(Program):
    name, title = "django", "Django admin 5.2 (Chromium)"
    binary, packages = "chromium", ("chromium",)
    task = "Find the order with this number, set its status to Paid, enter this remark, and save it. Answer done."
    drifts = (
        "larger font",
        "dark theme",
        "smaller screen",
        "window moved",
        "another order",
        "new column",
        "tip",
        "slow server",
    )
    items = (
        {"number": "B-2002", "remark": "by bank transfer"},
        {"number": "B-2007", "remark": "cash at the desk"},
        {"number": "B-2012", "remark": "see letter of May"},
        {"number": "B-2021", "remark": "second reminder"},
    )

    @classmethod
    def missing(cls) -> str:
        return super().missing() or ("" if PYTHON.exists() else "run deployments/setup.sh field")

    def prepare(self, folder: Path, drift: str) -> Started:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        site = [str(PYTHON), str(SITE), str(folder), str(port)]
        subprocess.run([*site, "make"], check=True, capture_output=True)
        with sqlite3.connect(folder / "shop.db") as shop:
            rows = [(*each, "new", "") for each in (reversed(ORDERS) if drift == "another order" else ORDERS)]
            shop.executemany(
                "insert into shop_order (number, customer, amount, status, remark) values (?,?,?,?,?)", rows
            )
        url = f"http://127.0.0.1:{port}/admin/shop/order/"
        look = {"larger font": ("--force-device-scale-factor=1.25",), "dark theme": DARK}.get(drift, ())
        browser = [
            shutil.which("chromium") or "chromium",
            *FLAGS,
            *look,
            f"--user-data-dir={folder / 'profile'}",
            f"--app={url}",
        ]
        served = ["serve", "1.2" if drift == "slow server" else "0", *(["remark"] if drift == "new column" else [])]
        return Started(browser, {}, [*site, *served], url)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("text field", "Search"))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            press("text field", "Search"),
            types(item["number"], overwrite=True, press_enter=True),
            press("link", item["number"]),
            press("combo box", "Status:"),
            press("menu item", "Paid", last=True),
            press("text field", "Remark:"),
            types(item["remark"], overwrite=True),
            press("button", "Save"),
            answers("done", when=press("text field", "Search")),
        ]

    def records(self, folder: Path) -> Records:
        with sqlite3.connect(folder / "shop.db") as shop:
            return shop.execute("select number, status, remark from shop_order").fetchall()

    def expected(self, before: Records, item: Values) -> Records:
        done = (item["number"], "paid", item["remark"])
        return [done if one[0] == item["number"] else one for one in before]
