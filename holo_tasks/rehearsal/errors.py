"""Errors of the rehearsal model, as error objects of the protocol."""

from __future__ import annotations

from typing import Any


class RequestRefused(Exception):
    """A request that gets an error as its reply."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    @property
    def payload(self) -> dict[str, Any]:
        """The body of the answer."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": None, "code": self.code}}
