"""HTTP client that limits the size of answers."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import openai

from holo_tasks.core.errors import TransientModelFault

MOST_BYTES = 32_000_000
"""Longest answer in bytes. No reply or list of models is longer, and reading on could exhaust the memory."""
REWRITTEN = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
"""Headers that describe the bytes on the wire, and not the decoded body."""


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """Client that counts decoded bytes, because a few packets of gzip can decode to gigabytes.

    It asks servers not to compress answers, but accepts compressed ones. ``where`` is the endpoint's name in messages.
    """

    def __init__(self, where: str, **options: Any) -> None:
        # No redirects: screenshots must not go to another server.
        super().__init__(follow_redirects=False, **options)
        self._where = where

    async def send(self, request: Any, **options: Any) -> Any:
        request.headers["Accept-Encoding"] = "identity"
        response = await super().send(request, **{**options, "stream": True})
        try:
            body = await self._read(response)
        finally:
            await response.aclose()
        # Keep the raw bytes, because header values need not be ASCII.
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
            # Each layer of compression multiplies the size of a decoded piece.
            raise self._refused("an answer that is compressed more than once")
        body = bytearray()
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > MOST_BYTES:
                    raise self._refused(f"more than {MOST_BYTES // 10**6} MB")
        return bytes(body)

    def _refused(self, sent: str) -> TransientModelFault:
        return TransientModelFault(
            f"{self._where} sent {sent}, which is not an answer of a model; check the base URL.", maybe_billed=True
        )
