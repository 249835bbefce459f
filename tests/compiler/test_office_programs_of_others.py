"""A Swing form and a LibreOffice sheet: one run becomes a list of steps, which enters another item once."""

from __future__ import annotations

import asyncio
import shutil
import xml.etree.ElementTree as xml
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.accessibility import toolkits
from holo_tasks.cli.compile import compile_traces
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.scripts.playbook import load_playbook
from tests.compiler.test_programs_of_others import APPS, at, by_model, by_playbook, types
from tests.support.scripted_model import step

pytestmark = [pytest.mark.desktop, pytest.mark.usefixtures("prefect")]
JAVA = shutil.which("javac") is not None and toolkits.has_java_wrapper()
SIZE = Size(800, 560)
SUPPLIERS = (
    *(("S-1001", "Adler Ltd", "Bonn", "0228-9910"), ("S-1002", "Berg and Sons", "Ulm", "0731-5501")),
    ("S-1007", "Cedar Foods", "Kiel", "0431-1200"),
)


async def shown(desktop: VirtualDesktop, role: str, name: str) -> None:
    async with asyncio.timeout(60):
        while not (await desktop.elements()).find(role, name):
            await asyncio.sleep(0.1)


def click(role: str, name: str) -> Any:
    """Return a model's click on the only element of a role and name."""

    def clicked(tree: ElementTree) -> dict[str, Any]:
        (found,) = tree.in_front(tree.find(role, name))
        return at((found.box.center.x, found.box.center.y), name, SIZE)

    return clicked


@pytest.mark.skipif(not JAVA, reason="needs the Debian packages default-jdk and libatk-wrapper-java-jni")
async def test_a_swing_form_saves_each_other_item_once(tmp_path: Path) -> None:
    file, made = tmp_path / "suppliers", tmp_path / "made.yaml"
    names = ("Number", "Name", "City", "Phone")
    app = ["java", str(APPS / "OnePageSwing.java"), str(file)]
    async with VirtualDesktop(size=SIZE, app=app, env={"HOME": str(tmp_path)}, app_timeout_s=60) as desktop:
        await shown(desktop, "button", "Save")
        tree = await desktop.elements()
        fields = sorted(tree.find("text field"), key=lambda each: each.box.top)
        steps: list[Any] = []
        for field, name, text in zip(fields, names, SUPPLIERS[0], strict=True):
            steps += [at((field.box.center.x, field.box.center.y), name, SIZE), types(text)]
        steps += [click("button", "Save"), step("answer", content="done")]
        data = dict(zip(map(str.lower, names), SUPPLIERS[0], strict=True))
        trace = await by_model(desktop, tmp_path, "Save this supplier. Answer done.", steps, **data)
        compile_traces([trace], made, "save", (), None, tmp_path / "holo", as_json=False)
        playbook = load_playbook(made).goals["save"]
        assert not any(getattr(one, "by_model", None) for one in playbook.steps)
        for supplier in SUPPLIERS[1:]:
            values = dict(zip(map(str.lower, names), supplier, strict=True))
            assert await by_playbook(desktop, tmp_path, made, **values) == "done"
    assert file.read_text().splitlines() == ["|".join(each) for each in SUPPLIERS]


INVOICES = (("R-0901", "Adler Ltd", "75"), ("R-0902", "Cedar Foods", "140.5"))
ENTERED = ("R-1001", "Berg and Sons", "125.5"), ("R-1002", "Dorn Printing", "48.2")
ODF = "urn:oasis:names:tc:opendocument:xmlns:"


def sheet(rows: Sequence[Sequence[str]]) -> str:
    """Return a spreadsheet in the flat format of LibreOffice."""
    spaces = " ".join(f'xmlns:{name}="{ODF}{name}:1.0"' for name in ("office", "table", "text"))
    cells = "".join(f"<table:table-row>{''.join(map(_cell, row))}</table:table-row>" for row in rows)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document {spaces} office:version="1.2" '
        'office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:body><office:spreadsheet>'
        f'<table:table table:name="Invoices">{cells}</table:table></office:spreadsheet></office:body></office:document>'
    )


def _cell(text: str) -> str:
    is_number = text.replace(".", "", 1).isdigit()
    kind = f'office:value-type="float" office:value="{text}"' if is_number else 'office:value-type="string"'
    return f"<table:table-cell {kind}><text:p>{text}</text:p></table:table-cell>"


def saved(file: Path) -> list[tuple[str, ...]]:
    """Return the filled cells of each filled row of a spreadsheet's file. Numbers are as the file holds them."""
    rows = xml.parse(file).getroot().iter(f"{{{ODF}table:1.0}}table-row")
    cells = ([*row.iter(f"{{{ODF}table:1.0}}table-cell")] for row in rows)
    value = f"{{{ODF}office:1.0}}value"
    texts = ([each.get(value) or "".join(each.itertext()).strip() for each in row] for row in cells)
    return [filled for row in texts if (filled := tuple(filter(None, row)))]


def next_free(tree: ElementTree) -> dict[str, Any]:
    """Return a model's click on the first cell of the row below the last invoice."""
    upper, last = (tree.find("cell", name)[0].box.center for name in ("A2", "A3"))
    return at((last.x, 2 * last.y - upper.y), "the first free cell of column A", SIZE)


@pytest.mark.skipif(not shutil.which("soffice"), reason="needs LibreOffice")
async def test_another_invoice_is_entered_once_in_a_sheet(tmp_path: Path) -> None:
    file, made = tmp_path / "invoices.fods", tmp_path / "made.yaml"
    heads = ("Number", "Customer", "Amount")
    file.write_text(sheet((heads, *INVOICES)), encoding="utf-8")
    app = [
        "soffice",
        f"-env:UserInstallation=file://{tmp_path}/profile",
        "--norestore",
        "--nologo",
        "--calc",
        str(file),
    ]
    async with VirtualDesktop(size=SIZE, app=app, env={"HOME": str(tmp_path)}, app_timeout_s=60) as desktop:
        await shown(desktop, "cell", "A3")
        number, customer, amount = ENTERED[0]
        tab = step("hotkey", keys=["tab"])
        steps = [
            *(next_free, types(number), tab, types(customer), tab),
            step("write", content=amount, overwrite=False, press_enter=True),
            *(step("hotkey", keys=["ctrl", "s"]), step("answer", content="done")),
        ]
        data = {"number": number, "customer": customer, "amount": amount}
        goal = "Enter this invoice in the next free row, and save it. Answer done."
        trace = await by_model(desktop, tmp_path, goal, steps, **data)
        compile_traces([trace], made, "enter", (), None, tmp_path / "holo", as_json=False)
        for number, customer, amount in ENTERED[1:]:
            values = {"number": number, "customer": customer, "amount": amount}
            assert await by_playbook(desktop, tmp_path, made, **values) == "done"
    assert saved(file) == [heads, *INVOICES, *ENTERED]
