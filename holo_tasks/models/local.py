"""HTTP client of local-only mode: it connects to this machine only."""

from __future__ import annotations

import asyncio
from typing import Any

from holo_tasks.core.this_machine import Lookup, loopback_address
from holo_tasks.models.bounded_client import BoundedClient


class LocalClient(BoundedClient):
    """Resolves the host before each request, checks the address, and connects to exactly that address.

    A second lookup for the connection could return another machine. Proxy settings are ignored, and redirects are not
    followed.
    """

    def __init__(self, where: str, lookup: Lookup) -> None:
        super().__init__(where, trust_env=False)
        self._lookup = lookup

    async def send(self, request: Any, **options: Any) -> Any:
        host = request.url.host
        address = await asyncio.to_thread(loopback_address, host, self._lookup, "the model's endpoint")
        if address != host:
            # TLS verification and the Host header, which is already set, still use the name.
            request.extensions = {**request.extensions, "sni_hostname": host}
            request.url = request.url.copy_with(host=address)
        return await super().send(request, **options)
