"""JabRef: open the record of a report by its key, set its publisher and year, and save the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import (
    Program,
    Records,
    Started,
    Step,
    Values,
    answers,
    keys,
    press,
    types,
)
from holo_tasks.core.elements.elements import ElementTree

REPORTS = (
    *(("adler2019", "Adler, Anna", "Paper in offices"), ("berg2020", "Berg, Bruno", "Cold storage of fruit")),
    *(("cedar2021", "Cedar, Clara", "Fair prices for timber"), ("dorn2018", "Dorn, David", "Printing on demand")),
    *(("elm2022", "Elm, Erika", "Kitchens of small firms"), ("ferry2017", "Ferry, Frank", "Freight on rivers")),
)
RECORD = "@Book{{{key},\n  author    = {{{author}}},\n  title     = {{{title}}},\n}}\n"
FIELD = re.compile(r"(\w+)\s*=\s*\{([^}]*)\}")


class JabRef(Program):
    name, title = "jabref", "JabRef 3.8 (Java Swing)"
    binary, packages = "jabref", ("jabref", "libatk-wrapper-java-jni", "x11-utils")
    task = "Open the report with this key, set its publisher and its year, and save the file. Answer done."
    drifts = ("larger font", "smaller screen", "window moved", "another order", "tip", "slow", "long list")
    items = (
        {"key": "berg2020", "publisher": "Harbour Press", "year": "2020"},
        {"key": "cedar2021", "publisher": "Hill and Sons", "year": "2021"},
        {"key": "elm2022", "publisher": "Market Books", "year": "2022"},
        {"key": "ferry2017", "publisher": "Quay House", "year": "2017"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        reports = [*reversed(REPORTS)] if drift == "another order" else [*REPORTS]
        if drift == "long list":
            reports[:0] = [(f"aster{n}", f"Aster, A. {n}", f"Annual report {n}") for n in range(1930, 2010)]
        text = "\n".join(RECORD.format(key=key, author=author, title=title) for key, author, title in reports)
        (folder / "reports.bib").write_text(f"% Encoding: UTF-8\n\n{text}", encoding="utf-8")
        options = f"-Duser.home={folder} -Djava.util.prefs.userRoot={folder}"
        if drift == "larger font":
            options += " -Dsun.java2d.uiScale=1.25"
        return Started(["jabref", str(folder / "reports.bib")], {"JAVA_ARGS": options})

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("cell", REPORTS[1][0]) or tree.find("cell", "aster1930"))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            press("cell", item["key"], tool="double_click"),
            press("text field", "Publisher"),
            types(item["publisher"], overwrite=True),
            press("text field", "Year"),
            types(item["year"], overwrite=True),
            keys("ctrl", "s"),
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        text = (folder / "reports.bib").read_text(encoding="utf-8")
        found = [(one.partition(",")[0], dict(FIELD.findall(one))) for one in text.split("@Book{")[1:]]
        return [
            (key, *(told.get(name, "") for name in ("author", "title", "publisher", "year"))) for key, told in found
        ]

    def expected(self, before: Records, item: Values) -> Records:
        return [(*one[:3], item["publisher"], item["year"]) if one[0] == item["key"] else one for one in before]
