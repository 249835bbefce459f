"""TiddlyWiki in Firefox: open a complaint in the list, edit two of its fields, and save it."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from benchmarks.field.program import Program, Records, Started, Step, Values, answers, press, types
from holo_tasks.core.elements.elements import ElementTree

SCRIPT = Path(__file__).resolve().parents[4] / ".venv-field" / "web" / "node_modules" / "tiddlywiki" / "tiddlywiki.js"
"""The program of deployments/field/package-lock.json."""
COMPLAINTS = (
    *(("K-2001", "Adler Ltd"), ("K-2002", "Berg and Sons"), ("K-2007", "Cedar Foods")),
    *(("K-2010", "Dorn Printing"), ("K-2012", "Elm Street Kitchen"), ("K-2021", "Ferry Lines")),
)
WIKI = {
    "description": "Complaints",
    "plugins": ["tiddlywiki/tiddlyweb", "tiddlywiki/filesystem"],
    "themes": ["tiddlywiki/vanilla", "tiddlywiki/snowwhite"],
}
LOOKS = {
    "larger font": {
        "$:/themes/tiddlywiki/vanilla/metrics/fontsize": "17px",
        "$:/themes/tiddlywiki/vanilla/metrics/bodyfontsize": "19px",
    },
    "dark theme": {"$:/palette": "$:/palettes/GruvboxDark"},
}
KEPT = ("customer", "remark", "status", "tags")


class TiddlyWiki(Program):
    name, title = "tiddlywiki", "TiddlyWiki 5.3 (Firefox ESR)"
    binary, packages = "firefox-esr", ("firefox-esr", "nodejs", "npm")
    task = "Open the complaint with this number, enter this remark, set this status, and save it. Answer done."
    drifts = ("larger font", "dark theme", "smaller screen", "window moved", "another order", "tip", "slow")
    items = (
        {"number": "K-2002", "remark": "paid back in May", "status": "settled"},
        {"number": "K-2007", "remark": "new parcel sent", "status": "settled"},
        {"number": "K-2012", "remark": "see the letter", "status": "refused"},
        {"number": "K-2021", "remark": "voucher of ten euros", "status": "in dispute"},
    )

    @classmethod
    def missing(cls) -> str:
        return super().missing() or ("" if SCRIPT.exists() else "run deployments/setup.sh field")

    def prepare(self, folder: Path, drift: str) -> Started:
        notes = folder / "wiki" / "tiddlers"
        notes.mkdir(parents=True)
        (folder / "wiki" / "tiddlywiki.info").write_text(json.dumps(WIKI), encoding="utf-8")
        for number, customer in COMPLAINTS:
            fields = f"title: {number}\ncustomer: {customer}\nremark: \nstatus: open\ntags: Complaint\n"
            (notes / f"{number}.tid").write_text(f"{fields}\nThe parcel was late.", encoding="utf-8")
        order = "!sort[title]" if drift == "another order" else "sort[title]"
        settings = {
            "Welcome": f'<<list-links "[tag[Complaint]{order}]">>',
            "$:/DefaultTiddlers": "Welcome",
            "$:/status/UserName": "office",
            **LOOKS.get(drift, {}),
        }
        for place, (name, text) in enumerate(settings.items()):
            (notes / f"setting-{place}.tid").write_text(f"title: {name}\n\n{text}", encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        url = f"http://127.0.0.1:{port}/"
        server = [shutil.which("node") or "node", str(SCRIPT), str(folder / "wiki"), "--listen", f"port={port}"]
        return Started(["firefox-esr", url], {}, server, url)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("link", COMPLAINTS[0][0]))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            press("link", item["number"]),
            press("button", "Edit this tiddler", row=item["number"]),
            press("text field", "field value", row="remark:"),
            types(item["remark"], overwrite=True),
            press("text field", "field value", row="status:"),
            types(item["status"], overwrite=True),
            press("button", "Confirm changes to this tiddler"),
            answers("done", when=press("button", "Edit this tiddler", row=item["number"])),
        ]

    def records(self, folder: Path) -> Records:
        found = [_fields(file.read_text(encoding="utf-8")) for file in (folder / "wiki" / "tiddlers").glob("*.tid")]
        complaints = [one for one in found if not (one["title"].startswith("$:/") or "draft.of" in one)]
        return [(one["title"], *(one.get(name, "") for name in KEPT)) for one in complaints]

    def expected(self, before: Records, item: Values) -> Records:
        done = item["remark"], item["status"]
        return [(*one[:2], *done, one[4]) if one[0] == item["number"] else one for one in before]


def _fields(text: str) -> dict[str, str]:
    """Return the fields of a note's file, which come before its first empty line."""
    lines = text.partition("\n\n")[0].splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
