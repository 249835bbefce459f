"""Control access to a live view by token, Host header and Origin header.

`Site` asks a `ViewAccess` before it answers a request.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from holo_tasks.core.this_machine import is_loopback

TOKEN_BYTES = 32


class UnknownPath(ValueError):
    """The path does not exist, or its token is wrong. The caller cannot tell the difference."""


class ForeignRequest(ValueError):
    """The request comes from a page of another site, or names a host that is not this one."""


def fresh() -> str:
    """Return a new token of 256 random bits."""
    return secrets.token_urlsafe(TOKEN_BYTES)


@dataclass(frozen=True)
class ViewAccess:
    """The two tokens of a live view: ``use`` lets the holder use the desktop, ``watch`` only lets them watch it.

    ``host`` is the listening address. Anybody can point a name of theirs at this machine (DNS rebinding), so the only
    names accepted are ``host`` and ``localhost``. IP addresses other than loopback are accepted only if ``host`` is not
    loopback.
    """

    host: str
    use: str = field(default_factory=fresh, repr=False)
    watch: str = field(default_factory=fresh, repr=False)

    def enter(self, path: str) -> tuple[bool, str]:
        """Return whether the requester may use the desktop, and the rest of the path below the token.

        Raises `UnknownPath` if the path has no valid token.
        """
        if not path.startswith("/"):  # browsers never send this, and each page has one path only
            raise UnknownPath
        token, slash, rest = path[1:].partition("/")
        given = token.encode(errors="surrogateescape")  # the raw bytes of the request
        # Always compare both tokens, in constant time, so that timing reveals nothing.
        use, watch = (hmac.compare_digest(given, each.encode()) for each in (self.use, self.watch))
        if not (slash and (use or watch)):
            raise UnknownPath
        return use, rest

    def check_host(self, host: str) -> None:
        """Raise `ForeignRequest` unless a Host header names this server, with any port, which may be forwarded."""
        name = _hostname(f"//{host}")
        if name in ("localhost", self.host.lower()) or is_loopback(name):
            return
        if is_loopback(self.host) or self.host == "localhost" or not _is_address(name):
            raise ForeignRequest

    def check_origin(self, origin: str, host: str) -> None:
        """Raise `ForeignRequest` unless a websocket was opened by one of our pages."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            raise ForeignRequest from None
        if parts.scheme not in ("http", "https") or parts.netloc.lower() != host.lower():
            raise ForeignRequest


def _hostname(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
        return parts.hostname or ""
    except ValueError:
        raise ForeignRequest from None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
