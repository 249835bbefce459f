"""A slow web server for programs that wait for it. It counts submitted forms, and has continuous background traffic."""

from __future__ import annotations

import base64
import hashlib
import io
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from PIL import Image

from tests.support import slow_pages

BUSY_TIMES = 2
REDIRECTS = 3
STREAM_EVERY_S, EVENT_EVERY_S, BEAT_EVERY_S = 0.1, 0.7, 1.0
LONG_POLL_S, BEACON_S = 30.0, 2.0
WEB_SOCKET_KEY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def certificate(folder: Path) -> Path:
    """Write a self-signed certificate for this machine with its key; return the file with both."""
    path = folder / "server.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command, "-keyout", str(path), "-out", str(folder / "certificate")], check=True, capture_output=True
    )
    with path.open("a") as file:
        file.write((folder / "certificate").read_text())
    return path


def green_picture() -> bytes:
    """Return the block in the answer's colour as a PNG."""
    picture = io.BytesIO()
    Image.new("RGB", slow_pages.BLOCK, slow_pages.ANSWER).save(picture, "PNG")
    return picture.getvalue()


class SlowServer:
    """Serves the pages of `slow_pages`, and answers a form after ``delay_s`` in the way of ``kind``.

    ``sent`` counts the submitted forms, ``in_work`` those without an answer yet. ``talk`` is the background traffic of
    the counter's page. ``pending`` is set while a long poll waits for its answer, which comes when ``release`` is set,
    or after 30 s. ``pem`` is the server's TLS certificate, None for plain HTTP.
    """

    def __init__(self, pem: Path | None = None) -> None:
        self.kind, self.talk = "form", ""
        self.delay_s = 0.0
        self.sent = self.in_work = 0
        self.pending, self.release, self._closed = threading.Event(), threading.Event(), threading.Event()
        self.answered_polls = 0
        self._lock = threading.Lock()
        self.pem = pem
        server = self

        class Handler(_Handler):
            slow = server

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.tls = None if pem is None else ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if self._server.tls is not None:
            self._server.tls.load_cert_chain(str(pem))
        self.port = self._server.server_port
        self.url = f"http{'s' if pem else ''}://127.0.0.1:{self.port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self.release.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def is_closed(self) -> bool:
        """Return whether the server is closing. Endless responses end then."""
        return self._closed.is_set()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a submitted form, and count it as in work within the context."""
        with self._lock:
            self.sent += 1
            self.in_work += 1
        try:
            yield
        finally:
            with self._lock:
                self.in_work -= 1

    def wait(self, seconds: float) -> None:
        """Sleep, but wake up if the server closes."""
        self._closed.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    tls: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the connection's thread: a browser opens connections on which it sends nothing.
        if self.tls is not None:
            request = self.tls.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    slow: SlowServer

    def do_GET(self) -> None:
        path, slow = self.path.partition("?")[0], self.slow
        match path.strip("/").split("/"):
            case [""]:
                self._answer(slow_pages.form(slow.kind))
            case ["hop", left]:
                self._hop(int(left))
            case ["slow.png"]:
                slow.wait(slow.delay_s)
                self._answer(green_picture(), "image/png")
            case ["slow.css"]:
                slow.wait(slow.delay_s)
                self._answer(slow_pages.answer_style(), "text/css")
            case ["counter"]:
                self._answer(slow_pages.counter(slow.talk))
            case ["poll"]:
                self._answer(f"{time.time():.3f}", "text/plain")
            case ["long-poll"]:
                self._long_poll()
            case ["stream"]:
                self._stream(b"x" * 20_000, STREAM_EVERY_S, "video/mp2t")
            case ["events"]:
                self._stream(b"data: beat\n\n", EVENT_EVERY_S, "text/event-stream")
            case ["socket"]:
                self._web_socket()
            case _:
                self.send_error(404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        slow = self.slow
        if self.path.startswith("/beacon"):
            slow.wait(BEACON_S)
            self._answer("", status=204)
            return
        with slow.counted():
            self._answer_form(slow)

    def _answer_form(self, slow: SlowServer) -> None:
        match slow.kind:
            case "redirects":
                self._hop(REDIRECTS)
            case "streamed":
                self._streamed()
            case "fetch" | "fetch, spinner" | "program":
                slow.wait(slow.delay_s)
                self._answer("stored", "text/plain")
            case "busy program":
                slow.wait(slow.delay_s)
                self._answer("stored" if slow.sent > BUSY_TIMES else "busy", "text/plain")
            case "image":
                self._answer(slow_pages.answer(block='<img src="/slow.png">'))
            case "style sheet":
                self._answer(slow_pages.answer(style='<link rel=stylesheet href="/slow.css">'))
            case _:
                slow.wait(slow.delay_s)
                self._answer(slow_pages.answer())

    def log_message(self, *args: object) -> None:
        pass

    def _answer(self, body: str | bytes, media_type: str = "text/html; charset=utf-8", status: int = 200) -> None:
        data = body.encode() if isinstance(body, str) else body
        self._head(status, [("Content-Type", media_type), ("Content-Length", str(len(data)))])
        self.wfile.write(data)

    def _head(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in [*headers, ("Cache-Control", "no-store")]:
            self.send_header(name, value)
        self.end_headers()

    def _hop(self, left: int) -> None:
        """Redirect a browser to the next page of a chain. Each redirect takes its share of the delay."""
        self.slow.wait(self.slow.delay_s / (REDIRECTS + 1))
        if left:
            self._head(303, [("Location", f"/hop/{left - 1}"), ("Content-Length", "0")])
        else:
            self._answer(slow_pages.answer())

    def _streamed(self) -> None:
        """Send the head and the beginning of an answer at once, and the rest after the delay."""
        begin, rest = slow_pages.answer(filling=" " * 2000).split(slow_pages.HERE)
        self._head(200, [("Content-Type", "text/html; charset=utf-8"), ("Transfer-Encoding", "chunked")])
        self._chunk(begin.encode())
        self.slow.wait(self.slow.delay_s)
        self._chunk(rest.encode())
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _stream(self, each: bytes, every_s: float, media_type: str) -> None:
        self._head(200, [("Content-Type", media_type), ("Transfer-Encoding", "chunked")])
        while not self.slow.is_closed:
            self._chunk(each)
            self.slow.wait(every_s)

    def _long_poll(self) -> None:
        slow = self.slow
        slow.pending.set()
        slow.release.wait(LONG_POLL_S)
        slow.answered_polls += 1
        slow.pending.clear()
        self._answer("nothing new", "text/plain")

    def _web_socket(self) -> None:
        """Send a websocket heartbeat: a short message every second, which the page answers."""
        key = self.headers["Sec-WebSocket-Key"] + WEB_SOCKET_KEY
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        threading.Thread(target=self._read_away, daemon=True).start()
        while not self.slow.is_closed:
            self.wfile.write(b"\x81\x04beat")
            self.slow.wait(BEAT_EVERY_S)

    def _read_away(self) -> None:
        try:
            while self.connection.recv(4096):
                pass
        except OSError:
            pass
