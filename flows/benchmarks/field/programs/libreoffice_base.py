"""LibreOffice Base: find a complaint in a form of the office's database, change two fields, and save them."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.field.program import (
    GTK_DARK,
    GTK_FONT,
    Call,
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
from holo_tasks.core.screen.geometry import Size

FIELDS = ("Number", "Customer", "Clerk", "Result")
COMPLAINTS = (
    *(("C-402", "Adler Ltd", "", ""), ("C-407", "Berg and Sons", "", ""), ("C-412", "Cedar Foods", "", "")),
    *(("C-418", "Dorn Printing", "Ann", "new parcel"), ("C-421", "Elm Street Kitchen", "", "")),
)
ODF = "urn:oasis:names:tc:opendocument:xmlns:"
NAMES = (
    *(("office", f"{ODF}office:1.0"), ("db", f"{ODF}database:1.0"), ("form", f"{ODF}form:1.0")),
    *(("text", f"{ODF}text:1.0"), ("draw", f"{ODF}drawing:1.0"), ("svg", f"{ODF}svg-compatible:1.0")),
    *(("manifest", f"{ODF}manifest:1.0"), ("xlink", "http://www.w3.org/1999/xlink")),
    ("ooo", "http://openoffice.org/2004/office"),
)
SPACES = " ".join(f'xmlns:{prefix}="{name}"' for prefix, name in NAMES)
DOCUMENT = f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {SPACES} office:version="1.2">'
END = "</office:body></office:document-content>"
KIND = "application/vnd.oasis.opendocument"
BASE = (
    f"{DOCUMENT}<office:body><office:database><db:data-source><db:connection-data>"
    '<db:connection-resource xlink:type="simple" xlink:href="sdbc:embedded:hsqldb"/>'
    '<db:login db:is-password-required="false"/></db:connection-data>'
    '</db:data-source><db:forms><db:component db:name="Complaints" xlink:type="simple" xlink:href="forms/Obj11" '
    f'db:as-template="false"/></db:forms></office:database>{END}'
)
FORM = (
    # Without the styles, LibreOffice leaves out the controls.
    f'{DOCUMENT}<office:automatic-styles/><office:body><office:text><office:forms form:automatic-focus="true" '
    'form:apply-design-mode="false"><form:form form:name="Complaints" form:command-type="table" '
    'form:command="Complaints" form:control-implementation="ooo:com.sun.star.form.component.Form">'
    "{controls}</form:form></office:forms>"
    f"<text:p>{{places}}</text:p></office:text>{END}"
)
KIND_OF = 'form:control-implementation="ooo:com.sun.star.form.component.'
CONTROL = '<form:{kind} form:name="{name}" xml:id="{id}" form:id="{id}" {more}/>'
PLACE = (
    '<draw:control text:anchor-type="paragraph" draw:control="{id}" svg:x="{x}cm" svg:y="{y}cm" '
    'svg:width="{width}cm" svg:height="0.8cm"/>'
)
MANIFEST = (
    f'<?xml version="1.0" encoding="UTF-8"?><manifest:manifest {SPACES} manifest:version="1.2">'
    f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{KIND}.base"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    f'<manifest:file-entry manifest:full-path="forms/Obj11/" manifest:media-type="{KIND}.text"/>'
    '<manifest:file-entry manifest:full-path="forms/Obj11/content.xml" manifest:media-type="text/xml"/>'
    '<manifest:file-entry manifest:full-path="database/properties" manifest:media-type=""/>'
    '<manifest:file-entry manifest:full-path="database/script" manifest:media-type=""/></manifest:manifest>'
)
PROPERTIES = "version=1.8.0\nhsqldb.compatible_version=1.8.0\nmodified=no\nreadonly=false\n"
TABLE = 'CREATE {kind} TABLE "Complaints"({columns})'
SCRIPT = (
    "CREATE SCHEMA PUBLIC AUTHORIZATION DBA",
    TABLE.format(
        kind="MEMORY",
        columns=",".join(f'"{name}" VARCHAR(60){" NOT NULL PRIMARY KEY" * (name == FIELDS[0])}' for name in FIELDS),
    ),
    'CREATE USER SA PASSWORD ""',
    "GRANT DBA TO SA",
    "SET SCHEMA PUBLIC",
)
QUIETLY = ("--norestore", "--nologo", "--nofirststartwizard")


class Base(Program):
    name, title = "base", "LibreOffice Base 7.4 (GTK 3)"
    binary, packages = (
        "lobase",
        ("libreoffice-base", "libreoffice-sdbc-hsqldb", "libreoffice-writer", "libreoffice-gtk3"),
    )
    task = (
        "Open the form Complaints, find the complaint with this number, enter this clerk and result, "
        "and save the record and the database. Answer done."
    )
    drifts = (
        *("larger font", "dark theme", "smaller screen", "window moved"),
        *("another order", "longer list", "tip", "slow"),
    )
    items = (
        {"number": "C-407", "clerk": "Berta", "result": "money back"},
        {"number": "C-412", "clerk": "Carl", "result": "letter of excuse"},
        {"number": "C-421", "clerk": "Dora", "result": "repaired"},
        {"number": "C-402", "clerk": "Emil", "result": "no answer yet"},
    )

    def prepare(self, folder: Path, drift: str) -> Started:
        rows = [*COMPLAINTS, ("C-425", "Ferry Lines", "", "")] if drift == "longer list" else [*COMPLAINTS]
        _write(folder / "office.odb", reversed(rows) if drift == "another order" else rows)
        environment = {"larger font": GTK_FONT, "dark theme": GTK_DARK}.get(drift, {})
        return Started(["soffice", *QUIETLY, str(folder / "office.odb")], environment)

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("cell", "Complaints"))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            press("cell", "Complaints", tool="double_click"),
            press("button", "Find Record"),
            types(item["number"], overwrite=True, when=press("button", "Search")),
            press("button", "Search"),
            press("button", "Close"),
            press("text field", "Clerk"),
            types(item["clerk"], overwrite=True),
            press("text field", "Result"),
            types(item["result"], overwrite=True),
            press("button", "Save Record"),
            keys("ctrl", "w"),
            keys("ctrl", "s", when=_is_closed),  # only this writes the file
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        with zipfile.ZipFile(folder / "office.odb") as file:
            names = [name for name in ("database/script", "database/log") if name in file.namelist()]
            lines = [line for name in names for line in file.read(name).decode().splitlines()]
        with sqlite3.connect(":memory:") as book:
            book.execute(TABLE.format(kind="", columns=",".join(f'"{name}"' for name in FIELDS)))
            for line in lines:
                if line.startswith(("INSERT ", "DELETE ")):
                    book.execute(line)
            return [tuple(each or "" for each in row) for row in book.execute('select * from "Complaints"')]

    def expected(self, before: Records, item: Values) -> Records:
        done = item["clerk"], item["result"]
        return [(*one[:2], *done) if one[0] == item["number"] else one for one in before]


def _is_closed(tree: ElementTree, size: Size) -> Call | None:
    """Return a call, which is never carried out, if the form's window is closed."""
    return None if tree.find("button", "Save Record") else press("cell", "Complaints")(tree, size)


