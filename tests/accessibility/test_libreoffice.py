"""LibreOffice's tree: paragraphs, menus, fields and dialogs of a letter, and the visible cells of a huge sheet.

One LibreOffice opens both documents, because its start takes most of the time.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.accessibility.application import PARTLY
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.input.gestures import Click, Hotkey, Write
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.loop import element_tree
from holo_tasks.loop.element_tree import Elements
from holo_tasks.vision.element_check import ANOTHER_TEXT, ElementCheck
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

PROGRAMS = [Path(f"/usr/lib/libreoffice/program/lib{name}lo.so") for name in ("sc", "sw")]
pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(
        not all(os.access(program, os.R_OK) for program in PROGRAMS),
        reason="needs the Debian packages libreoffice-calc, libreoffice-writer and libreoffice-gtk3",
    ),
]
LATE = "did not answer in time"
PATIENCE_S = 90.0
ROWS = (("Reference", "Merchant", "Amount"), ("TX-20418", "Ada Supplies", "12.50"), ("TX-20419", "Cafe Nord", "7.00"))
NAMESPACE = "urn:oasis:names:tc:opendocument:xmlns:"

SPACES = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
LETTER = (
    f'<?xml version="1.0" encoding="UTF-8"?><office:document {SPACES} office:version="1.2" '
    'office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text>'
    '<text:h text:outline-level="1">Order record</text:h><text:p>Dear Ada Supplies</text:p>'
    "</office:text></office:body></office:document>"
)


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
    """Wait until an element with these values is reported in time; return the tree and the element."""
    end = time.monotonic() + PATIENCE_S
    while True:
        tree = await desktop.elements()
        for each in tree.find(role, name):
            if LATE not in tree.why_not and all(getattr(each, what) == text for what, text in held.items()):
                return tree, each
        assert time.monotonic() < end, (tree.why_not, tree.find(role))
        await asyncio.sleep(0.3)


async def found_once(desktop: VirtualDesktop, role: str, name: str) -> None:
    """Wait until exactly one such element is reported: menu bars under construction differ for a while."""
    end = time.monotonic() + PATIENCE_S
    while len(found := (await desktop.elements()).find(role, name)) != 1:
        assert time.monotonic() < end, found
        await asyncio.sleep(0.3)


async def shows(desktop: VirtualDesktop, role: str, name: str | None, value: str = "") -> tuple[ElementTree, Element]:
    """Wait until an element is on screen and matches the picture; return it with its tree."""
    end, check = time.monotonic() + PATIENCE_S, ElementCheck()
    while True:
        tree = await desktop.elements()
        frame = await desktop.look()
        for each in tree.find(role, name):
            if each.value.startswith(value) and not check.contradiction(frame, tree, each):
                assert value in check.read(frame, each.box)
                return tree, each
        assert time.monotonic() < end, (tree.why_not, tree.find(role))
        await asyncio.sleep(0.3)


async def active(desktop: VirtualDesktop, title: str) -> None:
    """Wait until the only window has this beginning of a title and the keyboard focus."""
    end = time.monotonic() + PATIENCE_S
    while [(each.active, each.title.startswith(title)) for each in await desktop.windows()] != [(True, True)]:
        assert time.monotonic() < end, await desktop.windows()
        await asyncio.sleep(0.1)


class Office:
    """A desktop with LibreOffice, which opens one document after another."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "letter.fodt").write_text(LETTER)
        (folder / "orders.fods").write_text(sheet())
        self._own = {"HOME": str(folder), "TMPDIR": str(folder)}
        self._words = ["soffice", "--norestore", "--nologo", "--nofirststartwizard"]
        self._words.append(f"-env:UserInstallation=file://{folder}/profile")

    def starting(self, document: str) -> VirtualDesktop:
        app = [*self._words, str(self._folder / document)]
        return VirtualDesktop(app=app, env=self._own, app_timeout_s=90)

    def opened(self, desktop: VirtualDesktop, document: str) -> None:
        """Make the running LibreOffice open another document, as a second command does."""
        env = {**os.environ, **self._own, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
        subprocess.run([*self._words, str(self._folder / document)], env=env, check=True, timeout=PATIENCE_S)


async def test_a_letter_and_a_sheet_report_their_visible_elements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for patience in ("FIRST_S", "AT_HAND_S", "SLOW_S"):
        monkeypatch.setattr(element_tree, patience, 30.0)
    office = Office(tmp_path)
    async with office.starting("letter.fodt") as desktop:
        await tells_of_paragraphs_menus_fields_and_dialogs(desktop)
        await desktop.do(Hotkey(("esc",)))
        await active(desktop, "letter.fodt")  # earlier keys would go to the dialog, which is still open
        await desktop.do(Hotkey(("ctrl", "w")))
        await active(desktop, "LibreOffice")
        office.opened(desktop, "orders.fods")
        await tells_of_the_visible_cells_between_filled_ones(desktop)


async def tells_of_paragraphs_menus_fields_and_dialogs(desktop: VirtualDesktop) -> None:
    await shows(desktop, "heading", None, "Order record")
    _, paragraph = await shows(desktop, "paragraph", None, "Dear Ada Supplies")
    await desktop.do(Click(paragraph.box.center))
    await desktop.look(after_action=True)
    _, menu = await shows(desktop, "menu", "Edit")
    await desktop.do(Click(menu.box.center))
    await desktop.look(after_action=True)
    await shows(desktop, "menu item", "Select All")
    await desktop.do(Hotkey(("esc",)))
    await desktop.do(Hotkey(("ctrl", "h")))
    await desktop.look(after_action=True)
    _, button = await shows(desktop, "button", "Find All")
    await withholds_a_click_that_names_another_button(desktop, button)


async def did(desktop: VirtualDesktop, calls: list[dict[str, object]]) -> tuple[list[str], list[str]]:
    """Perform a model's calls. Return the kinds of performed gestures, and the reasons for withholding the others."""
    recorder = MemoryRecorder()
    model = MemoryModel([wrote(call) for call in (*calls, step("answer", content="done"))])
    walk = walk_of(as_model(model), desktop=desktop, recorder=recorder)
    walk.services = replace(walk.services, elements=Elements(desktop))
    await work(walk)
    reasons = [event.reason.split(" is at ")[0] for event in recorder.of("correction")]
    return [event.gesture_kind for event in recorder.of("action")], reasons


def at(desktop: VirtualDesktop, it: Element) -> dict[str, int]:
    size, place = desktop.size, it.box.center
    return {"x": round((place.x + 0.5) * 1000 / size.width), "y": round((place.y + 0.5) * 1000 / size.height)}


async def withholds_a_click_that_names_another_button(desktop: VirtualDesktop, button: Element) -> None:
    there = at(desktop, button)
    words = (("click", "Close button"), ("double_click", "'Replace All'"), ("move_to", "Find All"))
    calls = [step(tool, element=name, **there) for tool, name in (*words, ("click", "the button for every match"))]
    x, y = there["x"], there["y"]
    drag = step("drag_and_drop", element="Drag the letter to the Close button", x1=x + 9, y1=10, x2=x, y2=y)
    done, told = await did(desktop, [drag, *calls])
    assert told == [
        "You named ‘Close’; the point is on ‘Find All’. ‘Close’",
        "You named ‘Close’; the point is on ‘Find All’. ‘Close’",
        "You named ‘Replace All’; the point is on ‘Find All’. ‘Replace All’",
    ]
    assert done == ["move", "click"]


async def withholds_a_click_that_names_another_cell(desktop: VirtualDesktop) -> None:
    """The point is on B2, which is the named cell, or the one above or next to it."""
    _, cell = await found(desktop, "cell", "B2", value="Ada Supplies")
    words = ("cell B3", "A2", "the cell right of A2", "cell B2 (Ada Supplies)", "Merchant of TX-20418", "row 2")
    done, told = await did(desktop, [step("click", element=each, **at(desktop, cell)) for each in words])
    assert told == ["You named ‘B3’; the point is on ‘B2’. ‘B3’", "You named ‘A2’; the point is on ‘B2’. ‘A2’"]
    assert done == ["click"] * 4


async def tells_of_the_visible_cells_between_filled_ones(desktop: VirtualDesktop) -> None:
    await found(desktop, "menu", "File")  # it may follow the first cells
    tree, merchant = await found(desktop, "cell", "B2", value="Ada Supplies")
    assert PARTLY in tree.why_not, "the tree reports that it is incomplete"
    assert not tree.complete
    told = [each.name for each in tree.find("cell", hidden=True)]
    rows = len(told) // 3
    assert told == [f"{column}{row}" for row in range(1, rows + 1) for column in "ABC"], "no cells right of filled ones"
    assert 20 < rows < 50, "cells outside the viewport are excluded: it shows 33 of 503 rows"
    await found_once(desktop, "menu", "File")  # LibreOffice reports a second menu bar, which is never shown
    frame, check = await desktop.look(), ElementCheck()
    assert not check.contradiction(frame, tree, merchant)
    # LibreOffice's own positions are off by the height of GTK's menu bar; those of GTK's widgets are right.
    assert check.read(frame, merchant.box).startswith("Ada Supp")
    (other,) = tree.find("cell", "B3")
    assert check.contradiction(frame, tree, other) == ""
    lying = replace(other, box=merchant.box)
    lie = replace(tree, elements=tuple(lying if each is other else each for each in tree.elements))
    assert check.contradiction(frame, lie, lying) == ANOTHER_TEXT, "another cell's text is there"
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
    await withholds_a_click_that_names_another_cell(desktop)
