"""A browser's accessibility tree agrees with the picture for its own and a page's controls: none is refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from holo_tasks.desktop import VirtualDesktop
from tests.accessibility.test_programs import FLAGS, none_is_refused

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


async def test_no_control_is_refused(tmp_path: Path) -> None:
    """`tests/accessibility/test_programs.py` has the same test for GTK 3 and Qt."""
    (tmp_path / "page.html").write_text(PAGE)
    app = ["chromium", *shlex.split(FLAGS), f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path}/page.html"]
    async with VirtualDesktop(app=app, app_timeout_s=60) as desktop:
        await none_is_refused(desktop)
