"""Wagtail's admin pages in Chromium: search a supplier, change four of its fields, and save it."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import Program, Records, Started, Step, Values, answers, press, types
from benchmarks.field.programs.django_admin import DARK, FLAGS, PYTHON
from holo_tasks.core.elements.elements import ElementTree

SITE = Path(__file__).parents[1] / "sites" / "wagtail_site.py"
SUPPLIERS = (
    *(("L-301", "Adler Ltd"), ("L-302", "Berg and Sons"), ("L-307", "Cedar Foods")),
    *(("L-310", "Dorn Printing"), ("L-312", "Elm Street Kitchen"), ("L-321", "Ferry Lines")),
)
FIELDS = ("number", "name", "contact", "terms", "approved", "note")


class Wagtail(Program):
    name, title = "wagtail", "Wagtail 7.0 (Chromium)"
    binary, packages = "chromium", ("chromium",)
    task = (
        "Open the supplier with this number, enter this contact and note, set the terms to 30 days, tick Approved, "
        "and save it. Answer done."
    )
    drifts = (
        *("larger font", "dark theme", "smaller screen", "window moved", "another order", "tip", "slow server"),
        "page two",
    )
    items = (
        {"number": "L-302", "contact": "Ada Winter", "note": "delivers on Mondays"},
        {"number": "L-307", "contact": "Jon Summer", "note": "closed in August"},
        {"number": "L-312", "contact": "Eva Spring", "note": "asks for a deposit"},
        {"number": "L-321", "contact": "Max Autumn", "note": "ferry tickets only"},
    )

    @classmethod
    def missing(cls) -> str:
        return super().missing() or ("" if PYTHON.exists() else "run deployments/setup.sh field")

    def prepare(self, folder: Path, drift: str) -> Started:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        site, made = [str(PYTHON), str(SITE), str(folder), str(port)], folder.parent / "made.db"
        if not made.exists():  # 200 changes of the database take a minute
            subprocess.run([*site, "make"], check=True, capture_output=True)
            shutil.copy(folder / "office.db", made)
        shutil.copy(made, folder / "office.db")
        with sqlite3.connect(folder / "office.db") as office:
            rows = [(*each, "", "14", 0, "") for each in SUPPLIERS]
            marks = ", ".join("?" * len(FIELDS))
            office.executemany(
                f"insert into office_supplier ({', '.join(FIELDS)}) values ({marks})",
                reversed(rows) if drift in ("another order", "page two") else rows,
            )
        url = f"http://127.0.0.1:{port}/admin/snippets/office/supplier/"
        look = {"larger font": ("--force-device-scale-factor=1.25",), "dark theme": DARK}.get(drift, ())
        profile = f"--user-data-dir={folder / 'profile'}"
        browser = [shutil.which("chromium") or "chromium", *FLAGS, *look, profile, f"--app={url}"]
        served = ["serve", "1.2" if drift == "slow server" else "0", *(["3"] if drift == "page two" else [])]
        return Started(browser, {}, [*site, *served], url)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("link", SUPPLIERS[0][0]))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            press("link", item["number"]),
            press("text field", "Contact"),
            types(item["contact"], overwrite=True),
            press("text field", "Note"),
            types(item["note"], overwrite=True),
            press("combo box", "Terms*"),
            press("menu item", "30 days", last=True),
            press("check box", "Approved"),
            press("button", "Save"),
            answers("done", when=press("link", SUPPLIERS[-1][0])),
        ]

    def records(self, folder: Path) -> Records:
        with sqlite3.connect(folder / "office.db") as office:
            rows = office.execute(f"select {', '.join(FIELDS)} from office_supplier").fetchall()
        return [tuple(map(str, row)) for row in rows]

    def expected(self, before: Records, item: Values) -> Records:
        done = item["contact"], "30", "1", item["note"]
        return [(*one[:2], *done) if one[0] == item["number"] else one for one in before]
