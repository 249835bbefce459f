"""Requests to a Prefect server over HTTP, as its web pages make them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import httpx

BUSY = 503
"""Status of the server while its database is locked. The request had no effect, and Prefect's own client retries too.
"""


_client = httpx.Client(timeout=20)
"""One client for all: making a client takes longer than a request."""


def login() -> tuple[str, str]:
    """Return the user name and the password of the shared servers."""
    name, _, password = os.environ["PREFECT_API_AUTH_STRING"].partition(":")
    return name, password


class PrefectAPI:
    """Client of the API at a URL. Raises `httpx.HTTPStatusError` for an error response."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> Any:
        return self._ask("GET", path).json()

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        answer = self._ask("POST", path, json=dict(body))
        return answer.json() if answer.content else None

    def delete(self, path: str) -> None:
        self._ask("DELETE", path)

    def flow_run(self, flow_run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/flow_runs/{flow_run_id}")
        return found

    def has_form(self, run: Mapping[str, Any]) -> bool:
        """Return whether a paused flow run has its form, which is saved after the state: the schema, then the text."""
        keys = run["state"]["state_details"]["run_input_keyset"]
        try:
            return all(self.get(f"/flow_runs/{run['id']}/input/{keys[name]}") for name in ("schema", "description"))
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.NOT_FOUND:
                raise
            return False

    def set_state(self, flow_run_id: str, kind: str, *, force: bool = False, **state: Any) -> None:
        self.post(f"/flow_runs/{flow_run_id}/set_state", {"state": {"type": kind, **state}, "force": force})

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        for _ in range(30):
            answer = _client.request(method, self.url + path, auth=login(), **more)
            if answer.status_code != BUSY:
                break
            time.sleep(1)
        return answer.raise_for_status()
