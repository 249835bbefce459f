"""A playbook brings its targets into view in real programs: by the mouse wheel, and by the pager of a list."""

from __future__ import annotations

import asyncio
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import GaveUp
from holo_tasks.core.events import Decided
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.scripts import rules
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.script import Script
from tests.accessibility.test_programs import FLAGS, until_there
from tests.support.scripts import done
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of

pytestmark = pytest.mark.desktop
APPS = Path(__file__).parent.parent / "apps"
PAGES, ROWS = 3, 30
STYLE = """<!doctype html><meta charset=utf-8><title>Suppliers</title><style>body{font:15px sans-serif;margin:0 24px 90px}
footer{position:fixed;bottom:0;left:0;right:0;height:90px;background:#ddd}td{padding:6px 40px}p{margin:16px 0}</style>"""
FORM = """<h1>Supplier {key}</h1><form action=/saved><input type=hidden name=key value="{key}">
<p><label>Contact <input name=contact></label></p><div style="height:{room}px">Notes</div>
<p><label><input type=checkbox name=approved> Approved</label></p><p style="height:700px">Terms of delivery</p>
<p><label>Remark <input name=remark></label></p><footer><button style="width:90%;height:80px">Save</button></footer></form>"""
STEPS = """
name: suppliers
goals:
  approve:
    params: {key: text}
    steps:
      - {click: {role: link, name: "{key}"}, after: "Supplier {key}"}
      - {before: "Supplier {key}", click: {role: check box, name: Approved}}
      - {click: {role: text field, name: Remark}}
      - {write: by post}
      - {click: {role: button, name: Save}, after: Saved}
      - {answer: done}
"""


class Site(BaseHTTPRequestHandler):
    """Paged list of suppliers, and a form whose button lies over its lower end."""

    saved: list[str] = []
    opened: list[str] = []

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/saved":
            self.saved.append(query)
        if path == "/favicon.ico":
            return self.send_error(404)
        self.opened.append(self.path)
        body = {"/": lambda: _listed(int(query.removeprefix("p=") or 1)), "/saved": lambda: "<h1>Saved</h1>"}.get(
            path, lambda: FORM.format(key=path[1:], room=415)
        )()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write((STYLE.replace("Suppliers", "Suppliers " + self.path) + body).encode())

    def log_message(self, *args: Any) -> None:
        pass


def _listed(page: int) -> str:
    first = (page - 1) * ROWS
    rows = "".join(f"<tr><td><a href=/L-{n}>L-{n}</a><td>Ltd {n}" for n in range(first + 101, first + ROWS + 101))
    pages = "".join(
        f"<span>{n}</span> " if n == page else f'<a href="/?p={n}">{n}</a> ' for n in range(1, PAGES + 1)
    )
    return f"<h1>Suppliers</h1><table><tr><th>Number<th>Name{rows}</table><p>{pages} {PAGES * ROWS} suppliers"


@contextmanager
def served() -> Iterator[tuple[str, type[Site]]]:
    class Own(Site):
        saved, opened = [], []

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", Own
    finally:
        server.shutdown()
        server.server_close()


def calls_of(recorder: MemoryRecorder) -> list[dict[str, Any]]:
    return [one.call for one in recorder.events if isinstance(one, Decided)]


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let playbooks give up on a screen after two waits."""
    monkeypatch.setattr(rules, "UNKNOWN_SCREEN_WAITS", 2)


async def test_a_playbook_goes_to_the_page_of_its_row_and_uncovers_its_check_box(tmp_path: Path) -> None:
    playbook = parse_playbook(STEPS)
    with served() as (url, site):
        app = ["chromium", *shlex.split(FLAGS), f"--user-data-dir={tmp_path / 'profile'}", f"--app={url}"]
        async with VirtualDesktop(app=app, app_timeout_s=60) as desktop:
            await until_there(desktop, "link", "L-101")
            recorder = MemoryRecorder()
            walk = walk_of(as_model(MemoryModel([])), desktop=desktop, recorder=recorder)
            try:
                said = await done(walk, Script(playbook, "approve", key="L-175").brain())
            finally:
                print(site.opened)
                t = await desktop.elements()
                from holo_tasks.scripts.scrolling import list_in_front, names_in
                print([(e.id,e.parent,e.role,e.name,e.box,e.on_screen) for e in t.elements if e.role in ('document','table','window') or e.name=='L-131'], t.moving, t.complete, t.why_not)
                for e in recorder.events:
                    print(type(e).__name__, getattr(e,"thought",""), getattr(e,"call",""))
    assert said == "done"
    assert site.saved == ["key=L-175&contact=&approved=on&remark=by+post"]
    assert site.opened[:3] == ["/", "/?p=2", "/?p=3"]
