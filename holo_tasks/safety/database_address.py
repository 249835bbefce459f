"""Where the shared database is: what HOLO_DATABASE_URL may say, and what may be told of it."""

from __future__ import annotations

import os
import re
import socket

import sqlalchemy as sa

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.this_machine import NotThisMachine, loopback_address

DATABASE_VARIABLE = "HOLO_DATABASE_URL"
_LOGIN = re.compile(r"[^:/]*(?::[^@]*)?@")
"""What SQLAlchemy takes for user and password."""


def checked(url: str) -> str:
    """Return a URL that can be read in one way only, or raise `InvalidUsage`.

    It is not repeated, for it may hold a password: of one with an "@" a part would be taken for the host.
    """
    try:
        if not 0 < (sa.make_url(url).port or 5432) < 65_536:
            raise ValueError
    except (ValueError, sa.exc.ArgumentError):
        raise InvalidUsage(
            f"{DATABASE_VARIABLE} cannot be read; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with a port "
            "from 1 to 65535."
        ) from None
    after = url.partition("://")[2]
    login = _LOGIN.match(after)
    if not url.startswith("sqlite") and "@" in after[login.end() if login else 0 :]:
        raise InvalidUsage(
            f"{DATABASE_VARIABLE} has an “@” that does not stand before the host: in a user's name or a password write "
            "%40 instead."
        )
    return url


def place_of(url: str) -> str:
    """Say where a database is, without user and password."""
    parts = sa.make_url(url)
    if url.startswith("sqlite"):
        return str(parts.database)
    host = parts.host or parts.query.get("host") or os.environ.get("PGHOST") or "a socket of this machine"
    named = host if isinstance(host, str) else ",".join(host)
    return f"{named}:{parts.port or 5432}/{parts.database or ''}"


def check_kept_here(url: str, what: str = f"the database of {DATABASE_VARIABLE}") -> None:
    """Raise `NotThisMachine` if a database is on another machine; an empty URL is a file of this one."""
    if url and not url.startswith("sqlite"):
        try:
            checked(url)
        except InvalidUsage:
            raise InvalidUsage(
                f"Local-only mode is on, and the URL of {what} cannot be read; in a password write %40 for an “@”."
            ) from None
        pinned(url, what)


def pinned(url: str, what: str = f"the database of {DATABASE_VARIABLE}") -> dict[str, str]:
    """Return what makes the driver connect to the loopback address that was checked, and not look it up again."""
    parts = sa.make_url(url)
    hosts = parts.query.get("host") or parts.host or os.environ.get("PGHOST") or ""
    elsewhere = [name for name in ("hostaddr", "service") if name in parts.query]
    elsewhere += [name for name in ("PGHOSTADDR", "PGSERVICE") if os.environ.get(name)]
    if elsewhere or not isinstance(hosts, str) or "," in hosts:
        raise NotThisMachine(
            f"Local-only mode is on, and {what} is named by more than one host ({', '.join(elsewhere) or 'host'}): "
            "nothing was sent. Name one host, as 127.0.0.1."
        )
    if not hosts or hosts.startswith("/"):
        return {}  # a socket of this machine's file system
    return {"hostaddr": loopback_address(hosts, socket.getaddrinfo, what)}
