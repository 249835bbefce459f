"""The how-to page about files as a test: a download in a real Chromium, and file dialogs of a real program."""

from __future__ import annotations

import hashlib
import http.server
import importlib.util
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from holo_blocks import AuditBucket, HoloDesktop, HoloModel
from holo_tasks.audit import open_trace
from holo_tasks.core.events import FileArrived, FileGiven
from tests.accessibility.conftest import APPS, DEBIAN_PYTHON, has_gtk
from tests.accessibility.test_programs import FLAGS
from tests.support.doc_pages import DOCS, blocks
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.usefixtures("prefect"), pytest.mark.desktop]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The code of the page, as a reader copies it."""
    (text,) = [block.text for block in blocks("python", pages=[DOCS / "how-to" / "files.md"]) if block.title]
    path = tmp_path / "invoices.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


class Portal(http.server.BaseHTTPRequestHandler):
    """A page with an invoice, which is sent byte by byte."""

    def do_GET(self) -> None:
        body = b"<title>Portal</title><body style='font:22px sans-serif'><h1>Portal</h1><a href=/I-7>Invoice I-7</a>"
        self.send_response(200)
        if self.path == "/I-7":
            body = b"Dear Ada, 7 pieces. "
            self.send_header("Content-Disposition", 'attachment; filename="I-7 for Ada.txt"')
        self.send_header("Content-Type", "text/plain" if self.path == "/I-7" else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for piece in body:
            self.wfile.write(bytes([piece]))
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def portal() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Portal) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.skipif(not has_gtk("3.0"), reason="needs the Debian packages python3-gi and gir1.2-gtk-3.0")
async def test_an_invoice_is_downloaded_and_becomes_a_letter(page: ModuleType, portal: int, tmp_path: Path) -> None:
    browser = ["chromium", *shlex.split(FLAGS), "--user-data-dir=/tmp/profile", f"--app=http://127.0.0.1:{portal}/"]
    writer = [DEBIAN_PYTHON, str(APPS / "dialogs_gtk3.py")]
    with ScriptedModel([]) as served:
        named = {
            "holo": HoloModel(base_url=served.base_url, model="holo3-1-35b-a3b"),
            "portal": HoloDesktop(app=shlex.join(browser), network=f"127.0.0.1:{portal}", width=1000, height=640),
            "office": HoloDesktop(app=shlex.join(writer), width=1000, height=640),
            "evidence": AuditBucket(local_folder=str(tmp_path / "evidence")),
        }
        for name, block in named.items():
            await block.save(name, overwrite=True)
        (letter,) = await page.letters(["I-7"])
    assert letter.path.read_text() == "Dear Ada, 7 pieces. "
    happened = [
        record.event
        for folder in sorted((tmp_path / "evidence").iterdir())
        for record in open_trace(folder).records()
        if isinstance(record.event, FileGiven | FileArrived)
    ]
    assert [type(one) for one in happened] == [FileArrived, FileGiven, FileArrived]
    assert {one.sha256 for one in happened} == {hashlib.sha256(b"Dear Ada, 7 pieces. ").hexdigest()}
    invoice, given, written = happened
    assert isinstance(invoice, FileArrived)
    assert invoice.kept
    assert invoice.token == "I-7"
    assert invoice.name == given.name == "I-7 for Ada.txt"
    assert written.name == "letter.txt"
