"""LibreOffice's tree: a sheet of billions of cells, of which those are told that show and hold something."""

from __future__ import annotations

import asyncio
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.accessibility.application import PARTLY
from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.gestures import Click, Hotkey, Write
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.vision.element_check import ANOTHER_TEXT, ElementCheck

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(
        shutil.which("soffice") is None, reason="needs the Debian packages libreoffice-calc and libreoffice-gtk3"
    ),
]
LATE = "did not answer in time"
PATIENCE_S = 90.0
ROWS = (("Reference", "Merchant", "Amount"), ("TX-20418", "Ada Supplies", "12.50"), ("TX-20419", "Cafe Nord", "7.00"))
NAMESPACE = "urn:oasis:names:tc:opendocument:xmlns:"


def sheet() -> str:
    """Return a spreadsheet as one file of XML."""
    rows = "".join(
        f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in (*ROWS, *[("Far down",)] * 500)
    )
    spaces = " ".join(f'xmlns:{name}="{NAMESPACE}{name}:1.0"' for name in ("office", "table", "text"))
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<office:document {spaces} office:version="1.2" office:mimetype="{kind}"><office:body><office:spreadsheet>'
        f'<table:table table:name="Orders">{rows}</table:table></office:spreadsheet></office:body></office:document>'
    )


def cell(text: str) -> str:
    return f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'


async def found(desktop: VirtualDesktop, role: str, name: str | None, **held: str) -> tuple[ElementTree, Element]:
    """Wait until an element is told of that holds this, in time for once, and return it with its tree."""
    end = time.monotonic() + PATIENCE_S
    while True:
        tree = await desktop.elements()
        for each in tree.find(role, name):
            if LATE not in tree.why_not and all(getattr(each, what) == text for what, text in held.items()):
                return tree, each
        assert time.monotonic() < end, (tree.why_not, tree.find(role))
        await asyncio.sleep(0.1)


async def test_a_sheet_tells_of_the_cells_that_show_and_hold_something(tmp_path: Path) -> None:
    (tmp_path / "orders.fods").write_text(sheet())
    app = ["soffice", "--calc", "--norestore", "--nologo", "--nofirststartwizard"]
    app += [f"-env:UserInstallation=file://{tmp_path}/profile", str(tmp_path / "orders.fods")]
    async with VirtualDesktop(app=app, env={"HOME": str(tmp_path)}, app_timeout_s=90) as desktop:
        await found(desktop, "menu", "File")  # it may come after the first cells
        tree, merchant = await found(desktop, "cell", "B2", value="Ada Supplies")
        assert PARTLY in tree.why_not, "it is said that this is not all of the sheet"
        assert not tree.complete
        told = [each.name for each in tree.find("cell", hidden=True)]
        assert told[:9] == ["A1", "B1", "C1", "A2", "B2", "C2", "A3", "B3", "C3"]
        assert len(told) < 60, "nothing of what is scrolled out of sight"
        assert len(tree.find("menu", "File")) == 1, "LibreOffice tells of another menu bar that never shows"
        frame, check = await desktop.look(), ElementCheck()
        assert not check.why_not(frame, tree, merchant)
        # Its own places are off by the height of GTK's menu bar; GTK's parts in them are not.
        assert check.read(frame, merchant.box).startswith("Ada Supp")
        (other,) = tree.find("cell", "B3")
        assert check.why_not(frame, tree, other) == ""
        lying = replace(other, box=merchant.box)
        lie = replace(tree, elements=tuple(lying if each is other else each for each in tree.elements))
        assert check.why_not(frame, lie, lying) == ANOTHER_TEXT, "another cell's text is there"
        await desktop.do(Click(other.box.center))
        await desktop.look(after_action=True)
        await found(desktop, "text field", None, value="B3")
        (bold,) = tree.find("toggle button", "Bold")
        await desktop.do(Click(bold.box.center))
        await desktop.look(after_action=True)
        tree, bold = await found(desktop, "toggle button", "Bold")
        await desktop.do(Write("Cafe Sud"))
        await desktop.do(Hotkey(("enter",)))
        await found(desktop, "cell", "B3", value="Cafe Sud")
