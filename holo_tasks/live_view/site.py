"""Serve the pages of a live view: one page of our own, and noVNC's modules. All paths are below a token."""

from __future__ import annotations

import html
import http
from collections.abc import Callable
from pathlib import Path
from string import Template

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from holo_tasks.live_view.access import ForeignRequest, UnknownPath, ViewAccess

OWN = Path(__file__).parent
SOCKET, DONE = "socket", "done"
KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css"}
MODULES = ("core", "vendor")
"""The folders of noVNC that our page loads. The rest of noVNC is a page of its own, and is not served."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Site:
    """HTTP request handler of one live view. It also decides which websockets may be opened."""

    waiting_question: tuple[str, str, str] | None = None
    """The question on the page, the time limit, and the command that answers. Only users of the desktop see them."""
    ended: Callable[[], None] | None = None
    """Called when a user of the desktop clicks *Done*. The link is shown only if this is set, and only to users."""

    def __init__(self, access: ViewAccess, novnc: Path) -> None:
        self._access = access
        self._novnc = novnc.resolve()

    def may_use(self, connection: ServerConnection) -> bool:
        """Return whether a connected viewer may use the desktop. If not, they may only watch."""
        assert connection.request is not None
        return self._access.enter(connection.request.path)[0]

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the response to a request, or ``None`` to accept a websocket."""
        try:
            host = _single_header(request.headers, "Host")
            self._access.check_host(host)
            may_use, path = self._access.enter(request.path)
            if path == SOCKET:
                self._access.check_origin(_single_header(request.headers, "Origin"), host)
                return None
            if path == DONE and may_use and self.ended is not None:
                self.ended()
                return _response(http.HTTPStatus.OK, b"Thank you. You may close this page.\n")
            return self._page(may_use) if path == "" else _response(http.HTTPStatus.OK, *self._file(path))
        except ForeignRequest:
            return _response(http.HTTPStatus.FORBIDDEN, b"Forbidden: wrong host or origin.\n")
        except UnknownPath:
            return _response(http.HTTPStatus.NOT_FOUND, b"Not found.\n")

    def _page(self, may_use: bool) -> Response:
        question, when, answer = map(html.escape, (self.waiting_question or ("", "", "")) if may_use else ("", "", ""))
        asked = (
            f'<p id="asked"><strong dir="auto">{question}</strong> Give the screen back, {when}, in Prefect or with '
            f"<code>{answer}</code></p>"
            if question
            else ""
        )
        records = may_use and self.ended is not None
        if records:
            asked = f'<p id="asked">Your input on this page is recorded. <a href="{DONE}">Done</a></p>'
        may = "record" if records else "use" if may_use else "watch"
        page = Template((OWN / "page.html").read_text("utf-8")).substitute(may=may, asked=asked)
        return _response(http.HTTPStatus.OK, page.encode(), ".html")

    def _file(self, path: str) -> tuple[bytes, str]:
        try:
            if path in ("page.js", "page.css"):
                file = OWN / path
            else:
                file = (self._novnc / path).resolve()
                inside = any(file.is_relative_to(self._novnc / folder) for folder in MODULES)
                if not inside or file.suffix != ".js":
                    raise UnknownPath
            return file.read_bytes(), file.suffix
        except (OSError, ValueError):  # ValueError: the path contains a NUL
            raise UnknownPath from None


def _single_header(headers: Headers, name: str) -> str:
    """Return the value of a header. Raises `ForeignRequest` unless it occurs exactly once."""
    values = headers.get_all(name)
    if len(values) != 1:
        raise ForeignRequest
    return str(values[0])


def _response(status: http.HTTPStatus, body: bytes, suffix: str = "") -> Response:
    headers = {
        "Content-Type": KINDS.get(suffix, "text/plain; charset=utf-8"),
        "Content-Length": str(len(body)),
        "Content-Security-Policy": POLICY,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "Connection": "close",
    }
    return Response(status.value, status.phrase, Headers(headers), body)
