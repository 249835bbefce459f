"""Who is let in to a live view: whoever has a token, from a page of ours, at an address of ours."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from holo_tasks.core.this_machine import is_loopback

TOKEN_BYTES = 32


class Unknown(ValueError):
    """There is nothing at this address, as far as whoever asks can tell."""


class Foreign(ValueError):
    """A page of another site asks, or this one is reached by a name that is not its own."""


def fresh() -> str:
    """Return a new token of 256 random bits."""
    return secrets.token_urlsafe(TOKEN_BYTES)


@dataclass(frozen=True)
class Door:
    """Two tokens: who has the first may use the desktop, who has the second may watch.

    ``host`` is what is listened at. A name could be made to stand for this machine by anybody (DNS rebinding), so no
    other is answered to than that one and ``localhost``; other addresses only if it is not a loopback one.
    """

    host: str
    use: str = field(default_factory=fresh, repr=False)
    watch: str = field(default_factory=fresh, repr=False)

    def enter(self, path: str) -> tuple[bool, str]:
        """Return whether the desktop may be used by who asks for a path, and the path below the token."""
        if not path.startswith("/"):  # no browser asks so, and no path is to have two spellings
            raise Unknown
        token, slash, rest = path[1:].partition("/")
        given = token.encode(errors="surrogateescape")  # as it was sent, whatever it was
        # Both are compared, whatever the first comes to: the time it takes tells nothing.
        use, watch = (hmac.compare_digest(given, each.encode()) for each in (self.use, self.watch))
        if not (slash and (use or watch)):
            raise Unknown
        return use, rest

    def check_host(self, host: str) -> None:
        """Raise `Foreign` unless a Host header is one of ours; any port will do, for it may be forwarded."""
        name = _name(f"//{host}")
        if name in ("localhost", self.host.lower()) or is_loopback(name):
            return
        if is_loopback(self.host) or self.host == "localhost" or not _is_address(name):
            raise Foreign

    def check_origin(self, origin: str, host: str) -> None:
        """Raise `Foreign` unless a websocket is opened by a page of ours."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            raise Foreign from None
        if parts.scheme not in ("http", "https") or parts.netloc.lower() != host.lower():
            raise Foreign


def _name(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
        return parts.hostname or ""
    except ValueError:
        raise Foreign from None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
