"""The network access of a program on a desktop: none, single hosts, or everything that its machine reaches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from typing import Literal, TypeAlias

from holo_tasks.core.errors import InvalidUsage

Network: TypeAlias = Literal["none", "host"] | str | Iterable[str]
"""The option's type: "none", "host", or hosts with their ports, as a list or separated by commas:
["portal.example:443"].
"""

NONE, HOST = "none", "host"
MOST_HOSTS = 100
_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_NUMERIC = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)")
LOCALHOST = "localhost"


@dataclass(frozen=True, slots=True)
class Grant:
    """One host and port that a sandboxed program may reach, by the name or IPv4 address that the program uses."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> Grant:
        """Parse HOST:PORT. Raises `InvalidUsage`."""
        host, _, port = text.strip().lower().rpartition(":")
        number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0
        if ":" in host or host.startswith("["):
            raise InvalidUsage(f"network: {text!r} names an IPv6 address, which cannot be granted: give a name.")
        if not (1 <= number <= 65535) or not (_is_address(host) or _is_name(host)):
            raise InvalidUsage(
                f"network is 'none', 'host', or hosts with their ports such as portal.example:443, not {text!r}."
            )
        return cls(host, number)

    @property
    def address(self) -> str:
        """The IPv4 address, if one was granted; empty for a name."""
        return "127.0.0.1" if self.host == LOCALHOST else self.host if _is_address(self.host) else ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def granted_hosts(network: Network) -> tuple[Grant, ...] | None:
    """Return the hosts that a program may reach. Returns ``None`` for "host": it reaches all that its machine reaches.

    Raises `InvalidUsage` for an invalid option.
    """
    if network == HOST:
        return None
    if network == NONE:
        return ()
    if not isinstance(network, str | list | tuple | set | frozenset):
        raise InvalidUsage(f"network is 'none', 'host', or a list of hosts with their ports, not {network!r}.")
    texts = network.split(",") if isinstance(network, str) else list(network)
    if not all(isinstance(text, str) for text in texts) or (isinstance(network, str) and not network.strip()):
        raise InvalidUsage(
            f"network is 'none', 'host', or hosts with their ports such as portal.example:443, not {network!r}."
        )
    found = tuple(dict.fromkeys(Grant.of(text) for text in texts))
    if len(found) > MOST_HOSTS:
        raise InvalidUsage(f"network names {len(found)} hosts; {MOST_HOSTS} is the limit.")
    return found


def network_option(network: Network | None) -> str:
    """Return the option in its canonical text form. Returns an empty string for ``None``, if the option was not given.

    Raises `InvalidUsage` for an invalid option.
    """
    if network is None:
        return ""
    found = granted_hosts(network)
    return HOST if found is None else ",".join(map(str, found)) or NONE


def _is_address(host: str) -> bool:
    try:
        return not IPv4Address(host).is_unspecified
    except AddressValueError:
        return False


def _is_name(host: str) -> bool:
    # C libraries read 127.1 and 0x7f.1 as addresses, so they would never look such a name up in the list of hosts.
    return bool(_NAME.fullmatch(host)) and not _NUMERIC.fullmatch(host)
