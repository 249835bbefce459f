"""Input over sockets and from folders: viewers, browsers, stop requests, the desktop's process."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import random
import socket
import struct
import tempfile
import threading
import traceback
import zlib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from websockets.asyncio.server import serve
from websockets.datastructures import Headers
from websockets.exceptions import InvalidHeader
from websockets.http11 import Request

from holo_tasks.core.errors import HoloError
from holo_tasks.core.input.gestures import Click, Drag, Hotkey, Scroll, Write
from holo_tasks.core.input.remote_input import Key, Pointing
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop.session import ipc_messages
from holo_tasks.desktop.session.child import Child
from holo_tasks.desktop.stop import kill_files
from holo_tasks.live_view.access import ViewAccess
from holo_tasks.live_view.rfb import LONGEST, NotRfb, Viewer
from holo_tasks.live_view.site import Site
from tests.fuzz.target import Defect, Target, check

GREETING = b"RFB 003.008\n\x01\x00"
MESSAGES = (
    struct.pack(">BBxxI", 4, 1, 0x61),
    struct.pack(">BBHH", 5, 1, 30, 40),
    struct.pack(">BBHII", 255, 0, 0, 0x61, 30),
    struct.pack(">BxxxI", 6, 3) + b"abc",
    struct.pack(">Bxxxi", 6, -4) + b"\0\0\0\1",
    struct.pack(">BxHHBx", 251, 800, 600, 1) + bytes(16),
    struct.pack(">B3x16x", 0),
    struct.pack(">BxHii", 2, 2, 0, 7),
    struct.pack(">BBHHHH", 3, 1, 0, 0, 10, 10),
    struct.pack(">BBHHHH", 150, 1, 0, 0, 10, 10),
    struct.pack(">BxxxIB", 248, 1, 5) + b"hello",
    struct.pack(">BxBB", 250, 1, 2),
)


def _rfb(data: bytes) -> object:
    """A conversation must have the same meaning whichever way it is cut into packets."""
    whole, chance = _heard(data, [len(data)]), random.Random(zlib.crc32(data))
    cuts = [chance.randint(1, 40) for _ in range(200)] + [len(data)]
    check(_heard(data, cuts) == whole, "a conversation is read differently when cut into pieces")
    return whole[2], len(whole[1])


def _heard(data: bytes, cuts: list[int]) -> tuple[bytes, list[object], str]:
    viewer, passed, inputs = Viewer(), b"", []
    for cut in cuts:
        try:
            out, done = viewer.receive(data[:cut])
        except NotRfb as error:
            return b"", [], str(error)
        passed, inputs, data = passed + out, inputs + done, data[cut:]
        check(len(viewer._rest) <= LONGEST + len(data) + cut, "a viewer's buffer grows without a limit")
    for one in [*inputs, *viewer.release_all()]:
        check(isinstance(one, Key | Pointing), "input of no kind")
    return passed, inputs, ""


def _conversation() -> st.SearchStrategy[bytes]:
    return st.lists(st.one_of(st.sampled_from(MESSAGES), st.binary(max_size=6)), max_size=12).map(
        lambda parts: GREETING + b"".join(parts)
    )


@functools.cache
def _door() -> ViewAccess:
    return ViewAccess("127.0.0.1", "use-token-of-a-desktop", "watch-token-of-a-desktop")


@functools.cache
def _site() -> tuple[Site, set[bytes]]:
    """Return a site over a folder of modules, with a secret file next to it; and the contents that it may serve."""
    top = Path(tempfile.mkdtemp())
    for name in ("core/rfb.js", "vendor/pako/lib.js"):
        (top / "novnc" / name).parent.mkdir(parents=True, exist_ok=True)
        (top / "novnc" / name).write_bytes(f"module {name}".encode())
    (top / "secret.js").write_bytes(b"SECRET")
    (top / "novnc" / "app.js").write_bytes(b"SECRET")
    site, given = Site(_door(), top / "novnc"), set()
    for token in (_door().use, _door().watch):
        for path in ("", "page.js", "page.css", "core/rfb.js", "vendor/pako/lib.js"):
            answer = site.answer(None, _request(f"GET /{token}/{path}\nHost: 127.0.0.1:1"))  # type: ignore[arg-type]
            assert answer is not None
            assert answer.status_code == 200
            given.add(bytes(answer.body))
    return site, given


def _request(text: str) -> Request:
    first, *lines = text.split("\n")
    headers = Headers()
    for line in lines:
        name, _, value = line.partition(": ")
        with contextlib.suppress(InvalidHeader):  # as a server reads it from a socket
            headers[name] = value
    return Request(first.partition(" ")[2], headers)


def _page(data: bytes) -> object:
    site, given = _site()
    request = _request(data.decode("latin-1"))
    answer = site.answer(None, request)  # type: ignore[arg-type]
    opened = request.path.startswith((f"/{_door().use}/", f"/{_door().watch}/"))
    if answer is None or answer.status_code == 200:
        check(opened, "a request without a token was admitted")
        check(answer is None or bytes(answer.body) in given, "a file outside the site was served")
        return answer is None
    check(answer.status_code in (403, 404) and b"SECRET" not in answer.body, "an unexpected answer")
    return answer.status_code


REQUESTS = tuple(
    f"GET /{_door().use}/{path}\nHost: 127.0.0.1:80\nOrigin: http://127.0.0.1:80".encode()
    for path in ("", "socket", "page.js", "core/rfb.js", "../secret.js", "core/../../secret.js", "core/%2e%2e/app.js")
)


class _Served:
    """Serves the pages on a real socket, in an event loop of its own thread."""

    def __init__(self) -> None:
        self.port = 0
        self.faults: list[str] = []
        started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True).start()
        started.wait(30)

    async def _serve(self, started: threading.Event) -> None:
        async def join(viewer: Any) -> None:
            said = Viewer()
            with contextlib.suppress(NotRfb):
                async for message in viewer:
                    if isinstance(message, str):
                        return
                    said.receive(message)

        log = logging.Logger("requests")
        log.addHandler(_Faults(self.faults))
        async with serve(
            join,
            "127.0.0.1",
            0,
            process_request=_site()[0].answer,
            compression=None,
            logger=log,
            open_timeout=2,
            close_timeout=1,
        ) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            started.set()
            await asyncio.Event().wait()


class _Faults(logging.Handler):
    """Records errors that were not caused by the client's input."""

    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        # The library asserts that no data follows a request, and then closes the connection, which is correct.
        if error is not None and "/websockets/" not in traceback.extract_tb(error.__traceback__)[-1].filename:
            self._found.append(f"{record.getMessage()}: {error!r}")


