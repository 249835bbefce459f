"""An HTTP server that answers with an error, or redirects every request."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Server:
    """A server on a loopback port that records the requests and redirects to ``to``, or answers 500 without it."""

    def __init__(self, to: str = "") -> None:
        self.seen: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do(self) -> None:
                outer.seen.append(f"{self.command} {self.path}")
                self.send_response(307 if to else 500)
                if to:
                    self.send_header("Location", to)
                    self.send_header("x-amz-bucket-region", "eu-central-1")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_PUT = do_HEAD = do_CONNECT = do

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Server:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
