"""LibreOffice Writer's tree: paragraphs that show, menus, fields and dialogs, where they are drawn."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.gestures import Click, Hotkey
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.vision.element_check import ElementCheck

WRITER = Path("/usr/lib/libreoffice/program/libswlo.so")
pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(
        not os.access(WRITER, os.R_OK), reason="needs the Debian packages libreoffice-writer and libreoffice-gtk3"
    ),
]
PATIENCE_S = 90.0
SPACES = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
LETTER = (
    f'<?xml version="1.0" encoding="UTF-8"?><office:document {SPACES} office:version="1.2" '
    'office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text>'
    '<text:h text:outline-level="1">Order record</text:h><text:p>Dear Ada Supplies</text:p>'
    "</office:text></office:body></office:document>"
)


async def shows(desktop: VirtualDesktop, role: str, name: str | None, value: str = "") -> tuple[ElementTree, Element]:
    """Wait until an element shows and return it with its tree, if the picture agrees."""
    end, check = time.monotonic() + PATIENCE_S, ElementCheck()
    while True:
        tree = await desktop.elements()
        frame = await desktop.look()
        for each in tree.find(role, name):
            if each.value.startswith(value) and not check.why_not(frame, tree, each):
                assert value in check.read(frame, each.box)
                return tree, each
        assert time.monotonic() < end, (tree.why_not, tree.find(role))
        await asyncio.sleep(0.1)


async def test_a_letter_tells_of_its_paragraphs_menus_fields_and_dialogs(tmp_path: Path) -> None:
    (tmp_path / "letter.fodt").write_text(LETTER)
    app = ["soffice", "--writer", "--norestore", "--nologo", "--nofirststartwizard"]
    app += [f"-env:UserInstallation=file://{tmp_path}/profile", str(tmp_path / "letter.fodt")]
    async with VirtualDesktop(app=app, env={"HOME": str(tmp_path)}, app_timeout_s=90) as desktop:
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
        await desktop.do(Click(button.box.center))
