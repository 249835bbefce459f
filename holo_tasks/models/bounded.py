"""An HTTP client that reads no more of an answer than an answer can be."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import openai

from holo_tasks.core.errors import TransientModelFault

MOST_BYTES = 32_000_000
"""A longer answer is no reply of a model, nor a list of models; a process that read on would run out of memory."""
REWRITTEN = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
"""What headers say of the bytes on the wire, which is not true of what was read from them."""


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """Counts what it reads after it is decoded: a few packets of gzip stand for gigabytes.

    Servers are asked to encode nothing, and heeded where they do so all the same. ``where`` is the endpoint as messages
    name it.
    """

    def __init__(self, where: str, **options: Any) -> None:
        # A screenshot goes where it was meant to go, and nowhere else.
        super().__init__(follow_redirects=False, **options)
        self._where = where

    async def send(self, request: Any, **options: Any) -> Any:
        request.headers["Accept-Encoding"] = "identity"
        response = await super().send(request, **{**options, "stream": True})
        try:
            body = await self._read(response)
        finally:
            await response.aclose()
        # As they came: what a server writes into a header need not be ASCII.
        headers = [(name, value) for name, value in response.headers.raw if name.lower() not in REWRITTEN]
        return type(response)(
            response.status_code,
            headers=headers,
            content=body,
            request=response.request,
            extensions=response.extensions,
        )

    async def _read(self, response: Any) -> bytes:
        if "," in response.headers.get("content-encoding", ""):
            # Each layer multiplies what one piece of the one around it comes to.
            raise self._refused("an answer that is encoded more than once")
        body = bytearray()
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > MOST_BYTES:
                    raise self._refused(f"more than {MOST_BYTES // 10**6} MB")
        return bytes(body)

    def _refused(self, sent: str) -> TransientModelFault:
        return TransientModelFault(
            f"{self._where} sent {sent}, which is no answer of a model; check the base URL.", maybe_billed=True
        )
