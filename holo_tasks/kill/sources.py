"""Look for requests to stop a run outside this machine: in Prefect and in the shared database.

`sources_for` returns the sources that a `KillSwitch` polls.
"""

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
from holo_tasks.safety.database.store import Store
from holo_tasks.safety.records.kill_requests import Kill, Kills

VARIABLE = "holo_kill"
"""The Prefect Variable that stops runs: ``all``, the id of a run or of its flow run, or a list of ids."""
EVERY_S, TIMEOUT_S, MAX_EVERY_S = 0.5, 0.4, 5.0
"""Polling interval, time limit of a request, and the longest interval for an overloaded server, in seconds."""
STOPPED_STATES = {"CANCELLING", "CANCELLED"}


def sources_for(run: Running, store: Store, *, part: bool) -> list[Source]:
    """Return the sources to poll for a run, by Prefect's current settings. ``part`` is explained in `StateSource`."""
    found: list[Source] = []
    if url := get_current_settings().api.url:
        # One client each, so that neither source waits for the other.
        found += [VariableSource(PrefectApi(url), run), StateSource(PrefectApi(url), run, part=part)]
    if not store.local:
        found.append(DatabaseSource(Kills(store), run))
    return found


class PrefectApi:
    """Prefect's REST API with a time limit of 0.4 s and no retries. Prefect's own client retries for minutes.

    ``every_s`` doubles, up to 5 s, while the server answers 429 or 503.
    """

    def __init__(self, url: str) -> None:
        self.every_s = EVERY_S
        self._client = _client(url)

    def get(self, path: str) -> dict[str, Any] | None:
        """Return the object at a path, or ``None`` on 404. Raises `httpx.HTTPError`."""
        answer = self._adapt_interval(self._client.get(path))
        if answer.status_code == 404:
            return None
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def find(self, path: str, wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return all objects that match a filter. Raises `httpx.HTTPError`."""
        found: list[dict[str, Any]] = (
            self._adapt_interval(self._client.post(path, json=wanted)).raise_for_status().json()
        )
        return found

    def _adapt_interval(self, answer: httpx.Response) -> httpx.Response:
        overloaded = answer.status_code in (429, 503)
        self.every_s = min(2 * self.every_s, MAX_EVERY_S) if overloaded else EVERY_S
        return answer


class VariableSource:
    """Requests in the Prefect Variable `VARIABLE`."""

    name = "variable"

    def __init__(self, api: PrefectApi, run: Running) -> None:
        self._api = api
        self._names = {"all", run.run_id.lower(), run.flow_run_id} - {""}

    @property
    def every_s(self) -> float:
        return self._api.every_s

    def look(self, inside: Sequence[str]) -> str:
        variable = self._api.get(f"/variables/name/{VARIABLE}")
        if variable is not None and named_in(variable["value"]) & {*self._names, *inside}:
            return f"killed by the Prefect Variable {VARIABLE}"
        return ""

    def answer(self) -> None:
        """Do nothing: Prefect learns of the stop when the flow ends."""


class StateSource:
    """Requests made by cancelling a flow run in Prefect: the run's own, one around it, or a sub-goal's. One request
    covers all.

    ``part`` says that the flow run is a subflow. The flow runs around it are then looked up, one level per poll.
    """

    name = "cancelled"

    def __init__(self, api: PrefectApi, run: Running, *, part: bool) -> None:
        self._api = api
        self._flow_runs = [run.flow_run_id] if run.flow_run_id else []
        self._part = run.flow_run_id if part else ""

    @property
    def every_s(self) -> float:
        return self._api.every_s

    def look(self, inside: Sequence[str]) -> str:
        if known := [*self._flow_runs, *inside]:
            for stopped in self._api.find("/flow_runs/filter", cancelled_filter(known)):
                return f"killed by cancelling the flow run {stopped['name']} in Prefect"
        if self._part:
            self._add_parent()
        return ""

    def answer(self) -> None:
        """Do nothing: Prefect learns of the stop when the flow ends."""

    def _add_parent(self) -> None:
        """Add the parent of the topmost known flow run. A flow run's parent never changes."""
        part = self._api.get(f"/flow_runs/{self._part}")
        if part is None:
            return
        above = part["parent_task_run_id"]
        task_run = self._api.get(f"/task_runs/{above}") if above else None
        self._part = (task_run or {}).get("flow_run_id") or ""
        if self._part:
            self._flow_runs.append(self._part)


def cancelled_filter(flow_run_ids: Sequence[str]) -> dict[str, Any]:
    """Return the request body that finds the cancelled ones among some flow runs. One result is enough."""
    states = {"type": {"any_": sorted(STOPPED_STATES)}}
    return {"flow_runs": {"id": {"any_": list(flow_run_ids)}, "state": states}, "limit": 1}


def named_in(value: Any) -> set[str]:
    """Return the ids that a Variable's value names, in lower case.

    The value is a text, a list of texts, or a text that holds a JSON list or a comma-separated list. ``True`` counts as
    ``all``.
    """
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
    """Requests of `holo-tasks kill` on other machines."""

    name = "database"
    every_s = EVERY_S

    def __init__(self, kills: Kills, run: Running) -> None:
        self._kills = kills
        self._run = run
        self._began_s: float | None = None
        self._kill: Kill | None = None

    def look(self, inside: Sequence[str]) -> str:
        if self._began_s is None:
            # The run's start on the database's clock, which all machines share.
            self._began_s = self._kills.now_s() - (time.monotonic() - self._run.began_s)
        self._kill = self._kills.find_request(self._run.run_id, [self._run.flow_run_id, *inside], self._began_s)
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
    trusted = not switched_on(os.environ)  # proxies and .netrc logins of the environment
    return httpx.Client(base_url=url, headers=headers, auth=auth, verify=verify, timeout=TIMEOUT_S, trust_env=trusted)
