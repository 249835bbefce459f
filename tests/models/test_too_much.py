"""A model server that never stops sending, over real HTTP: reading stops early, and the run continues."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from typing import Any

import pytest

from holo_tasks.core.errors import HoloError, TransientModelFault
from holo_tasks.models.bounded_client import MOST_BYTES
from holo_tasks.models.client import ModelEndpoint
from tests.support.long import few

BODY = {"model": "m", "messages": [], "max_tokens": 100}
MORE = 4 * MOST_BYTES
PIECE = b" " * (1 << 20)


class Flood:
    """Sends spaces, up to ``MORE`` decoded bytes. It records the bytes on the wire and the request."""

    def __init__(self) -> None:
        self.encoding, self.status = "", 200
        self.sent = 0
        self.left = threading.Event()
        self.asked: list[str] = []
        flood = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", "0")))
                flood.asked.append(self.headers.get("accept-encoding", ""))
                self.send_response(flood.status)
                self.send_header("content-type", "application/json")
                if flood.encoding:
                    self.send_header("content-encoding", flood.encoding)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                flood.pour(self.wfile)

            do_GET = do_POST

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def pour(self, wire: Any) -> None:
        names = [name.strip() for name in self.encoding.split(",") if name]
        layers = [zlib.compressobj(9, zlib.DEFLATED, 31 if name == "gzip" else 15) for name in names]
        try:
            for _ in range(MORE // len(PIECE)):
                piece = PIECE
                for layer in layers:
                    piece = layer.compress(piece)
                if piece:
                    wire.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.sent += len(piece)
            tail = b""
            for layer in layers:
                tail = layer.compress(tail) + layer.flush()
            wire.write((b"%x\r\n%s\r\n" % (len(tail), tail) if tail else b"") + b"0\r\n\r\n")
        except OSError:
            self.left.set()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def flood() -> Iterator[Flood]:
    server = Flood()
    yield server
    server.close()


# The three parameters are independent, so each value occurs once in these cases; the others are in OTHERS.
CASES = [("", 200, False), ("gzip", 500, True), ("deflate", 200, True), ("gzip, gzip", 500, False)]
OTHERS = set(product(("", "gzip", "deflate", "gzip, gzip"), (200, 500), (False, True))) - set(CASES)


@pytest.mark.parametrize(("encoding", "status", "local_only"), few([*CASES, *sorted(OTHERS)], len(CASES)))
async def test_reading_stops_at_the_longest_answer(flood: Flood, encoding: str, status: int, local_only: bool) -> None:
    flood.encoding, flood.status = encoding, status
    endpoint = ModelEndpoint(flood.base_url, None, local_only=local_only)
    try:
        with pytest.raises(TransientModelFault, match="not an answer of a model") as refused:
            await endpoint.complete(BODY, timeout_s=60)
    finally:
        await endpoint.close()
    assert refused.value.maybe_billed
    assert flood.base_url in str(refused.value)
    assert flood.asked == ["identity"]
    if not encoding:
        assert flood.left.wait(30), "the rest was read, too"
        assert flood.sent < MORE


async def test_reading_a_model_list_stops_at_the_longest_answer(flood: Flood) -> None:
    endpoint = ModelEndpoint(flood.base_url, None)
    try:
        with pytest.raises(HoloError, match="not an answer of a model"):
            await endpoint.models(timeout_s=60)
    finally:
        await endpoint.close()
