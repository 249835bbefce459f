"""Midnight Commander in xterm: find a file in the list, and move it into a folder. Its text is read by OCR."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import Program, Records, Started, Step, Values, answers, keys, types
from holo_tasks.core.elements.elements import ElementTree

FILES = ("letter-adler", "letter-berg", "letter-cedar", "order-dorn", "order-elm", "order-ferry")
FOLDERS = ("archive", "billing", "waiting")


class MidnightCommander(Program):
    name, title = "mc", "Midnight Commander 4.8 (xterm, no elements)"
    binary, packages = "mc", ("mc", "xterm")
    task = "Move this file into this folder. Answer done."
    drifts = ("larger font", "dark theme", "smaller screen", "window moved", "another order", "tip")
    items = (
        {"file": "letter-berg.txt", "folder": "archive"},
        {"file": "order-elm.txt", "folder": "billing"},
        {"file": "letter-cedar.txt", "folder": "waiting"},
        {"file": "order-ferry.txt", "folder": "archive"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        work = folder / "work"
        for each in FOLDERS:
            (work / each).mkdir(parents=True)
        for each in (*FILES, "aa-first") if drift == "another order" else FILES:
            (work / f"{each}.txt").write_text(f"{each}\n")
        look = ["-bg", "black", "-fg", "white"] if drift == "dark theme" else []
        font = "16" if drift == "larger font" else "12"
        xterm = ["xterm", "-fa", "DejaVu Sans Mono", "-fs", font, "-geometry", "100x36+0+0", *look]
        return Started([*xterm, "-e", "mc", "--nomouse", "--nosubshell", str(work), str(work)])

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.applications)

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            keys("ctrl", "s"),
            types(item["file"]),
            keys("enter"),
            keys("f6"),
            types(item["folder"], press_enter=True),
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        work = folder / "work"
        return [(str(each.relative_to(work)),) for each in work.rglob("*") if each.is_file()]

    def expected(self, before: Records, item: Values) -> Records:
        moved = f"{item['folder']}/{item['file']}"
        return [(moved,) if one[0] == item["file"] else one for one in before]
