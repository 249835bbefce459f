"""What real programs of each toolkit tell of their controls is what their picture shows: none is refused."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from pathlib import Path

import pytest

from holo_tasks.core.elements import ElementTree
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.scripts.element_search import FIELDS
from holo_tasks.vision.element_check import PRESSED, WRITTEN_INTO, ElementCheck
from tests.accessibility.conftest import APPS, DEBIAN_PYTHON, has_gtk
from tests.accessibility.test_programs import FLAGS

pytestmark = pytest.mark.desktop
PAGE = """<!doctype html><meta charset=utf-8><title>Orders</title><body style="font-family:sans-serif;margin:24px">
<h1>Orders</h1><p><label>Name <input value="Ada"></label></p>
<p><label>Pin <input type=password></label> <label>Country <select><option>Austria<option>Belgium</select></label></p>
<p><label><input type=checkbox> Urgent</label> <label><input type=radio name=r> By post</label></p>
<p style="display:inline-block;border:1px solid #999;border-radius:16px;padding:8px 14px">
<input aria-label="Find" placeholder="Find an order" style="border:0;outline:0"></p>
<p><button>Save</button> <button>Don't save</button> <a href="#x">Help pages</a>
<button aria-label="Print" style="width:36px;height:36px"><svg width=18 height=18><circle cx=9 cy=9 r=7 /></svg>
</button></p><textarea aria-label="Remarks" rows=3 cols=40></textarea>
<table><tr><th>Item<th>Price<tr><td>Lamp<td>12.50</table>"""


def commands(folder: Path) -> dict[str, list[str]]:
    (folder / "page.html").write_text(PAGE)
    chromium = ["chromium", *shlex.split(FLAGS), f"--user-data-dir={folder / 'profile'}", f"file://{folder}/page.html"]
    return {
        "gtk3": [DEBIAN_PYTHON, str(APPS / "form_gtk3.py")],
        "qt": [sys.executable, str(APPS / "form_qt.py")],
        "chromium": chromium,
    }


async def settled(desktop: VirtualDesktop, name: str) -> ElementTree:
    end = time.monotonic() + 60
    while not (tree := await desktop.elements()).find(None, name):
        assert time.monotonic() < end, (tree.why_not, [each.name for each in tree.elements])
        await asyncio.sleep(0.1)
    await desktop.look()
    return await desktop.elements()


@pytest.mark.parametrize("toolkit", ["gtk3", "qt", "chromium"])
async def test_no_control_is_refused(toolkit: str, tmp_path: Path) -> None:
    if toolkit == "gtk3" and not has_gtk("3.0"):
        pytest.skip("needs the Debian packages python3-gi and gir1.2-gtk-3.0")
    if toolkit == "qt":
        pytest.importorskip("PySide6")
    async with VirtualDesktop(app=commands(tmp_path)[toolkit], app_timeout_s=60) as desktop:
        tree = await settled(desktop, "Save")
        frame, check = await desktop.look(), ElementCheck()
        controls = [each for each in tree.elements if each.on_screen and each.role in PRESSED | WRITTEN_INTO | FIELDS]
        refused = {
            (each.role, each.name, str(each.box)): why
            for each in controls
            if each.name and (why := check.why_not(frame, tree, each))
        }
    assert not refused
    assert {each.name for each in controls} >= {"Save", "Name"}
