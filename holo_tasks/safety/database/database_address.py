"""Check the URL of the shared database in HOLO_DATABASE_URL, and describe it without its password."""

from __future__ import annotations

import os
import re
import socket

import sqlalchemy as sa

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.this_machine import NotThisMachine, loopback_address

DATABASE_VARIABLE = "HOLO_DATABASE_URL"
_LOGIN = re.compile(r"[^:/]*(?::[^@]*)?@")
"""The user and password part of a URL, as SQLAlchemy parses it."""


def checked(url: str) -> str:
    """Return the URL if it is unambiguous. Raises `InvalidUsage` otherwise.

    The error does not quote the URL, because it may hold a password. A password with an unescaped "@" would appear as a
    part of the host.
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
            f"{DATABASE_VARIABLE} has an “@” that is not right before the host: in a user's name or a password write "
            "%40 instead."
        )
    return url


def place_of(url: str) -> str:
    """Return the location of a database, without user and password: a file, or host, port and database name."""
    parts = sa.make_url(url)
    if url.startswith("sqlite"):
        return str(parts.database)
    host = parts.host or parts.query.get("host") or os.environ.get("PGHOST") or "a socket of this machine"
    named = host if isinstance(host, str) else ",".join(host)
    return f"{named}:{parts.port or 5432}/{parts.database or ''}"


def check_kept_here(url: str, what: str = f"the database of {DATABASE_VARIABLE}") -> None:
    """Raise `NotThisMachine` if a database is on another machine. An empty URL means a file on this machine."""
    if url and not url.startswith("sqlite"):
        try:
            checked(url)
        except InvalidUsage:
            raise InvalidUsage(
                f"Local-only mode is on, and the URL of {what} cannot be read; in a password write %40 for an “@”."
            ) from None
        pinned(url, what)


def pinned(url: str, what: str = f"the database of {DATABASE_VARIABLE}") -> dict[str, str]:
    """Return the driver options that connect to the checked loopback address, so that the host is not looked up again.

    Raises `NotThisMachine` if the host is not this machine, or if several settings name a host.
    """
    parts = sa.make_url(url)
    hosts = parts.query.get("host") or parts.host or os.environ.get("PGHOST") or ""
    settings = [name for name in ("hostaddr", "service") if name in parts.query]
    settings += [name for name in ("PGHOSTADDR", "PGSERVICE") if os.environ.get(name)]
    if settings or not isinstance(hosts, str) or "," in hosts:
        raise NotThisMachine(
            f"Local-only mode is on, and {what} is named by more than one host ({', '.join(settings) or 'host'}): "
            "nothing was sent. Name a single host, such as 127.0.0.1."
        )
    if not hosts or hosts.startswith("/"):
        return {}  # a Unix socket
    return {"hostaddr": loopback_address(hosts, socket.getaddrinfo, what)}
