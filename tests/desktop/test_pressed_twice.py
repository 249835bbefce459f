"""A program that waits for its server without showing it gets one press, however often the model presses."""

from __future__ import annotations

import base64
import io
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from holo_tasks.core.errors import GaveUp
from holo_tasks.core.ports import Reply
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, as_model, pictures_in, walk_of, work, wrote

APP = Path(__file__).parent.parent / "apps" / "slow_submit_tk.py"
ANSWERS_AFTER_S = 4.0
SIZE = Size(680, 480)
MIDDLE = (320, 220)
EDGE = (60, 60)


class Slow(BaseHTTPRequestHandler):
    """Counts the submissions, and answers late."""

    submitted: list[bytes]

    def do_POST(self) -> None:
        self.submitted.append(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(ANSWERS_AFTER_S)
        with suppress(OSError):
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

    def log_message(self, *said: Any) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[tuple[str, list[bytes]]]:
    submitted: list[bytes] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Counting", (Slow,), {"submitted": submitted})) as listening:
        listening.daemon_threads = True
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}/order", submitted
        listening.shutdown()


def believes_its_picture(number: int, body: Mapping[str, Any]) -> Reply:
    """Press the button while it is visible, and answer once the window is green."""
    picture = base64.b64decode(pictures_in(body)[-1].partition(",")[2])
    red, green, blue = Image.open(io.BytesIO(picture)).convert("RGB").getpixel(EDGE)  # type: ignore[misc]
    if green > red + 80 and green > blue + 80:
        return wrote(step("answer", content="submitted"))
    x, y = (round(1000 * at / of) for at, of in zip(MIDDLE, (SIZE.width, SIZE.height), strict=True))
    return wrote(step("click", element="Submit", x=x, y=y))


@pytest.mark.desktop
async def test_a_form_whose_server_is_slow_is_submitted_once(tk: str, server: tuple[str, list[bytes]]) -> None:
    url, submitted = server
    model = MemoryModel(believes_its_picture)
    async with VirtualDesktop(size=SIZE, app=[tk, str(APP), url]) as desktop:
        with suppress(GaveUp):  # on a slow machine the answer may come after the model gave up
            await work(walk_of(as_model(model), desktop=desktop), max_steps=30)
    assert len(submitted) == 1
