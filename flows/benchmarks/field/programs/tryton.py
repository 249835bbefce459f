"""Tryton: open a party, enter the building and the street of its address, and save it."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.field.program import (
    GTK_DARK,
    GTK_FONT,
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
from benchmarks.field.programs.django_admin import PYTHON
from holo_tasks.core.elements.elements import ElementTree

START, DEBIAN = Path(__file__).with_name("tryton_start.py"), "/usr/bin/python3"
"""The client is Debian's, and the server of the same series is PyPI's. ``-P`` keeps this folder from its modules."""
PASSWORD = "of-no-use-to-anybody"
CONFIG = "[database]\nuri = sqlite://\npath = {folder}\n[web]\nlisten = 127.0.0.1:{port}\n"
ADDRESSES = (
    "select party_party.code, party_party.name, coalesce(party_address.name, ''), coalesce(party_address.street, '')"
    " from party_party left join party_address on party_address.party = party_party.id"
)
PARTIES = (
    *(("P-401", "Adler Ltd"), ("P-402", "Berg and Sons"), ("P-407", "Cedar Foods")),
    *(("P-410", "Dorn Printing"), ("P-412", "Elm Street Kitchen"), ("P-421", "Ferry Lines")),
)


class Tryton(Program):
    name, title = "tryton", "Tryton 6.0 (GTK 3)"
    binary, packages = "tryton", ("tryton-client",)
    task = (
        "Open the party with this code, enter this building name and street in its address, and save it. Answer done."
    )
    drifts = ("larger font", "dark theme", "smaller screen", "window moved", "another order", "tip", "slow")
    items = (
        {"code": "P-402", "building": "North House", "street": "12 Mill Lane"},
        {"code": "P-407", "building": "Old Dairy", "street": "3 Church Road"},
        {"code": "P-412", "building": "Corner Shop", "street": "77 Elm Street"},
        {"code": "P-421", "building": "Harbour Office", "street": "1 Pier Head"},
    )

    @classmethod
    def missing(cls) -> str:
        made = PYTHON.with_name("trytond-admin").exists()
        return super().missing() or ("" if made else "run deployments/setup.sh field")

    def prepare(self, folder: Path, drift: str) -> Started:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config, made = folder / "trytond.conf", folder.parent / "made.sqlite"
        config.write_text(CONFIG.format(folder=folder, port=port), encoding="utf-8")
        if not made.exists():  # its tables take a minute
            _make(folder, config)
            shutil.copy(folder / "office.sqlite", made)
        shutil.copy(made, folder / "office.sqlite")
        parties = reversed(PARTIES) if drift == "another order" else PARTIES
        with closing(sqlite3.connect(folder / "office.sqlite")) as office, office:
            office.execute("update ir_module_config_wizard_item set state = 'done'")
            for place, (code, name) in enumerate(parties, 1):
                office.execute(
                    "insert into party_party (id, name, code, active) values (?, ?, ?, 1)", (place, name, code)
                )
                office.execute("insert into party_address (id, party, active) values (?, ?, 1)", (place, place))
        url = f"127.0.0.1:{port}/office/model/party.party"
        environment = {"larger font": GTK_FONT, "dark theme": GTK_DARK}.get(drift, {})
        return Started(
            [DEBIAN, "-P", str(START), "-u", "admin", f"tryton://{url}"],
            {"TRYTON_PASSWORD": PASSWORD, **environment},
            [str(PYTHON.with_name("trytond")), "-c", str(config), "-d", "office"],
            f"http://127.0.0.1:{port}/",
        )

    def is_ready(self, tree: ElementTree) -> bool:
        return bool(tree.find("cell", PARTIES[-1][0]))

    def plan(self, item: Values) -> Sequence[Step]:
        return [
            press("cell", item["code"]),
            keys("enter"),
            press("text field", "Building Name:"),
            types(item["building"], overwrite=True),
            press("text field", "Street:"),
            types(item["street"], overwrite=True),
            press("button", "Save"),
            answers("done"),
        ]

    def records(self, folder: Path) -> Records:
        with closing(sqlite3.connect(folder / "office.sqlite")) as office:
            rows = office.execute(ADDRESSES).fetchall()
        return [tuple(map(str, row)) for row in rows]

    def expected(self, before: Records, item: Values) -> Records:
        done = item["building"], item["street"]
        return [(*one[:2], *done) if one[0] == item["code"] else one for one in before]


def _make(folder: Path, config: Path) -> None:
    """Make a database with Tryton's module for parties."""
    (folder / "office.sqlite").touch()
    password = folder / "password"
    password.write_text(PASSWORD, encoding="utf-8")
    make = [str(PYTHON.with_name("trytond-admin")), "-c", str(config), "-d", "office", "--all", "-u", "party"]
    make += ["--activate-dependencies", "--email", "office@example.com", "-p"]
    subprocess.run(make, check=True, capture_output=True, env={**os.environ, "TRYTONPASSFILE": str(password)})
