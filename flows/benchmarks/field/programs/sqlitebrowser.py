"""DB Browser for SQLite: run a statement in its editor, which has no name, and write the changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import (
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

INVOICES = (
    *(("B-2001", "Adler Ltd"), ("B-2002", "Berg and Sons"), ("B-2007", "Cedar Foods")),
    *(("B-2010", "Dorn Printing"), ("B-2012", "Elm Street Kitchen"), ("B-2021", "Ferry Lines")),
)


class SqliteBrowser(Program):
    name, title = "sqlitebrowser", "DB Browser for SQLite 3.12 (Qt 5)"
    binary, packages = "sqlitebrowser", ("sqlitebrowser",)
    task = "Run this SQL statement, and write the changes. Answer done."
    drifts = ("larger font", "smaller screen", "window moved", "tip", "slow")
    items = (
        {"statement": "insert into note values ('B-2002', 'call back')"},
        {"statement": "insert into note values ('B-2007', 'see letter')"},
        {"statement": "update invoice set customer = 'Dorn Print' where number = 'B-2010'"},
        {"statement": "delete from invoice where number = 'B-2021'"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        with sqlite3.connect(folder / "office.db") as book:
            book.execute("create table invoice (number text, customer text)")
            book.execute("create table note (number text, note text)")
            book.executemany("insert into invoice values (?, ?)", INVOICES)
        environment = {"QT_FONT_DPI": "120"} if drift == "larger font" else {}
        return Started(["sqlitebrowser", str(folder / "office.db")], environment)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("tab", "Execute SQL"))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            press("tab", "Execute SQL"),
            _editor,
            types(item["statement"]),
            keys("ctrl", "enter"),
            keys("ctrl", "s"),
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        with sqlite3.connect(f"file:{folder / 'office.db'}?mode=ro", uri=True) as book:
            kept = [("invoice", *row) for row in book.execute("select * from invoice")]
            return [*kept, *(("note", *row) for row in book.execute("select * from note"))]

    def expected(self, before: Records, item: Values) -> Records:
        with sqlite3.connect(":memory:") as book:
            book.execute("create table invoice (number text, customer text)")
            book.execute("create table note (number text, note text)")
            book.executemany("insert into invoice values (?, ?)", [row[1:] for row in before])
            book.execute(item["statement"])
            kept = [("invoice", *row) for row in book.execute("select * from invoice")]
            return [*kept, *(("note", *row) for row in book.execute("select * from note"))]


def _editor(tree: ElementTree, size: Size) -> Call | None:
    """Return a click on the editor of statements."""
    fields = [each for each in tree.find("text field") if "editable" in each.states and not each.name]
    found = [each for each in fields if each.box.height > 100]
    return pointed(found[0].box.center.x, found[0].box.center.y, "editor", size) if found else None
