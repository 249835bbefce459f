"""Calibre: open the record of a report, set its publisher and a tag, and store it in the library."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import Program, Records, Started, Step, Values, answers, keys, press, types
from holo_tasks.core.elements.elements import ElementTree

REPORTS = (
    *(("Paper in offices", "Anna Adler"), ("Cold storage of fruit", "Bruno Berg")),
    *(("Fair prices for timber", "Clara Cedar"), ("Printing on demand", "David Dorn")),
    *(("Kitchens of small firms", "Erika Elm"), ("Freight on rivers", "Frank Ferry")),
)
MAKE = """
import json, sys
from calibre.ebooks.metadata.book.base import Metadata
from calibre.library import db
library = db(sys.argv[-2]).new_api
for title, author in json.loads(sys.argv[-1]):
    library.create_book_entry(Metadata(title, [author]))
"""
SHOWN = """
select title, (select name from publishers, books_publishers_link as link
    where link.publisher = publishers.id and link.book = books.id),
    (select group_concat(name) from tags, books_tags_link as link where link.tag = tags.id and link.book = books.id)
from books order by title
"""


class Calibre(Program):
    name, title = "calibre", "calibre 6.13 (Qt 6)"
    binary, packages = "calibre", ("calibre",)
    task = "Open the record of the report with this title, set its publisher and its tag, and store it. Answer done."
    drifts = ("larger font", "dark theme", "smaller screen", "window moved", "another order", "tip", "slow")
    items = (
        {"title": "Cold storage of fruit", "publisher": "Harbour Press", "tag": "trade"},
        {"title": "Fair prices for timber", "publisher": "Hill and Sons", "tag": "forest"},
        {"title": "Kitchens of small firms", "publisher": "Market Books", "tag": "food"},
        {"title": "Freight on rivers", "publisher": "Quay House", "tag": "transport"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        settings, library = folder / "settings", folder / "library"
        settings.mkdir()
        library.mkdir()
        (settings / "dynamic.pickle.json").write_text('{"welcome_wizard_was_run": true}')
        if drift == "dark theme":
            (settings / "gui.json").write_text('{"color_palette": "dark"}')
        script = folder / "make.py"
        script.write_text(MAKE)
        reports = json.dumps([*reversed(REPORTS)] if drift == "another order" else REPORTS)
        environment = {"CALIBRE_CONFIG_DIRECTORY": str(settings), "HOME": str(folder)}
        make = ["calibre-debug", str(script), "--", str(library), reports]
        subprocess.run(make, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", **environment})
        if drift == "larger font":
            environment["QT_FONT_DPI"] = "120"
        return Started(["calibre", "--with-library", str(library)], environment)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find(None, REPORTS[0][0]))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            press("cell", item["title"]),
            keys("e"),
            press("combo box", "Publisher:"),
            types(item["publisher"], overwrite=True),
            press("combo box", "Tags:"),
            types(item["tag"], overwrite=True),
            press("button", "OK"),
            answers("done", when=press("cell", item["title"])),
        ]

    def records(self, folder: Path) -> Records:
        with sqlite3.connect(f"file:{folder / 'library' / 'metadata.db'}?mode=ro", uri=True) as library:
            return [(title, publisher or "", tags or "") for title, publisher, tags in library.execute(SHOWN)]

    def expected(self, before: Records, item: Values) -> Records:
        done = (item["title"], item["publisher"], item["tag"])
        return [done if one[0] == item["title"] else one for one in before]