@functools.cache
def _served() -> _Served:
    return _Served()


def _door_socket(data: bytes) -> object:
    served = _served()
    with socket.create_connection(("127.0.0.1", served.port), timeout=6) as client:
        try:
            client.sendall(data.replace(b"127.0.0.1:80", b"127.0.0.1:%d" % served.port))
            client.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
        except TimeoutError:
            raise Defect("a server neither answers nor closes the connection") from None
        except OSError:
            answer = b"reset"
    faults, served.faults[:] = list(served.faults), []
    check(not faults, f"the server fell over: {faults[:1]}")
    status = answer[9:12]
    check(b"SECRET" not in answer, "a file outside the site was served")
    check(status not in (b"200", b"101") or b"-token-of-a-desktop/" in data, "a request without a token was admitted")
    return status


def _upgrade(path: str, frames: bytes = b"") -> bytes:
    lines = (
        f"GET /{_door().use}/{path} HTTP/1.1",
        "Host: 127.0.0.1:80",
        "Origin: http://127.0.0.1:80",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "",
        "",
    )
    return "\r\n".join(lines).encode() + frames


def _frame(payload: bytes) -> bytes:
    return bytes([0x82, 0x80 | len(payload)]) + b"\0\0\0\0" + payload


def _kills(data: bytes) -> object:
    """Each line is a file name and its content."""
    with tempfile.TemporaryDirectory() as folder:
        for line in data.split(b"\n")[:20]:
            name, _, content = line.partition(b"=")
            name = name.replace(b"/", b"").replace(b"\0", b"").replace(b"BOOT", kill_files._boot().encode())[:200]
            if name not in (b"", b".", b".."):
                (Path(folder) / os.fsdecode(name)).write_bytes(content)
        found = kill_files.find_request(Path(folder), "run-1", 5.0)
        reason = kill_files.reason_in(found) if found else ""
        check((Path(folder) / "run-1").exists() <= (found is not None), "a stop request was ignored")
        reason.encode("utf-8", "replace")
        kill_files.forget(Path(folder), "run-1")
        check(not (Path(folder) / "run-1").exists(), "a request was not deleted")
    return bool(found), bool(reason)


