"""Where people ask for a stop besides this machine's files: Prefect, and the database that machines share."""

from __future__ import annotations

import json
import os
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
from prefect.settings import get_current_settings

from holo_tasks.core.this_machine import switched_on
from holo_tasks.kill.run_registry import Running
from holo_tasks.kill.switch import Source
from holo_tasks.safety.kill_requests import Kill, Kills
from holo_tasks.safety.store import Store

VARIABLE = "holo_kill"
"""The Prefect Variable that stops runs: "all", the id of a run or of its flow run, or a list of such ids."""
EVERY_S, PATIENCE_S, MOST_EVERY_S = 0.5, 0.4, 5.0
STOPPED_STATES = {"CANCELLING", "CANCELLED"}


def sources_for(run: Running, store: Store, *, part: bool) -> list[Source]:
    """Return what there is to watch for a run, by Prefect's present settings; ``part`` as `StateSource` has it."""
    found: list[Source] = []
    if url := get_current_settings().api.url:
        # Each by itself, so that one does not wait for the other.
        found += [VariableSource(Asking(url), run), StateSource(Asking(url), run, part=part)]
    if not store.local:
        found.append(DatabaseSource(Kills(store), run))
    return found


class Asking:
    """Plain requests to Prefect with a short time limit, where its own client would try again for minutes."""

    def __init__(self, url: str) -> None:
        self.every_s = EVERY_S
        self._client = _client(url)

    def get(self, path: str) -> dict[str, Any] | None:
        """Return what is there, None if nothing is. Raises `httpx.HTTPError`; asks less often when told so."""
        answer = self._heard(self._client.get(path))
        if answer.status_code == 404:
            return None
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def find(self, path: str, wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return all that a filter finds; raises as `get` does."""
        found: list[dict[str, Any]] = self._heard(self._client.post(path, json=wanted)).raise_for_status().json()
        return found

    def _heard(self, answer: httpx.Response) -> httpx.Response:
        crowded = answer.status_code in (429, 503)
        self.every_s = min(2 * self.every_s, MOST_EVERY_S) if crowded else EVERY_S
        return answer


class VariableSource:
    """The Prefect Variable `VARIABLE`."""

    name = "variable"

    def __init__(self, asking: Asking, run: Running) -> None:
        self._asking = asking
        self._names = {"all", run.run_id.lower(), run.flow_run_id} - {""}

    @property
    def every_s(self) -> float:
        return self._asking.every_s

    def look(self, inside: Sequence[str]) -> str:
        variable = self._asking.get(f"/variables/name/{VARIABLE}")
        if variable is not None and named_in(variable["value"]) & {*self._names, *inside}:
            return f"killed by the Prefect Variable {VARIABLE}"
        return ""

    def answer(self) -> None:
        """Prefect is told by the flow's own end."""


class StateSource:
    """The states of the flow run, of those that it is part of, and of the sub-goals at work: one request for all.

    Whether the flow run is ``part`` of another is known where it is made; what that is part of, Prefect knows.
    """

    name = "cancelled"

    def __init__(self, asking: Asking, run: Running, *, part: bool) -> None:
        self._asking = asking
        self._flow_runs = [run.flow_run_id] if run.flow_run_id else []
        self._part = run.flow_run_id if part else ""

    @property
    def every_s(self) -> float:
        return self._asking.every_s

    def look(self, inside: Sequence[str]) -> str:
        if known := [*self._flow_runs, *inside]:
            for stopped in self._asking.find("/flow_runs/filter", stopped_of(known)):
                return f"killed by cancelling the flow run {stopped['name']} in Prefect"
        if self._part:
            self._find_whole()
        return ""

    def answer(self) -> None:
        """Prefect is told by the flow's own end."""

    def _find_whole(self) -> None:
        """Find the flow run that the topmost one known is part of; this never changes."""
        part = self._asking.get(f"/flow_runs/{self._part}")
        if part is None:
            return
        above = part["parent_task_run_id"]
        task_run = self._asking.get(f"/task_runs/{above}") if above else None
        self._part = (task_run or {}).get("flow_run_id") or ""
        if self._part:
            self._flow_runs.append(self._part)


def stopped_of(flow_run_ids: Sequence[str]) -> dict[str, Any]:
    """Return the filter for those of some flow runs that were cancelled."""
    states = {"type": {"any_": sorted(STOPPED_STATES)}}
    return {"flow_runs": {"id": {"any_": list(flow_run_ids)}, "state": states}, "limit": 1}


def named_in(value: Any) -> set[str]:
    """Return whom a Variable's value names: a text, or a list of texts, also one written as JSON or with commas."""
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                return named_in(json.loads(value))
            except (ValueError, RecursionError):
                pass
        return {word.strip().strip("\"'").lower() for word in value.strip("[] \n").split(",")} - {""}
    if isinstance(value, list):
        return {name for item in value for name in named_in(item)}
    return {"all"} if value is True else set()


class DatabaseSource:
    """Requests from other machines."""

    name = "database"
    every_s = EVERY_S

    def __init__(self, kills: Kills, run: Running) -> None:
        self._kills = kills
        self._run = run
        self._began_s: float | None = None
        self._kill: Kill | None = None

    def look(self, inside: Sequence[str]) -> str:
        if self._began_s is None:
            # When the run began, by the clock that all machines share.
            self._began_s = self._kills.now_s() - (time.monotonic() - self._run.began_s)
        self._kill = self._kills.asked(self._run.run_id, [self._run.flow_run_id, *inside], self._began_s)
        if self._kill is None:
            return ""
        reason = self._kill.reason
        return "killed by `holo-tasks kill` on another machine" + (f": {reason}" if reason else "")

    def answer(self) -> None:
        assert self._kill is not None
        self._kills.answer(self._kill, self._run.run_id, socket.gethostname())


def _client(url: str) -> httpx.Client:
    settings = get_current_settings()
    api, headers = settings.api, dict(settings.client.custom_headers)
    auth: httpx.BasicAuth | None = None
    if api.auth_string is not None:
        auth = httpx.BasicAuth(*api.auth_string.get_secret_value().partition(":")[::2])
    if api.key is not None:
        headers["Authorization"] = f"Bearer {api.key.get_secret_value()}"
    plain = url.startswith("http:") or api.tls_insecure_skip_verify
    verify = False if plain else ssl.create_default_context(cafile=api.ssl_cert_file)
    trusted = not switched_on(os.environ)  # the environment's proxies and logins
    return httpx.Client(base_url=url, headers=headers, auth=auth, verify=verify, timeout=PATIENCE_S, trust_env=trusted)
