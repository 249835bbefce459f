"""An HTTP client that connects to this machine only, whatever a name stands for by the time of a request."""

from __future__ import annotations

import asyncio
from typing import Any

from holo_tasks.core.this_machine import Lookup, loopback_address
from holo_tasks.models.bounded import BoundedClient


class LocalClient(BoundedClient):
    """Looks the host up before each request, checks what it got, and connects to that very address.

    A name that is checked once and looked up again to connect could stand for another machine by then. Proxies and
    other settings of the environment are not heeded, redirects not followed.
    """

    def __init__(self, where: str, lookup: Lookup) -> None:
        super().__init__(where, trust_env=False)
        self._lookup = lookup

    async def send(self, request: Any, **options: Any) -> Any:
        host = request.url.host
        address = await asyncio.to_thread(loopback_address, host, self._lookup, "the model's endpoint")
        if address != host:
            # The certificate and the Host header, which is there already, are still about the name.
            request.extensions = {**request.extensions, "sni_hostname": host}
            request.url = request.url.copy_with(host=address)
        return await super().send(request, **options)
