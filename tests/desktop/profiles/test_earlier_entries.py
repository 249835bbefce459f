"""A new profile of a browser suggests no earlier entries of a form, because their list would cover the field below."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop import VirtualDesktop
from tests.support.waiting_programs import FLAGS

pytestmark = pytest.mark.desktop
PAGE = b"""<!doctype html><form method="post"><input name="phone" aria-label="Phone"><br>
<input name="remark" aria-label="Remark" style="margin: 8px 0"><br><button>Save</button></form>"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def log_message(self, *args: Any) -> None: ...


async def test_chromium_covers_no_field_with_earlier_entries() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    flags = " ".join(f"--{flag}" for flag in FLAGS.split())
    async with VirtualDesktop(app=f"chromium {flags} http://127.0.0.1:{server.server_port}/") as desktop:

        async def field(name: str) -> Box:
            async with asyncio.timeout(30):
                while not (found := (await desktop.elements()).find("text field", name)):
                    await asyncio.sleep(0.1)
            return found[0].box

        async def below() -> bytes:
            box = await field("Remark")
            return (await desktop.look()).crop(box).rgb

        for entry in ("030 1234", "030 9999"):
            await desktop.do(Click((await field("Phone")).center))
            await desktop.do(Write(entry, press_enter=True))
            await asyncio.sleep(2)  # the browser stores the entry
        await desktop.do(Click((await field("Phone")).center))
        before = await below()
        await desktop.do(Write("03"))
        await asyncio.sleep(1.5)  # the list would come now
        assert await below() == before
    server.shutdown()
