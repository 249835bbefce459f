"""Servers that programs poll all the time: a mail server over TCP, and a database server on a Unix socket."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

ANSWERS_AFTER_S = {"mailbox": 0.05, "database": 0.15}


@contextmanager
def talking_servers(folder: Path) -> Iterator[dict[str, str]]:
    """Serve both. Yield the settings with which `talkative_tk.py` reaches each."""
    path = folder / "database.sock"
    with ExitStack() as stack:
        mailbox = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _answering("mailbox"))
        database = socketserver.ThreadingUnixStreamServer(str(path), _answering("database"))
        for server in (mailbox, database):
            server.daemon_threads = True
            stack.enter_context(server)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            stack.callback(server.shutdown)
        yield {"mailbox": str(mailbox.server_address[1]), "database": str(path)}


def _answering(kind: str) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # the program goes away
                for _ in self.rfile:
                    time.sleep(ANSWERS_AFTER_S[kind])
                    self.wfile.write(b"* 12 EXISTS\r\na1 OK done\r\n")

    return Handler
