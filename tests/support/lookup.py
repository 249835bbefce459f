"""A hosts file for tests. It answers as `socket.getaddrinfo` does, and its entries can change."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any


class Names:
    """Knows the given names only. ``asked`` lists the names that were looked up."""

    def __init__(self, hosts: Mapping[str, list[str]]) -> None:
        self.hosts = dict(hosts)
        self.asked: list[str] = []

    def __call__(self, host: str, port: None) -> list[Any]:
        self.asked.append(host)
        if host not in self.hosts:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(socket.AF_UNSPEC, socket.SOCK_STREAM, 6, "", (address, 0)) for address in self.hosts[host]]
