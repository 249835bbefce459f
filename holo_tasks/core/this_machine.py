"""Local-only mode: check that addresses belong to this machine, by IP address and never by the form of a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from holo_tasks.core.errors import InvalidUsage

SWITCH = "HOLO_LOCAL_ONLY"
OFF = {"", "0", "false", "no", "off"}
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "socks_proxy", "ws_proxy", "wss_proxy")
Lookup: TypeAlias = Callable[[str, None], list[Any]]
"""Resolves a name like `socket.getaddrinfo` and returns the same structure. Raises OSError for an unknown name."""

_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
# C libraries read 127.1, 0x7f.1 and 2130706433 as addresses. Other parsers read them as other addresses or as names.
_NUMBER = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)")
_OWN_DISPLAY = re.compile(r"(?:unix/?)?:\d+(?:\.\d+)?")


class NotThisMachine(InvalidUsage):
    """Local-only mode refuses to connect to this address."""


def switched_on(environ: Mapping[str, str]) -> bool:
    """Return whether the environment turns local-only mode on. Any value except a known "no" does."""
    return environ.get(SWITCH, "").strip().lower() not in OFF


def is_loopback(address: str) -> bool:
    """Return whether an IP address in its usual notation is a loopback address of this machine."""
    try:
        return IPv4Address(address).is_loopback
    except AddressValueError:
        pass
    try:
        v6 = IPv6Address(address)
    except AddressValueError:
        return False
    mapped = v6.ipv4_mapped
    return v6.scope_id is None and (mapped.is_loopback if mapped else v6.is_loopback)


def loopback_address(host: str, lookup: Lookup, what: str) -> str:
    """Return the loopback address of a host. Connect to it, so that the name cannot resolve differently later.

    A name counts as this machine only if all of its addresses are loopback addresses. Raises `NotThisMachine`, which
    names the host's purpose ``what``.
    """
    if is_loopback(host):
        return host
    name = host.lower()
    if not _NAME.fullmatch(name) or _NUMBER.fullmatch(name):
        raise _refused(host, what)
    try:
        found = [str(answer[4][0]) for answer in lookup(name, None)]
    except (OSError, UnicodeError):
        found = []
    if not found or not all(map(is_loopback, found)):
        raise _refused(host, what)
    return min(found, key=lambda address: ":" in address)  # many local servers listen on 127.0.0.1 only


def pinned_url(url: str, lookup: Lookup, what: str) -> str:
    """Return a URL with its host replaced by the host's loopback address. Raises `NotThisMachine` for other hosts."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _refused(url, what) from None
    if "\\" in url or not url.isprintable() or parts.scheme not in ("http", "https"):
        raise _refused(host, what)
    address = loopback_address(host, lookup, what)
    login, at, _ = parts.netloc.rpartition("@")
    bracketed = f"[{address}]" if ":" in address else address
    netloc = f"{login}{at}{bracketed}" + (f":{port}" if port is not None else "")
    return urlunsplit(parts._replace(netloc=netloc))


def check_display(display: str, lookup: Lookup) -> None:
    """Raise `NotThisMachine` if the X display that DISPLAY names is reached over the network."""
    if not _OWN_DISPLAY.fullmatch(display):
        host = display.rpartition(":")[0]
        loopback_address(host[1:-1] if host[:1] + host[-1:] == "[]" else host, lookup, "the display")


def without_proxies(environ: MutableMapping[str, str]) -> None:
    """Remove the proxies from an environment, because a request through a proxy would leave this machine."""
    for name in [name for name in environ if name.lower() in PROXIES]:
        del environ[name]
    environ["no_proxy"] = environ["NO_PROXY"] = "*"


def _refused(host: str, what: str) -> NotThisMachine:
    named = repr(host[:100]) if host else "an address without a host"
    return NotThisMachine(
        f"Local-only mode is on, and {what} is at {named}, which is not this machine: nothing was sent. Use an address "
        f"like 127.0.0.1, or turn the mode off ({SWITCH}, --local-only, local_only)."
    )