def _write(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write a database with the table of complaints and a form for them. Its files are text in a zip."""
    kept = ['INSERT INTO "Complaints" VALUES(' + ",".join(map(_literal, row)) + ")" for row in rows]
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", f"{KIND}.base")
        file.writestr("content.xml", BASE)
        file.writestr("forms/Obj11/content.xml", _form())
        file.writestr("database/properties", PROPERTIES)
        file.writestr("database/script", "\n".join([*SCRIPT, *kept, ""]))
        file.writestr("META-INF/manifest.xml", MANIFEST)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'" if text else "NULL"


def _form() -> str:
    """Return the form's document: a label and a field for each column."""
    controls, places = "", ""
    for n, name in enumerate(FIELDS):
        y = 1 + 1.5 * n
        label = f'{KIND_OF}FixedText" form:label="{name}" form:for="f{n}"'
        controls += CONTROL.format(kind="fixed-text", name=f"{name} label", id=f"l{n}", more=label)
        field = f'{KIND_OF}TextField" form:data-field="{name}"'
        controls += CONTROL.format(kind="text", name=name, id=f"f{n}", more=field)
        places += PLACE.format(id=f"l{n}", x=1, y=y, width=3) + PLACE.format(id=f"f{n}", x=4.5, y=y, width=8)
    return FORM.format(controls=controls, places=places)
