"""GNOME Text Editor: replace the former name of a customer in a list of invoices, and save the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import Program, Records, Started, Step, Values, answers, keys, press, types
from holo_tasks.core.elements.elements import ElementTree

INVOICES = (
    *(("R-0901", "Adler Ltd"), ("R-0902", "Berg and Sons"), ("R-0903", "Adler Ltd"), ("R-0904", "Cedar Foods")),
    *(("R-0905", "Dorn Printing"), ("R-0906", "Cedar Foods"), ("R-0907", "Elm Kitchen"), ("R-0908", "Ferry Lines")),
)


class GnomeTextEditor(Program):
    name, title = "gnome-text-editor", "GNOME Text Editor 43 (GTK 4)"
    binary, packages = "gnome-text-editor", ("gnome-text-editor",)
    task = "Replace this former name of a customer by this name in the whole list, and save it. Answer done."
    drifts = ("larger font", "dark theme", "smaller screen", "window moved", "another order", "tip", "slow")
    items = (
        {"former": "Adler Ltd", "name": "Adler and Daughters"},
        {"former": "Cedar Foods", "name": "Cedar Organic"},
        {"former": "Elm Kitchen", "name": "Elm Street Meals"},
        {"former": "Dorn Printing", "name": "Dorn Media"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        rows = reversed(INVOICES) if drift == "another order" else INVOICES
        (folder / "invoices.txt").write_text("".join(f"{number} {name}\n" for number, name in rows), encoding="utf-8")
        environment = {"XDG_CONFIG_HOME": str(folder / "settings")}
        if drift == "larger font":
            (folder / "settings" / "gtk-4.0").mkdir(parents=True)
            (folder / "settings" / "gtk-4.0" / "settings.ini").write_text("[Settings]\ngtk-xft-dpi=122880\n")
        if drift == "dark theme":
            environment["ADW_DEBUG_COLOR_SCHEME"] = "prefer-dark"
        return Started(["gnome-text-editor", "--standalone", str(folder / "invoices.txt")], environment)

    def is_ready(self, tree: ElementTree) -> bool:
        return any("R-0904" in each.value for each in tree.find("text field"))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            keys("ctrl", "h"),
            press("text field", "EditorSearchEntry"),
            types(item["former"], overwrite=True),
            press("text field", "GtkEntry"),
            types(item["name"], overwrite=True),
            press("button", "*Replace All"),
            keys("escape"),
            keys("ctrl", "s"),
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        lines = (folder / "invoices.txt").read_text(encoding="utf-8").splitlines()
        return [tuple(line.split(" ", 1)) for line in lines]

    def expected(self, before: Records, item: Values) -> Records:
        return [(number, item["name"] if name == item["former"] else name) for number, name in before]