GESTURES = (
    Click(Point(1, 2), "left", 2),
    Drag(Point(1, 2), Point(3, 4)),
    Scroll(Point(1, 2), "up", 3),
    Write("Zoë", press_enter=True),
    Hotkey(("ctrl", "s")),
)
ANSWERS = (
    {"id": 1, "width": 4, "height": 3},
    {"id": 1, "error": "DesktopFailed", "message": "gone", "limit": None},
    {"id": 1, "error": "LimitReached", "message": "late", "limit": "timeout_seconds", "typed": []},
    {"id": 7},
    {"id": 1, "typed": []},
)


class _Host:
    """The desktop's process as the agent sees it: everything is real except the socket."""

    async def ask(self, said: bytes) -> Any:
        child = Child.__new__(Child)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours, theirs:
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
            theirs.settimeout(5)
            with contextlib.suppress(OSError):
                theirs.sendall(said[: 1 << 17])
            theirs.shutdown(socket.SHUT_WR)
            child.turn, child._last_id, child._over, child._speaking, child._channel = (
                asyncio.Lock(),
                0,
                False,
                False,
                ours,
            )
            child._death_error = _gone  # type: ignore[method-assign]
            child._process = _Process()  # type: ignore[assignment]
            return await asyncio.wait_for(child.ask("look"), 10)


class _Process:
    def kill(self) -> None:
        """Do nothing: no process was started."""


async def _gone() -> HoloError:
    from holo_tasks.core.errors import DesktopFailed

    return DesktopFailed("it died")


def _wire(data: bytes) -> object:
    """Answers of the desktop's process, and requests to it."""
    with contextlib.suppress(HoloError):
        asyncio.run(_Host().ask(data))
    message = ipc_messages.unpacked(data[4:])
    return type(ipc_messages.to_gesture(message)).__name__


TARGETS = [
    Target(
        "rfb",
        _rfb,
        lambda: [GREETING + b"".join(MESSAGES), GREETING + MESSAGES[0] * 30],
        shapes=_conversation,
        words=MESSAGES,
    ),
    Target(
        "site",
        _page,
        lambda: REQUESTS,
        words=(
            b"../",
            b"%2e%2e/",
            b"//",
            b"core/",
            b"\nHost: localhost",
            b"\nHost: evil.example",
            b"use-token-of-a-desktop/",
            b"\0",
            b"socket",
            b"\nOrigin: null",
            b".js",
        ),
    ),
    Target(
        "door",
        _door_socket,
        lambda: [
            _upgrade("socket", _frame(GREETING) + _frame(MESSAGES[0])),
            _upgrade("page.js"),
            _upgrade("socket", _frame(b"")),
        ],
        words=(
            b"\r\n",
            b"HTTP/1.1",
            b"Upgrade: websocket\r\n",
            b"Host: evil\r\n",
            b"\x81\x05hello",
            b"\x88\x80\0\0\0\0",
            b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"Content-Length: 5\r\n",
            b"../",
        ),
        quick=40,
        leak_rounds=4,
    ),
    Target(
        "kills",
        _kills,
        lambda: [
            b'run-1={"reason": "stop"}',
            b'all-BOOT-9000000000={"reason": "all"}\nrun-2={}\nrun-1.stopped={}',
            b"all-BOOT-1={}\nall-other-99999999999={}",
        ],
        words=(b"\nall-BOOT-", b"\nrun-1=", b'{"reason":', "²".encode(), "٣".encode(), b"\xff", b"[" * 2000),
        quick=100,
        leak_rounds=4,
    ),
    Target(
        "wire",
        _wire,
        lambda: [
            *(ipc_messages.packed(ipc_messages.from_gesture(gesture)) for gesture in GESTURES),
            *(ipc_messages.packed(answer) for answer in ANSWERS),
        ],
        (HoloError,),
        words=(
            b"\xff\xff\xff\xff",
            b"\0\0\0\2{}",
            b'"id": 1',
            b'"error": "',
            b'"kind": "',
            b'"typed": [{"box": {}}]',
            b"null",
        ),
        quick=60,
        leak_rounds=4,
    ),
]
